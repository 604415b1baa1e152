// pawl worlds test: runs modules and whole worlds in this process, by scripts.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/quote.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/world_directory.h"
#include "main/definition_file.h"
#include "main/local.h"
#include "main/test_report.h"
#include "rehearse/worlds/world_suite.h"
#include "wasm/wasm_host.h"

namespace pawl {
namespace {

using cli::Invocation;
namespace fs = std::filesystem;

struct WorldTestOrder {
  std::vector<std::string> files;
  std::string filter;
  TestReportOptions report;
  bool json = false;
};

bool is_yaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// The test files of a world's folder, or the file itself.
Status add_test_files(const std::string& given, std::vector<std::string>& files) {
  std::error_code failed;
  if (!fs::is_directory(given, failed)) {
    files.push_back(given);
    return ok_status();
  }
  const fs::path folder = fs::path(given) / "tests";
  std::vector<std::string> found;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::end(at); at.increment(failed))
    if (is_yaml(at->path())) found.push_back(at->path().lexically_normal().string());
  std::sort(found.begin(), found.end());
  if (found.empty())
    return Error{ErrorCode::InvalidRequest, "there is no test file in " + folder.string()};
  files.insert(files.end(), found.begin(), found.end());
  return ok_status();
}

// Reads each folder once.
class Programs {
 public:
  struct Program {
    cli::WorldDirectory directory;
    std::string text;
  };

  Result<const Program*> find(const fs::path& folder) {
    const std::string name = folder.lexically_normal().string();
    if (auto known = read_.find(name); known != read_.end()) return &known->second;
    PAWL_TRY(cli::WorldDirectory directory, cli::WorldDirectory::read(name));
    if (!directory.faults().empty()) {
      Error error{ErrorCode::InvalidContent, "the world in " + name + " cannot be read"};
      for (const std::string& fault : directory.faults())
        error.complaints.push_back({"", fault, ""});
      return error;
    }
    std::string text = "{" + directory.members() + "}";
    return &read_.emplace(name, Program{std::move(directory), std::move(text)}).first->second;
  }

  Result<std::string> load(const fs::path& folder) {
    PAWL_TRY(const Program* program, find(folder));
    return program->text;
  }

 private:
  std::map<std::string, Program> read_;
};

plan::Fault fault_of_world(std::string code, std::string message) {
  return {"world", std::move(code), std::move(message), "", 0};
}

std::vector<plan::Fault> faults_of_world(const Error& error) {
  if (error.complaints.empty()) return {fault_of_world("invalid", error.message)};
  std::vector<plan::Fault> faults;
  for (const Complaint& complaint : error.complaints)
    faults.push_back(fault_of_world("invalid", complaint.message));
  return faults;
}

// What is wrong with the program, told where it stands in the world's folder.
std::vector<plan::Fault> faults_of_program(const std::vector<Complaint>& complaints,
                                           const cli::WorldDirectory& directory) {
  std::vector<plan::Fault> faults;
  for (const Complaint& complaint : complaints) {
    const cli::WorldDirectory::Place place = directory.place_of(complaint.path);
    faults.push_back(
        fault_of_world(complaint.code, (place.file.empty() ? "" : place.file + ": ") +
                                           (place.pointer.empty() ? "" : place.pointer + ": ") +
                                           complaint.message));
  }
  return faults;
}

rehearse::WorldTestFileRead read_world_file(const std::string& path) {
  auto text = read_definition_file(path);
  if (text.ok()) return rehearse::read_world_test_file(*text);
  rehearse::WorldTestFileRead read;
  read.errors.push_back({"", "not_found", text.error().message, "", 0});
  return read;
}

class WorldTests {
 public:
  explicit WorldTests(const WorldTestOrder& order) : order_(order) {}

  Status ready() { return host_.ready(); }

