#include "main/commands.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/quote.h"
#include "cli/completion.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "main/config.h"
#include "main/local.h"
#include "main/serve.h"
#include "main/settings.h"
#ifdef PAWL_WITH_SIM
#include "sim/sim_main.h"
#endif

namespace pawl {
namespace {

using cli::Command;
using cli::Invocation;

int usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

int run_serve(const Invocation& given) {
  auto options = load_options(given.text("--config"), given.options,
                              [](const char* name) { return std::getenv(name); });
  if (!options.ok()) return usage(options.error().message);
  options->app.version = PAWL_VERSION;
  return serve(*options);
}

Command serve_command() {
  Command command{"serve", "run the server"};
  command.options.push_back({"--config", "FILE", "pawl.yaml: the same settings (PAWL_CONFIG)"});
  for (const Setting& setting : settings())
    command.options.push_back({setting.flag(), setting.value, setting.help, setting.choices});
  command.details =
      "Every flag is also a PAWL_ variable (--drain-time: PAWL_DRAIN_TIME) and a key of pawl.yaml "
      "(drain_time; the first\n"
      "part of retention-…, memory-…, limits-…, tls-… is a section there). Flags override "
      "variables, variables over the file.\n"
      "Without an API key the server listens on loopback only. SIGTERM finishes open requests "
      "and exits 0.\n"
      "\nExamples:\n  pawl serve\n  pawl serve --listen 0.0.0.0:8080 --data /var/lib/pawl "
      "--log-format json\n"
      "  pawl keys create me --data ./pawl-data   # the first key, before the server runs";
  command.run = run_serve;
  return command;
}

int run_completion(const Invocation& given) {
  auto script = cli::completion(given.argument(0), all_commands());
  if (!script.ok()) return usage(script.error().message);
  cli::print_text(*script);
  return cli::kDone;
}

int run_version(const Invocation&) {
  cli::print_text(version_line() + "\n");
  return cli::kDone;
}

// The load generator is a separate program: it must not share the server's memory or flags.
int run_bench(const Invocation& given) {
  std::error_code failed;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  std::string beside = (self.parent_path() / "pawl_bench").string();
  if (failed || ::access(beside.c_str(), X_OK) != 0) {
    cli::complain(
        "pawl_bench is not beside pawl; 'ninja -C build pawl_bench' in the source tree makes it");
    return cli::kRefused;
  }
  std::vector<std::string> words = given.arguments;
  words.insert(words.begin(), beside);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(beside.c_str(), pointers.data());
  cli::complain("cannot run " + beside + ": " + std::strerror(errno));
  return cli::kRefused;
}

#ifdef PAWL_WITH_SIM
int run_sim(const Invocation& given) {
  sim::SimCommand command;
  for (const sim::SimFlag& flag : sim::sim_flags()) {
    std::string name(flag.name);
    if (!given.has(name)) continue;
    Status set = sim::set_flag(command, name, given.text(name));
    if (!set.ok()) return usage(set.error().message);
  }
  return sim::sim_command(command);
}

Command sim_command() {
  Command command;
  command.path = "sim";
  command.summary = "run the engine in a simulated world with faults";
  for (const sim::SimFlag& flag : sim::sim_flags())
    command.options.push_back(
        {std::string(flag.name), std::string(flag.value), std::string(flag.help)});
  command.details =
      "The same seed gives the same world, to the byte. Exit 1 if an invariant was broken; the\n"
      "shortest trace that breaks it is printed.\n\n"
      "Examples:\n  pawl sim --seed 1 --trace\n  pawl sim --count 1000\n"
      "  pawl sim --swarm --minutes 10 --save failures\n  pawl sim --plants";
  command.run = run_sim;
  return command;
}
#endif

}  // namespace

std::string version_line() { return "pawl " PAWL_VERSION; }

std::vector<Command> all_commands() {
  std::vector<Command> all = {serve_command()};
  for (auto family : {run_file_commands, test_commands, world_test_commands, world_project_commands,
                      definition_commands, cli::remote_commands, cluster_key_commands, key_commands,
                      backup_commands, store_commands}) {
    std::vector<Command> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
#ifdef PAWL_WITH_SIM
  all.push_back(sim_command());
#endif
  Command bench{"bench", "load a server and measure it (pawl_bench)"};
  bench.run = run_bench;
  bench.passes_on = true;
  all.push_back(bench);
  all.push_back({"completion",
                 "print shell completions",
                 {{"SHELL", "bash, zsh or fish"}},
                 {},
                 "Examples:\n  pawl completion bash > /etc/bash_completion.d/pawl\n  pawl "
                 "completion fish | source",
                 run_completion});
  all.push_back({"version", "print the version", {}, {}, "", run_version});
  return all;
}

}  // namespace pawl
