#include "rehearse/report.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/named.h"
#include "rehearse/span.h"

namespace pawl::rehearse {
namespace {

constexpr size_t kTimelineMax = 200;

void add_run_complaints(const Rehearsed& run, const std::vector<Difference>& differences,
                        std::vector<std::string>& lines) {
  for (const std::string& problem : run.problems) lines.push_back(problem);
  for (const Difference& each : differences)
    lines.push_back(each.path + ": wanted " + each.wanted + ", got " + each.got);
  if (!differences.empty())
    for (const std::string& wait : run.waits) lines.push_back(wait);
}

void write_run(json::Writer& w, const Rehearsed& run, const std::vector<Difference>& differences) {
  w.field("status", run.status).field_int("elapsed_ms", run.elapsed_ms);
  w.field_raw("outputs", run.outputs.json()).field_raw("error", run.error.json());
  w.key("differences").begin_array();
  for (const Difference& each : differences)
    w.begin_object()
        .field("path", each.path)
        .field("wanted", each.wanted)
        .field("got", each.got)
        .end_object();
  w.end_array();
  auto list = [&](std::string_view name, const std::vector<std::string>& texts) {
    w.key(name).begin_array();
    for (const std::string& text : texts) w.string(text);
    w.end_array();
  };
  list("problems", run.problems);
  list("waits", run.waits);
  list("faults", run.faults);
  w.key("timeline").begin_array();
  for (const Moment& moment : run.timeline) {
    w.begin_object().field("step", moment.step).field_int("attempt", moment.attempt);
    w.field_int("start_ms", moment.start_ms);
    if (moment.end_ms >= 0) w.field_int("end_ms", moment.end_ms);
    w.field("result", moment.result).end_object();
  }
  w.end_array();
}

constexpr Named<Twice> kTwiceNames[] = {
    {"harmless", Twice::Harmless}, {"keyed", Twice::Keyed}, {"unsafe", Twice::Unsafe}};
std::string_view twice_name(Twice twice) { return name_of(kTwiceNames, twice); }

void write_case(json::Writer& w, const CaseResult& result) {
  w.begin_object().field("name", result.name).field_int("line", result.line);
  w.field_bool("passed", result.passed).field_int("real_us", result.real_us);
  write_run(w, result.run, result.differences);
  if (result.seeds_run > 0) {
    w.key("faults_run").begin_object();
    w.field_int("seeds", result.seeds_run);
    w.field_int("crashes", result.crashes);
    w.field_int("failed", result.failed_seeds_total);
    w.field_bool("non_idempotent", result.unsafe);
    w.key("steps").begin_array();
    for (const StepTwice& step : result.twice)
      w.begin_object()
          .field("step", step.step)
          .field("action", step.action)
          .field("twice", twice_name(step.twice))
          .field_bool("idempotency_key", step.key)
          .field_int("calls", step.calls)
          .field_int("doubled", step.doubled)
          .end_object();
    w.end_array();
    w.key("failures").begin_array();
    for (const SeedFailure& failure : result.failed_seeds) {
      w.begin_object().field_int("seed", failure.seed);
      write_run(w, failure.run, failure.differences);
      w.end_object();
    }
    w.end_array().end_object();
  }
  w.end_object();
}

// What XML 1.0 cannot hold becomes '?'.
std::string xml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string seconds(int64_t us) {
  std::string digits = std::to_string(1'000'000 + us % 1'000'000).substr(1);
  return std::to_string(us / 1'000'000) + "." + digits;
}

std::string junit_suite(const FileResult& file) {
  size_t failures = 0;
  int64_t us = 0;
  std::string cases;
  if (!file.errors.empty()) {
    std::string text;
    for (const plan::Fault& fault : file.errors)
      text +=
          "line " + std::to_string(fault.line) + ": " + fault.path + ": " + fault.message + "\n";
    cases = "    <testcase name=\"the file is valid\" classname=\"" + xml(file.file) +
            "\" time=\"0\"><error message=\"" + xml(file.errors[0].message) + "\">" + xml(text) +
            "</error></testcase>\n";
  }
  for (const CaseResult& result : file.cases) {
    us += result.real_us;
    cases += "    <testcase name=\"" + xml(result.name) + "\" classname=\"" + xml(file.file) +
             "\" time=\"" + seconds(result.real_us) + "\"";
    if (result.passed) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    std::vector<std::string> lines = complaints(result);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    text += "timeline\n";
    for (const std::string& line : timeline_lines(result.run)) text += "  " + line + "\n";
    cases += "><failure message=\"" + xml(lines.empty() ? "" : lines[0]) + "\">" + xml(text) +
             "</failure></testcase>\n";
  }
  size_t tests = file.cases.size() + (file.errors.empty() ? 0 : 1);
  return "  <testsuite name=\"" + xml(file.file) + "\" tests=\"" + std::to_string(tests) +
         "\" failures=\"" + std::to_string(failures) + "\" errors=\"" +
         (file.errors.empty() ? "0" : "1") + "\" time=\"" + seconds(us) + "\">\n" + cases +
         "  </testsuite>\n";
}

}  // namespace

std::vector<std::string> complaints(const CaseResult& result) {
  std::vector<std::string> lines;
  add_run_complaints(result.run, result.differences, lines);
  if (result.failed_seeds_total > 0)
    lines.push_back(std::to_string(result.failed_seeds_total) + " of " +
                    std::to_string(result.seeds_run) + " seeds do not end as expected");
  for (const SeedFailure& failure : result.failed_seeds) {
    lines.push_back("seed " + std::to_string(failure.seed) + ":");
    size_t first = lines.size();
    add_run_complaints(failure.run, failure.differences, lines);
    lines.insert(lines.end(), failure.run.faults.begin(), failure.run.faults.end());
    for (size_t i = first; i < lines.size(); ++i) lines[i].insert(0, "  ");
  }
  for (const StepTwice& step : result.twice)
    if (step.doubled > 0 && step.twice == Twice::Unsafe)
      lines.push_back("step '" + step.step + "' (" + step.action + ") is not idempotent, and " +
                      std::to_string(step.doubled) + " of " + std::to_string(step.calls) +
                      " calls were made twice");
  return lines;
}

std::vector<std::string> timeline_lines(const Rehearsed& run) {
  size_t wide_time = 0, wide_step = 0;
  for (const Moment& moment : run.timeline) {
    wide_time = std::max(wide_time, span_text(moment.start_ms).size());
    wide_step = std::max(wide_step, std::min<size_t>(moment.step.size(), 40));
  }
  auto padded = [](std::string text, size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
  };
  std::vector<std::string> lines;
  for (const Moment& moment : run.timeline) {
    if (lines.size() == kTimelineMax) {
      lines.push_back("… and " + std::to_string(run.timeline.size() - kTimelineMax) + " more");
      break;
    }
    std::string line = "+" + padded(span_text(moment.start_ms), wide_time) + "  " +
                       padded(moment.step, wide_step) + "  ";
    if (moment.attempt > 1) line += "attempt " + std::to_string(moment.attempt) + " ";
    line += moment.end_ms < 0 ? "is not over" : moment.result;
    if (moment.end_ms > moment.start_ms)
      line += "  (" + span_text(moment.end_ms - moment.start_ms) + ")";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string json_report(const std::vector<FileResult>& files) {
  json::ObjectWriter w;
  int64_t passed = 0, failed = 0, invalid = 0;
  for (const FileResult& file : files) {
    invalid += file.errors.empty() ? 0 : 1;
    for (const CaseResult& result : file.cases) ++(result.passed ? passed : failed);
  }
  w.field_int("passed", passed).field_int("failed", failed);
  w.field_int("invalid_files", invalid).key("files").begin_array();
  for (const FileResult& file : files) {
    w.begin_object().field("file", file.file).key("errors").begin_array();
    for (const plan::Fault& fault : file.errors)
      w.begin_object()
          .field("path", fault.path)
          .field("code", fault.code)
          .field("message", fault.message)
          .field("hint", fault.hint)
          .field_int("line", fault.line)
          .end_object();
    w.end_array().key("cases").begin_array();
    for (const CaseResult& result : file.cases) write_case(w, result);
    w.end_array().end_object();
  }
  w.end_array();
  return w.close();
}

std::string junit_report(const std::vector<FileResult>& files) {
  size_t tests = 0, failures = 0, errors = 0;
  std::string suites;
  for (const FileResult& file : files) {
    errors += file.errors.empty() ? 0 : 1;
    tests += file.cases.size() + (file.errors.empty() ? 0 : 1);
    for (const CaseResult& result : file.cases) failures += result.passed ? 0 : 1;
    suites += junit_suite(file);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pawl test\" tests=\"" +
         std::to_string(tests) + "\" failures=\"" + std::to_string(failures) + "\" errors=\"" +
         std::to_string(errors) + "\">\n" + suites + "</testsuites>\n";
}

}  // namespace pawl::rehearse
