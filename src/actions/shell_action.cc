#include "actions/shell_action.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "actions/blotter.h"
#include "actions/fs_error.h"
#include "actions/path_policy.h"
#include "actions/process.h"
#include "actions/value_text.h"
#include "base/base64.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr int64_t kShellTimeoutMs = 30'000;
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kShell = "/bin/sh";

std::string server_variable(const char* name, const char* missing) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? missing : value;
}

bool is_own_variable(std::string_view name) { return name.substr(0, 5) == "PAWL_"; }

std::map<std::string, std::string> environment_of(const ShellPolicy& policy, const Value& params) {
  std::map<std::string, std::string> all{{"PATH", server_variable("PATH", kPath)},
                                         {"HOME", server_variable("HOME", "/")},
                                         {"LANG", server_variable("LANG", "C.UTF-8")}};
  bool everything = std::find(policy.environment.begin(), policy.environment.end(), "*") !=
                    policy.environment.end();
  for (char** at = environ; *at != nullptr; ++at) {
    std::string_view pair = *at;
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    std::string name(pair.substr(0, equals));
    bool passed = everything || std::find(policy.environment.begin(), policy.environment.end(),
                                          name) != policy.environment.end();
    if (passed && !is_own_variable(name)) all[name] = std::string(pair.substr(equals + 1));
  }
  if (const Value* given = params.find("env"); given != nullptr && given->is_object())
    for (const auto& [name, value] : given->as_object()) all[name] = text_of(value);
  return all;
}

Status check_environment(const Value& params, const ShellPolicy& policy) {
  const Value* given = params.find("env");
  if (given == nullptr || !given->is_object()) return ok_status();
  for (const auto& [name, value] : given->as_object()) {
    if (name.empty() || name.find('=') != std::string::npos ||
        (name + text_of(value)).find('\0') != std::string::npos)
      return fs_error("VALIDATION_ERROR", in_quotes(name) + " is no environment variable");
    // PATH, BASH_ENV, GIT_SSH_COMMAND, PYTHONPATH and many more make a listed program run others.
    bool listed = std::find(policy.environment.begin(), policy.environment.end(), name) !=
                  policy.environment.end();
    if (!policy.allow.empty() && !listed)
      return fs_error("PERMISSION_DENIED",
                      "env: " + in_quotes(name) +
                          " may not be set for listed commands (actions.shell.environment)");
  }
  return ok_status();
}

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// "" if there is none.
std::string find_on_path(const std::string& name, std::string_view path) {
  while (!path.empty()) {
    size_t colon = path.find(':');
    std::string directory(path.substr(0, colon));
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
    if (directory.empty() || directory[0] != '/') continue;
    if (std::string file = directory + "/" + name; is_program(file)) return file;
  }
  return "";
}

