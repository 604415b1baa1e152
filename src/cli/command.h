// Command: one command of the program as data. The parser, the help texts and the shell completions
// all come from this table, so a command that is not in it does not exist and one that is in it is
// complete.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

// Exit codes. The parser uses 2.
enum Exit : int { kDone = 0, kRefused = 1, kUsage = 2, kNoServer = 3 };

struct Parameter {
  std::string name;  // "ID"
  std::string help;
  bool required = true;
  bool repeated = false;  // the last one may be given any number of times
};

struct Option {
  std::string name;   // "--queue"
  std::string value;  // "NAME"; empty: a flag
  std::string help;
  std::string choices = {};  // "text json": completions for the shell
};

// The given arguments and options, by the names of the table.
struct Invocation {
  std::vector<std::string> arguments =
      {};  // in the order of the parameters; optional ones may be missing
  std::map<std::string, std::vector<std::string>> options = {};

  bool has(const std::string& name) const { return options.count(name) != 0; }
  // The last one given, or the fallback.
  std::string text(const std::string& name, const std::string& fallback = "") const {
    auto at = options.find(name);
    return at == options.end() || at->second.empty() ? fallback : at->second.back();
  }
  std::vector<std::string> texts(const std::string& name) const {
    auto at = options.find(name);
    return at == options.end() ? std::vector<std::string>{} : at->second;
  }
  std::string argument(size_t at) const { return at < arguments.size() ? arguments[at] : ""; }
};

struct Command {
  std::string path;  // "jobs push"
  std::string summary;
  std::vector<Parameter> parameters = {};
  std::vector<Option> options = {};
  std::string details = {};  // printed under the options: notes, examples
  int (*run)(const Invocation&) = nullptr;
  bool passes_on = false;  // everything after the path is an argument, unread
};

// The words before the last, with a description: "jobs" of "jobs push".
struct Group {
  std::string name;
  std::string summary;
};

// Every command that calls a server, and their groups.
std::vector<Command> remote_commands();
std::vector<Group> groups();

// The families remote_commands() is made of, one file each.
std::vector<Command> job_commands();
std::vector<Command> queue_commands();
std::vector<Command> cron_commands();
std::vector<Command> dead_letter_commands();
std::vector<Command> worker_commands();
std::vector<Command> cluster_commands();
std::vector<Command> event_commands();
std::vector<Command> workflow_commands();
std::vector<Command> run_commands();
std::vector<Command> server_definition_commands();
std::vector<Command> decision_commands();
std::vector<Command> schedule_commands();
std::vector<Command> secret_commands();
std::vector<Command> action_commands();
std::vector<Command> world_commands();
std::vector<Command> demo_commands();

}  // namespace pawl::cli