  rehearse::FileResult run(const std::string& path) {
    rehearse::FileResult result;
    result.file = path;
    rehearse::WorldTestFileRead read = read_world_file(path);
    result.errors = read.errors;
    const fs::path folder = fs::path(path).parent_path();
    if (!read.valid()) return tell_errors(std::move(result));
    const auto program = programs_.find(folder / read.file.world);
    if (!program.ok()) {
      result.errors = faults_of_world(program.error());
      return tell_errors(std::move(result));
    }
    const rehearse::WorldSuite suite{host_, (*program)->text, [&](const std::string& other) {
                                       return programs_.load(folder / other);
                                     }};
    result.errors = faults_of_program(program_faults(suite), (*program)->directory);
    if (!result.errors.empty()) return tell_errors(std::move(result));
    told_ = false;
    for (const rehearse::StepCase& one : read.file.steps)
      run_case(result, one.name, [&] { return run_step_case(suite, one); });
    for (const rehearse::ScriptCase& one : read.file.worlds)
      run_case(result, one.name, [&] { return run_script_case(suite, one); });
    return result;
  }

 private:
  rehearse::FileResult tell_errors(rehearse::FileResult result) const {
    if (!order_.json) std::fputs(file_text(result, order_.report).c_str(), stderr);
    return result;
  }

  void tell(const std::string& text) const {
    if (!order_.json) cli::print_text(text);
  }

  template <class Run>
  void run_case(rehearse::FileResult& result, const std::string& name, Run&& run) {
    if (name.find(order_.filter) == std::string::npos) return;
    if (!std::exchange(told_, true)) tell(file_text(result, order_.report));
    const auto begun = std::chrono::steady_clock::now();
    rehearse::CaseResult done = run();
    done.real_us = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - begun)
                       .count();
    tell(case_text(result.file, done, order_.report));
    result.cases.push_back(std::move(done));
  }

  const WorldTestOrder& order_;
  wasm::WasmHost host_;
  Programs programs_;
  bool told_ = false;  // the file's name, before its first case
};

int world_test_usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

int write_junit(const std::string& path, const std::vector<rehearse::FileResult>& results) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << rehearse::junit_report(results);
  out.flush();
  if (out.good()) return cli::kDone;
  cli::complain("cannot write " + path);
  return cli::kRefused;
}

int run_world_tests(const Invocation& given) {
  WorldTestOrder order;
  order.filter = given.text("--filter");
  order.json = given.has("--json");
  order.report = {given.has("--verbose"), cli::colours_on(stdout)};
  const std::vector<std::string> here{"."};
  for (const std::string& one : given.arguments.empty() ? here : given.arguments) {
    const Status added = add_test_files(one, order.files);
    if (!added.ok()) return world_test_usage(added.error().message);
  }
  WorldTests tests(order);
  if (const Status ready = tests.ready(); !ready.ok())
    return world_test_usage(ready.error().message);
  std::vector<rehearse::FileResult> results;
  size_t cases = 0;
  bool failed = false, invalid = false;
  for (const std::string& file : order.files) {
    results.push_back(tests.run(file));
    const rehearse::FileResult& result = results.back();
    cases += result.cases.size();
    invalid = invalid || !result.errors.empty();
    for (const rehearse::CaseResult& one : result.cases) failed = failed || !one.passed;
  }
  if (cases == 0 && !invalid)
    return world_test_usage("no case has " + in_quotes(order.filter) + " in its name");
  cli::print_text(order.json ? rehearse::json_report(results) + "\n"
                             : summary_text(results, order.report));
  if (given.has("--junit")) {
    const int written = write_junit(given.text("--junit"), results);
    if (written != cli::kDone) return written;
  }
  return invalid ? cli::kUsage : failed ? cli::kRefused : cli::kDone;
}

}  // namespace

std::vector<cli::Command> world_test_commands() {
  return {
      {"worlds test",
       "test modules: golden steps, and scripts for a whole world",
       {{"DIR|FILE", "a world's folder (its tests/*.yaml), or a test file; '.' if none is given",
         false, true}},
       {{"--filter", "TEXT", "only cases with this in their name"},
        {"--verbose", "", "what happened in every case"},
        {"--junit", "FILE", "write a JUnit report"},
        {"--json", "", "print the whole result"}},
       "The world runs in this process, on a clock of its own; nothing leaves it: receipts come "
       "from the script. Every script ends\n"
       "with a replay of its journal. docs/guide/testing-worlds.md has the language.\n"
       "Exit codes: 0 all passed, 1 a case failed, 2 an invalid file or command line.\n"
       "\nExamples:\n  pawl worlds test build/worlds/order\n"
       "  pawl worlds test --filter refuses --verbose order/tests/order.yaml",
       run_world_tests}};
}

}  // namespace pawl
