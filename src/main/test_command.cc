// pawl test: runs definitions under virtual time with mocked actions.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include "actions/action.h"
#include "base/quote.h"
#include "base/read_number.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "main/definition_file.h"
#include "main/local.h"
#include "main/test_report.h"
#include "rehearse/skeleton.h"

namespace pawl {
namespace {

using cli::Invocation;
namespace fs = std::filesystem;

constexpr uint64_t kUsualSeeds = 100;
constexpr uint64_t kSeedsMax = 1'000'000;
constexpr size_t kEntriesMax = 1'000'000;

int test_usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

// Runs the `real` actions of a case, one at a time. Its threads are created on first use.
class RealActions {
 public:
  actions::ActionOutcome run(const actions::ActionRequest& request) {
    if (!runner_)
      runner_ = std::make_unique<actions::ActionRunner>(actions::ActionPolicy::local(), 1);
    std::promise<actions::ActionOutcome> done;
    runner_->start(request,
                   [&](actions::ActionOutcome outcome) { done.set_value(std::move(outcome)); });
    return done.get_future().get();
  }

 private:
  std::unique_ptr<actions::ActionRunner> runner_;
};

bool is_test_file(const fs::path& path) {
  std::string name = path.filename().string();
  return name.ends_with("_test.yaml") || name.ends_with("_test.yml");
}

// Below the current directory, without hidden directories.
std::vector<std::string> find_test_files() {
  std::vector<std::string> found;
  std::error_code failed;
  fs::recursive_directory_iterator at(".", fs::directory_options::skip_permission_denied, failed);
  for (size_t seen = 0; !failed && at != fs::end(at) && seen < kEntriesMax; ++seen) {
    std::string name = at->path().filename().string();
    if (at->is_directory(failed) && name[0] == '.') at.disable_recursion_pending();
    if (at->is_regular_file(failed) && is_test_file(at->path()))
      found.push_back(at->path().lexically_normal().string());
    at.increment(failed);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<uint64_t> number(const Invocation& given, const std::string& name, uint64_t usual,
                        uint64_t max) {
  if (!given.has(name)) return usual;
  std::string text = given.text(name);
  uint64_t value = 0;
  if (read_number(text, value) && value <= max) return value;
  return Error{ErrorCode::InvalidRequest, name + " takes a number, not " + in_quotes(text)};
}

struct TestOrder {
  std::vector<std::string> files;
  std::string filter;
  rehearse::SuiteOptions suite;
  TestReportOptions report;
  bool json = false;
};

Result<TestOrder> read_test_order(const Invocation& given) {
  TestOrder order;
  order.files = given.arguments.empty() ? find_test_files() : given.arguments;
  if (order.files.empty())
    return Error{ErrorCode::InvalidRequest, "there is no *_test.yaml below this directory"};
  order.filter = given.text("--filter");
  order.json = given.has("--json");
  order.report = {given.has("--verbose"), cli::colours_on(stdout)};
  bool faults = given.has("--faults") || given.has("--seeds") || given.has("--seed");
  PAWL_TRY(order.suite.seeds, number(given, "--seeds", faults ? kUsualSeeds : 0, kSeedsMax));
  PAWL_TRY(order.suite.first_seed, number(given, "--seed", 1, UINT64_MAX / 2));
  order.suite.strict = given.has("--strict");
  if (order.suite.strict && !faults)
    return Error{ErrorCode::InvalidRequest, "--strict needs --faults: give both"};
  return order;
}

rehearse::TestFileRead read_file(const std::string& path) {
  auto text = read_definition_file(path);
  if (!text.ok()) {
    rehearse::TestFileRead read;
    read.errors.push_back({"", "not_found", text.error().message, "", 0});
    return read;
  }
  fs::path folder = fs::path(path).parent_path();
  return rehearse::read_test_file(*text, [&](const std::string& name) {
    return read_definition_file((folder / name).string());
  });
}

rehearse::FileResult run_one_file(const std::string& path, const TestOrder& order) {
  rehearse::FileResult result;
  result.file = path;
  rehearse::TestFileRead read = read_file(path);
  result.errors = read.errors;
  bool told = false;
  auto tell = [&](const std::string& text) {
    if (!order.json) cli::print_text(text);
  };
  if (!read.valid()) {
    std::string text = file_text(result, order.report);
    if (!order.json) std::fputs(text.c_str(), stderr);
    return result;
  }
  for (const rehearse::Case& one : read.file.cases) {
    if (one.name.find(order.filter) == std::string::npos) continue;
    if (!std::exchange(told, true)) tell(file_text(result, order.report));
    auto begun = std::chrono::steady_clock::now();
    rehearse::CaseResult done = run_case(read.file, one, order.suite);
    done.real_us = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - begun)
                       .count();
    tell(case_text(path, done, order.report));
    result.cases.push_back(std::move(done));
  }
  return result;
}

int write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (out.good()) return cli::kDone;
  cli::complain("cannot write " + path);
  return cli::kRefused;
}

int write_first_test(const std::string& definition) {
  auto text = read_definition_file(definition);
  if (!text.ok()) return test_usage(text.error().message);
  plan::ReadResult read = read_definition_text(*text, false);
  std::fputs(fault_lines(definition, read, cli::colours_on(stderr)).c_str(), stderr);
  if (!read.valid()) return cli::kUsage;
  fs::path path(definition);
  fs::path made = path.parent_path() / (path.stem().string() + "_test.yaml");
  std::error_code failed;
  if (fs::exists(made, failed)) return test_usage(made.string() + " is there already");
  int code =
      write_file(made.string(), rehearse::first_test_file(*read.script, path.filename().string()));
  if (code == cli::kDone) cli::print_text("wrote " + made.string() + "\n");
  return code;
}

int run_tests(const Invocation& given) {
  if (given.has("--init")) return write_first_test(given.text("--init"));
  auto order = read_test_order(given);
  if (!order.ok()) return test_usage(order.error().message);
  RealActions real;
  order->suite.real = [&](const actions::ActionRequest& request) { return real.run(request); };
  std::vector<rehearse::FileResult> results;
  size_t cases = 0;
  bool failed = false, invalid = false;
  for (const std::string& file : order->files) {
    results.push_back(run_one_file(file, *order));
    const rehearse::FileResult& result = results.back();
    cases += result.cases.size();
    invalid = invalid || !result.errors.empty();
    for (const rehearse::CaseResult& one : result.cases) failed = failed || !one.passed;
  }
  if (cases == 0 && !invalid)
    return test_usage("no case has " + in_quotes(order->filter) + " in its name");
  cli::print_text(order->json ? rehearse::json_report(results) + "\n"
                              : summary_text(results, order->report));
  if (given.has("--junit")) {
    int written = write_file(given.text("--junit"), rehearse::junit_report(results));
    if (written != cli::kDone) return written;
  }
  return invalid ? cli::kUsage : failed ? cli::kRefused : cli::kDone;
}

}  // namespace

std::vector<cli::Command> test_commands() {
  return {{"test",
           "test definitions: virtual time, mocked actions, crashes",
           {{"FILE", "a test file; without one, every *_test.yaml below here", false, true}},
           {{"--filter", "TEXT", "only cases with this in their name"},
            {"--faults", "", "also run each case through crashes, and late and repeated answers"},
            {"--seeds", "N", "how many such runs (100)"},
            {"--seed", "S", "the first of them (1): repeats a run"},
            {"--strict", "", "fail a case if a step that is not idempotent ran twice"},
            {"--verbose", "", "the timeline of every case"},
            {"--junit", "FILE", "write a JUnit report"},
            {"--init", "DEFINITION", "write a first test file for a definition"},
            {"--json", "", "print the whole result"}},
           "The engine itself runs the definition; its clock jumps from one event to "
           "the next, so a month of\n"
           "waiting takes milliseconds. Nothing leaves the process unless a case allows it. "
           "docs/guide/testing.md has the language.\n"
           "Exit codes: 0 all passed, 1 a case failed, 2 an invalid file or command line.\n"
           "\nExamples:\n  pawl test examples/approval_test.yaml\n"
           "  pawl test --faults --seeds 500 --strict --junit report.xml\n"
           "  pawl test --init deploy.yaml",
           run_tests}};
}

}  // namespace pawl