std::string real_or_same(const std::string& path) {
  auto real = real_path(path, LastLink::Follow);
  return real.ok() ? *real : path;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The listed file that equals this program, by its listed path, so that a changed link does not
// matter. "" if there is none. The name counts too, since some programs act by their name
// (busybox).
std::string find_listed(const std::string& program, const std::vector<std::string>& allow) {
  std::string path = server_variable("PATH", kPath);
  for (const std::string& entry : allow) {
    std::string file =
        entry.find('/') == std::string::npos ? find_on_path(entry, path) : normal_path(entry);
    if (file.empty()) continue;
    if (file == program ||
        (base_name(file) == base_name(program) && real_or_same(file) == real_or_same(program)))
      return file;
  }
  return "";
}

struct Command {
  std::string program;
  std::vector<std::string> arguments;
};

Result<Command> command_of(const Value& params, const std::string& directory,
                           const ShellPolicy& policy) {
  Command command;
  std::string name = string_param(params, "command");
  std::vector<std::string> given;
  if (const Value* args = params.find("args"); args != nullptr && args->is_array())
    for (const Value& argument : args->as_array()) given.push_back(text_of(argument));
  if (bool_param(params, "shell", false)) {
    std::string line = name;
    for (const std::string& argument : given) line += " " + argument;
    command = {kShell, {"sh", "-c", line}};
  } else {
    command.arguments = std::move(given);
    command.arguments.insert(command.arguments.begin(), name);
    // Found by the server's PATH, whatever PATH the step sets for its children.
    if (name.find('/') == std::string::npos) {
      command.program = find_on_path(name, server_variable("PATH", kPath));
    } else {
      command.program = name[0] == '/' ? normal_path(name) : normal_path(directory + "/" + name);
    }
  }
  for (const std::string& argument : command.arguments)
    if (argument.find('\0') != std::string::npos)
      return fs_error("VALIDATION_ERROR", "the command holds a NUL");
  if (command.program.empty()) {
    if (!policy.allow.empty() &&
        std::find(policy.allow.begin(), policy.allow.end(), name) == policy.allow.end())
      return fs_error("PERMISSION_DENIED", in_quotes(name) + " is not among the allowed commands");
    return fs_error("NOT_FOUND", "there is no program " + in_quotes(name));
  }
  if (policy.allow.empty()) return command;
  std::string listed = find_listed(command.program, policy.allow);
  if (listed.empty())
    return fs_error("PERMISSION_DENIED",
                    in_quotes(command.program) + " is not among the allowed commands");
  command.program = std::move(listed);
  return command;
}

// The real path, so that the command runs in the checked directory. Below the operator's directory,
// a step may choose a subdirectory.
Result<std::string> directory_of(const ActionRequest& request, const ActionPolicy& policy) {
  std::string wanted = string_param(request.params, "cwd");
  const std::string& home = policy.shell.cwd;
  if (wanted.empty() && request.work_directory.empty() && policy.fs.confined && home.empty())
    return std::string("/");
  if (wanted.empty()) wanted = ".";
  FsPolicy files = policy.fs;
  if (!home.empty()) files.read_only.push_back(home);
  PathPolicy paths(files, home.empty() ? request.work_directory : home);
  PAWL_TRY(JudgedPath judged, paths.judge(wanted, Access::Read));
  struct stat info;
  if (::lstat(judged.real.c_str(), &info) != 0) return fs_errno(errno, judged.shown);
  if (!S_ISDIR(info.st_mode)) return fs_errno(ENOTDIR, judged.shown);
  return judged.real;
}

Value stream_value(std::string bytes, const std::vector<expr::Secret>& secrets,
                   std::string_view encoding_name, Value::Object& encodings) {
  if (is_utf8(bytes)) return bytes;
  encodings.set(encoding_name, "base64");
  return base64(Blotter(secrets).text(bytes));
}

Value output_of(ProcessEnd end, const std::vector<expr::Secret>& secrets, int64_t duration_ms) {
  Value::Object encodings;
  Value raw = stream_value(std::move(end.output), secrets, "stdout_encoding", encodings);
  Value errors = stream_value(std::move(end.errors), secrets, "stderr_encoding", encodings);
  Value parsed = raw;
  if (encodings.find("stdout_encoding") == nullptr && !raw.as_string().empty())
    if (auto json = Value::parse(raw.as_string()); json.ok()) parsed = std::move(json).value();
  Value::Object output{
      {"stdout", std::move(parsed)}, {"stdout_raw", std::move(raw)},
      {"stderr", std::move(errors)}, {"exit_code", end.exit_code},
      {"duration_ms", duration_ms},  {"killed", end.why == ProcessEnd::Why::KilledByTime}};
  for (const auto& [name, value] : encodings) output.set(name, value);
  return output;
}

Result<ProcessSpec> spec_of(const ActionRequest& request, const ActionPolicy& policy) {
  const Value& params = request.params;
  ProcessSpec spec;
  PAWL_TRY_DO(check_environment(params, policy.shell));
  PAWL_TRY(spec.directory, directory_of(request, policy));
  PAWL_TRY(Command command, command_of(params, spec.directory, policy.shell));
  spec.program = std::move(command.program);
  spec.arguments = std::move(command.arguments);
  for (const auto& [name, value] : environment_of(policy.shell, params))
    spec.environment.push_back(name + "=" + value);
  spec.input = string_param(params, "stdin");
  spec.output_bytes_max = policy.output_bytes_max;
  spec.limits = policy.shell.limits;
  // The step's timeout uses the stop signal and is a failure; this is the command's timeout, a
  // result.
  PAWL_TRY(spec.kill_after_ms,
           duration_param(params, "timeout", request.timeout_ms > 0 ? 0 : kShellTimeoutMs));
  return spec;
}

// The limit that ended the command, if it was one of ours; else "". The command itself reports
// missing memory, files and processes.
std::string struck_limit(const ProcessEnd& end, const ProcessLimits& limits, bool shell) {
  if (end.why != ProcessEnd::Why::Exited) return "";
  // A shell reports the signal of its command in this way.
  int signal = shell && end.exit_code > 128 ? end.exit_code - 128 : end.signal;
  // A command that ignores SIGXCPU gets SIGKILL. Half, because the kernel's two ways to count
  // differ slightly, and an exit code of 152 may have another meaning.
  bool worked = limits.cpu_s != 0 && static_cast<uint64_t>(end.cpu_ms) >= limits.cpu_s * 500;
  if ((signal == SIGXCPU || signal == SIGKILL) && worked)
    return "the command used its " + std::to_string(limits.cpu_s) +
           " s of processor time (actions.shell.cpu)";
  if (signal == SIGXFSZ && limits.file_bytes != 0)
    return "the command wrote a file past " + std::to_string(limits.file_bytes) +
           " bytes (actions.shell.file_size)";
  return "";
}

ActionOutcome spawn_failure(const Error& error) {
  switch (http_status(error.code)) {
    case 404:
      return ActionOutcome::failure("NOT_FOUND", error.message, false);
    case 403:
      return ActionOutcome::failure("PERMISSION_DENIED", error.message, false);
    case 422:
      return ActionOutcome::failure("VALIDATION_ERROR", error.message, false);
    default:
      return ActionOutcome::failure("EXECUTION_ERROR", error.message, true);
  }
}

}  // namespace

