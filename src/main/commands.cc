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
      "part of retention-…, memory-…, limits-…, tls-… is a section there). Flags win over "
      "variables, variables over the file.\n"
      "Without an API key the server listens on loopback only. SIGTERM finishes what is under way "
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

// The load generator is a program of its own: it must not share the server's memory or flags.
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
// Numbers as 12 or 0x51f3.
bool read_number(const Invocation& given, const std::string& name, uint64_t& value) {
  if (!given.has(name)) return true;
  std::string text = given.text(name);
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 0);
  if (errno == 0 && !text.empty() && *end == '\0' && text[0] != '-') return true;
  usage(name + " takes a number, not " + pawl::quoted(text));
  return false;
}

int run_sim(const Invocation& given) {
  sim::SimCommand command;
  uint64_t steps = command.steps;
  if (!read_number(given, "--seed", command.seed) ||
      !read_number(given, "--count", command.count) || !read_number(given, "--steps", steps))
    return cli::kUsage;
  command.steps = steps;
  command.trace = given.has("--trace");
  command.probes = given.has("--probes");
  command.plant = given.text("--plant");
  return sim::sim_command(command);
}

Command sim_command() {
  return {"sim",
          "the same engine in a simulated world full of faults",
          {},
          {{"--seed", "N", "the first world (1)"},
           {"--count", "N", "how many, counted on from the seed (1)"},
           {"--steps", "N", "length of each (300)"},
           {"--trace", "", "tell everything that happens"},
           {"--probes", "", "also print how often each rare path was entered"},
           {"--plant", "BUG", "break the engine on purpose, to see that it is found"}},
          "The same seed gives the same world, to the byte. Exit 1 if a promise was broken.\n\n"
          "Examples:\n  pawl sim --seed 1 --trace\n  pawl sim --count 1000",
          run_sim};
}
#endif

}  // namespace

std::string version_line() { return "pawl " PAWL_VERSION; }

std::vector<Command> all_commands() {
  std::vector<Command> all = {serve_command()};
  for (auto family : {run_file_commands, definition_commands, cli::remote_commands, key_commands,
                      backup_commands}) {
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
