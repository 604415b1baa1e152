// The program: the command table, parsed by CLI11. Kept small: CLI11 is slow to compile, and
// nothing else includes it.
#include <CLI/CLI.hpp>
#include <csignal>

#include "cli/terminal.h"
#include "main/commands.h"
#include "plan/nearest.h"

namespace pawl {
namespace {

using cli::Command;
using cli::Invocation;

// Receives the values that CLI11 parses.
struct Reading {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> arguments;
  std::vector<std::string> more;  // of a repeated parameter
};

void describe(CLI::App& app, const Command& command, Reading& reading) {
  app.footer(command.details);
  for (const cli::Option& option : command.options) {
    if (option.value.empty()) {
      app.add_flag(option.name, reading.flags[option.name], option.help);
      continue;
    }
    app.add_option(option.name, reading.values[option.name], option.help)
        ->type_name(option.value)
        ->expected(1)
        ->allow_extra_args(false)  // otherwise CLI11 splits "[1,2]", which may be JSON
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  if (command.passes_on) {
    app.prefix_command();
    app.set_help_flag();
    return;
  }
  reading.arguments.resize(command.parameters.size());
  for (size_t i = 0; i < command.parameters.size(); ++i) {
    const cli::Parameter& parameter = command.parameters[i];
    if (parameter.repeated) {
      app.add_option(parameter.name, reading.more, parameter.help)
          ->required(parameter.required)
          ->type_name("");
      continue;
    }
    app.add_option(parameter.name, reading.arguments[i], parameter.help)
        ->required(parameter.required)
        ->type_name("");
  }
}

Invocation invocation_of(const CLI::App& app, const Command& command, const Reading& reading) {
  Invocation given;
  given.arguments = command.passes_on ? app.remaining() : reading.arguments;
  if (!command.parameters.empty() && command.parameters.back().repeated) {
    given.arguments.pop_back();
    given.arguments.insert(given.arguments.end(), reading.more.begin(), reading.more.end());
  }
  for (const cli::Option& option : command.options) {
    if (app.count(option.name) == 0) continue;
    given.options[option.name] =
        option.value.empty() ? std::vector<std::string>{"true"} : reading.values.at(option.name);
  }
  return given;
}

// Every user of the machine can read a command line.
void hide_keys(int argc, char** argv) {
  for (std::string flag : {"--api-key", "--key"})
    for (int i = 1; i < argc; ++i) {
      std::string_view word = argv[i];
      bool value = word.substr(0, flag.size() + 1) == flag + "=";
      if (!value && argv[i - 1] != flag) continue;
      std::fill(argv[i] + (value ? flag.size() + 1 : 0), argv[i] + word.size(), '*');
    }
}

// What CLI11 has no words for: it says of an unknown command that one is required. Empty if all
// commands in front of the first option are known.
std::string unknown_command(const CLI::App& top, int argc, char** argv) {
  const CLI::App* at = &top;
  std::string path = "pawl";
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    std::vector<std::string_view> names;
    const CLI::App* next = nullptr;
    for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(one->get_name());
      if (one->get_name() == word) next = one;
    }
    if (names.empty()) break;  // the words that follow are its parameters
    if (next == nullptr) {
      const std::string hint = plan::meant(word, names);
      return "there is no command '" + path + " " + cli::printable(word) + "'; " +
             (hint.empty() ? "'" + path + " --help' lists them" : hint);
    }
    at = next;
    path += " " + word;
  }
  return "";
}

int run(int argc, char** argv) {
  std::vector<Command> commands = all_commands();
  CLI::App app{
      "Pawl: jobs that survive crashes. One binary: server, command line, worker, simulator."};
  app.footer(
      "'pawl COMMAND --help' shows more. Exit codes: 0 done, 1 refused or failed, 2 wrong command "
      "line, 3 no server there.");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_line());
  std::map<std::string, CLI::App*> groups;
  for (const cli::Group& group : cli::groups()) {
    groups[group.name] = app.add_subcommand(group.name, group.summary);
    groups[group.name]->require_subcommand(1);
  }
  std::vector<Reading> readings(commands.size());
  std::vector<CLI::App*> apps;
  for (size_t i = 0; i < commands.size(); ++i) {
    size_t blank = commands[i].path.find(' ');
    CLI::App* parent =
        blank == std::string::npos ? &app : groups.at(commands[i].path.substr(0, blank));
    std::string name =
        blank == std::string::npos ? commands[i].path : commands[i].path.substr(blank + 1);
    apps.push_back(parent->add_subcommand(name, commands[i].summary));
    describe(*apps[i], commands[i], readings[i]);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    const std::string unknown = wrong.get_exit_code() == 0 ? "" : unknown_command(app, argc, argv);
    if (!unknown.empty()) {
      cli::complain(unknown);
      return cli::kUsage;
    }
    return app.exit(wrong) == 0 ? cli::kDone : cli::kUsage;
  }
  hide_keys(argc, argv);
  for (size_t i = 0; i < commands.size(); ++i)
    if (apps[i]->parsed())
      return commands[i].run(invocation_of(*apps[i], commands[i], readings[i]));
  return cli::kUsage;
}

}  // namespace
}  // namespace pawl

// Freed memory is returned to the system within ten seconds, also on an idle server. Not at once:
// copies of megabytes would wait for fresh pages each time, on some machines for milliseconds. A
// large server returns it earlier (memory_return.h).
extern "C" {
const char* malloc_conf =
    "background_thread:true,dirty_decay_ms:10000,muzzy_decay_ms:0,oversize_threshold:33554432";
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return pawl::run(argc, argv);
}
