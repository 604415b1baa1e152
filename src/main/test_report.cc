#include "main/test_report.h"

#include "cli/terminal.h"
#include "main/definition_file.h"
#include "rehearse/span.h"

namespace pawl {
namespace {

using cli::Colour;
using rehearse::CaseResult;
using rehearse::FileResult;
using rehearse::StepTwice;
using rehearse::Twice;

constexpr size_t kNameWidth = 50;
constexpr size_t kSpanWidth = 6;

// Each line of the text, indented.
std::string block(std::string_view text, size_t indent) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    out += std::string(indent, ' ') + cli::printable(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string real_time(int64_t us) {
  if (us < 10'000) return std::to_string(us / 1000) + "." + std::to_string(us % 1000 / 100) + " ms";
  return std::to_string(us / 1000) + " ms";
}

std::string timeline_text(const rehearse::Rehearsed& run, bool colours) {
  std::string out = "      " + cli::painted("timeline", Colour::Grey, colours) + "\n";
  for (const std::string& line : rehearse::timeline_lines(run)) out += block(line, 8);
  if (run.timeline.empty()) out += "        nothing happened\n";
  return out;
}

std::string verdict_of(const StepTwice& step, bool colours) {
  std::string text =
      std::to_string(step.doubled) + " of " + std::to_string(step.calls) + " calls were made twice";
  switch (step.twice) {
    case Twice::Harmless:
      return text + ", which is harmless";
    case Twice::Keyed:
      return text + " with the same idempotency key: the other side must look at it";
    case Twice::Unsafe:
      return text + ": " + cli::painted("not idempotent", Colour::Red, colours) +
             (step.key ? "" : ", and no idempotency key reaches it");
  }
  return text;
}

std::string faults_text(const CaseResult& result, bool colours) {
  std::string out = "      " + std::to_string(result.seeds_run) + " seeds, " +
                    std::to_string(result.crashes) + " crashes: " +
                    (result.failed_seeds_total == 0
                         ? "it always ends as expected"
                         : std::to_string(result.failed_seeds_total) + " seeds end otherwise") +
                    "\n";
  for (const StepTwice& step : result.twice)
    if (step.doubled > 0)
      out += "        " + cli::printable(step.step + " (" + step.action + "): ") +
             verdict_of(step, colours) + "\n";
  return out;
}

std::string quoted_for_shell(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string seed_text(const std::string& file, const CaseResult& result,
                      const rehearse::SeedFailure& failure, bool colours) {
  std::string out =
      "      " + cli::painted("seed " + std::to_string(failure.seed), Colour::Red, colours) + "\n";
  for (const std::string& problem : failure.run.problems) out += block(problem, 8);
  for (const rehearse::Difference& each : failure.differences)
    out += block(each.path + ": wanted " + each.wanted + ", got " + each.got, 8);
  for (const std::string& fault : failure.run.faults) out += block(fault, 8);
  out += timeline_text(failure.run, colours);
  return out + "      again: pawl test " + quoted_for_shell(file) + " --filter " +
         quoted_for_shell(result.name) + " --faults --seeds 1 --seed " +
         std::to_string(failure.seed) + " --verbose\n";
}

}  // namespace

std::string file_text(const FileResult& file, const TestReportOptions& options) {
  std::string out = cli::printable(file.file) + "\n";
  if (file.errors.empty()) return out;
  plan::ReadResult faults;
  faults.errors = file.errors;
  return fault_lines(file.file, faults, options.colours);
}

std::string case_text(const std::string& file, const CaseResult& result,
                      const TestReportOptions& options) {
  bool colours = options.colours;
  auto padded = [](std::string text, size_t wanted) {
    size_t width = cli::width_of(text);
    if (width < wanted) text.append(wanted - width, ' ');
    return text;
  };
  std::string out = "  " +
                    (result.passed ? cli::painted("✓", Colour::Green, colours)
                                   : cli::painted("✗", Colour::Red, colours)) +
                    " " + padded(cli::printable(result.name), kNameWidth) + "  " +
                    padded(rehearse::span_text(result.run.elapsed_ms), kSpanWidth) + "  " +
                    cli::painted(real_time(result.real_us), Colour::Grey, colours) + "\n";
  bool fair_weather = result.run.problems.empty() && result.differences.empty();
  if (!fair_weather) {
    for (const std::string& line : rehearse::complaints(result)) out += block(line, 6);
  }
  if (!fair_weather || options.verbose) out += timeline_text(result.run, colours);
  if (result.seeds_run > 0) out += faults_text(result, colours);
  for (const rehearse::SeedFailure& failure : result.failed_seeds)
    out += seed_text(file, result, failure, colours);
  return out;
}

std::string summary_text(const std::vector<FileResult>& files, const TestReportOptions& options) {
  size_t passed = 0, failed = 0, invalid = 0;
  int64_t virtual_ms = 0, real_us = 0;
  for (const FileResult& file : files) {
    invalid += file.errors.empty() ? 0 : 1;
    for (const CaseResult& result : file.cases) {
      ++(result.passed ? passed : failed);
      virtual_ms += result.run.elapsed_ms;
      real_us += result.real_us;
    }
  }
  std::string out = cli::painted(std::to_string(passed) + " passed", Colour::Green,
                                 options.colours && passed > 0);
  if (failed > 0)
    out += ", " + cli::painted(std::to_string(failed) + " failed", Colour::Red, options.colours);
  if (invalid > 0)
    out += ", " +
           cli::painted(std::to_string(invalid) + (invalid == 1 ? " file" : " files") + " invalid",
                        Colour::Red, options.colours);
  return out + ": " + rehearse::span_text(virtual_ms) + " of virtual time in " +
         real_time(real_us) + "\n";
}

}  // namespace pawl