ActionOutcome run_shell_action(const ActionRequest& request, const ActionPolicy& policy,
                               StopSignal& stop) {
  if (!policy.shell.enabled)
    return ActionOutcome::failure("PERMISSION_DENIED", "shell.exec is off on this server", false);
  auto spec = spec_of(request, policy);
  if (!spec.ok()) return fs_outcome(spec.error());
  auto started = std::chrono::steady_clock::now();
  auto end = run_process(*spec, stop);
  if (!end.ok()) return spawn_failure(end.error());
  switch (end->why) {
    case ProcessEnd::Why::Stopped: {
      Status why = keep_going(stop);
      return why.ok() ? ActionOutcome::failure("EXECUTION_ERROR", "the process was lost", true)
                      : fs_outcome(why.error());
    }
    case ProcessEnd::Why::SaidTooMuch:
      return ActionOutcome::failure(
          "NON_RETRYABLE",
          "the command wrote more than " + std::to_string(policy.output_bytes_max) + " bytes",
          false);
    case ProcessEnd::Why::Exited:
    case ProcessEnd::Why::KilledByTime:
      break;
  }
  if (std::string limit =
          struck_limit(*end, spec->limits, bool_param(request.params, "shell", false));
      !limit.empty())
    return ActionOutcome::failure("NON_RETRYABLE", std::move(limit), false);
  auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started);
  return ActionOutcome::success(
      output_of(std::move(end).value(), request.secrets, duration.count()));
}

}  // namespace pawl::actions
