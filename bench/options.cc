#include "options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <string_view>

#include "failure.h"
#include "workloads.h"

namespace pawl::bench {
namespace {

struct Flag {
  std::string_view name;
  std::string_view what;
  std::function<bool(Options&, std::string_view)> set;  // false: not a value for this flag
};

template <typename T>
bool parse_positive(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0;
}

template <typename T>
Flag number_flag(std::string_view name, std::string_view what, T Options::*field) {
  return Flag{name, what, [field](Options& options, std::string_view text) {
                return parse_positive(text, options.*field);
              }};
}

Flag text_flag(std::string_view name, std::string_view what, std::string Options::*field) {
  return Flag{name, what, [field](Options& options, std::string_view text) {
                options.*field = text;
                return !text.empty();
              }};
}

const std::vector<Flag>& flags() {
  static const std::vector<Flag> all = {
      text_flag("--pawl", "the server program (default: pawl beside this one)", &Options::pawl),
      text_flag("--data-root", "where data directories are made (default: .)", &Options::data_root),
      text_flag("--postgres", "starts PostgreSQL in a directory, for `cluster` (tools/postgres)",
                &Options::postgres),
      number_flag("--seconds", "length of each timed run (5)", &Options::seconds),
      number_flag("--connections", "connections of the single-request workloads",
                  &Options::connections),
      number_flag("--rate", "jobs/s of `rate` (2000)", &Options::rate_jobs_per_second),
      number_flag("--restart-jobs", "jobs of `restart` (1000000)", &Options::restart_jobs),
      number_flag("--stored-jobs", "finished jobs of `stored` (5000000)", &Options::stored_jobs),
      number_flag("--queued-jobs", "jobs of `queued-memory` (500000)", &Options::queued_jobs),
      number_flag("--chains-in-flight", "chains at a time (200)", &Options::chains_in_flight),
      number_flag("--batches", "workflow batches of `batches` (20)", &Options::batches),
      number_flag("--waiting-runs", "runs of `waiting-definitions` (100000)",
                  &Options::waiting_runs),
      number_flag("--resting-workflows", "chains of `at-rest` (1000000)",
                  &Options::resting_workflows),
  };
  return all;
}

std::string program_beside_this(std::string_view name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

Status check_workload(std::string_view name) {
  const auto all = all_workloads();
  const bool known = std::any_of(all.begin(), all.end(),
                                 [&](const Workload& workload) { return workload.name == name; });
  if (known || name == "all") return ok_status();
  return fail("no workload is called {}", name);
}

}  // namespace

std::string usage_text() {
  std::string text = "usage: pawl_bench all|WORKLOAD… [flags]\n\nworkloads:\n";
  for (const Workload& workload : all_workloads()) {
    text += fmt::format("  {:<20}{}\n", workload.name, workload.what);
  }
  text += "\nflags:\n";
  for (const Flag& flag : flags()) text += fmt::format("  {:<20}{}\n", flag.name, flag.what);
  return text + fmt::format("  {:<20}{}\n", "--json", "print one JSON object instead of text");
}

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  options.pawl = program_beside_this("pawl");
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      options.json = true;
      continue;
    }
    if (!argument.starts_with("--")) {
      PAWL_TRY_DO(check_workload(argument));
      options.workloads.emplace_back(argument);
      continue;
    }
    const auto flag = std::find_if(flags().begin(), flags().end(),
                                   [&](const Flag& known) { return known.name == argument; });
    if (flag == flags().end()) return fail("no flag is called {}", argument);
    if (i + 1 == argc) return fail("{} needs a value", argument);
    const std::string_view value = argv[++i];
    if (!flag->set(options, value)) return fail("{} does not take {}", argument, value);
  }
  if (options.workloads.empty()) return fail("name a workload, or all");
  return options;
}

}  // namespace pawl::bench
