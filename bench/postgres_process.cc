#include "postgres_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "failure.h"

namespace pawl::bench {
namespace {

constexpr auto kStartTimeout = std::chrono::minutes(2);
constexpr auto kStartPoll = std::chrono::milliseconds(50);

[[noreturn]] void become_postgres(const char* script, const char* directory, int log_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execl(script, script, directory, static_cast<char*>(nullptr));
  _exit(127);
}

struct StatFields {
  pid_t parent = 0;
  double own_s = 0;
  double ended_children_s = 0;
};

std::optional<StatFields> read_stat(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string stat = text.str();
  const size_t name_end = stat.rfind(')');
  int parent = 0;
  unsigned long user = 0, system = 0;
  long ended_user = 0, ended_system = 0;
  if (name_end == std::string::npos ||
      sscanf(stat.c_str() + name_end + 1,
             " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &parent, &user, &system,
             &ended_user, &ended_system) != 5)
    return std::nullopt;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return StatFields{parent, static_cast<double>(user + system) / ticks,
                    static_cast<double>(ended_user + ended_system) / ticks};
}

std::string in_url(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '/' ? std::string("%2F") : std::string(1, c);
  return text;
}

}  // namespace

Result<std::unique_ptr<PostgresProcess>> PostgresProcess::start(const std::string& script,
                                                                const std::string& directory) {
  if (access(script.c_str(), X_OK) != 0)
    return fail_errno("no script at " + script + " (--postgres)");
  std::unique_ptr<PostgresProcess> server(new PostgresProcess);
  server->directory_ = std::filesystem::absolute(directory).string();
  const std::string log = server->directory_ + ".log";
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return fail_errno("open " + log);
  server->pid_ = fork();
  if (server->pid_ == 0) become_postgres(script.c_str(), server->directory_.c_str(), log_fd);
  close(log_fd);
  if (server->pid_ < 0) return fail_errno("fork");
  const auto until = std::chrono::steady_clock::now() + kStartTimeout;
  while (std::chrono::steady_clock::now() < until) {
    if (auto answer = server->ask("SELECT 1"); answer.ok() && *answer == "1") return server;
    if (waitpid(server->pid_, nullptr, WNOHANG) == server->pid_) {
      server->pid_ = -1;
      return fail("PostgreSQL ended before it was ready: see {}", log);
    }
    std::this_thread::sleep_for(kStartPoll);
  }
  return fail("PostgreSQL is not ready: see {}", log);
}

PostgresProcess::~PostgresProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGQUIT);
  waitpid(pid_, nullptr, 0);
}

std::string PostgresProcess::url(const std::string& database) const {
  return fmt::format("postgresql://postgres@/{}?host={}", database, in_url(directory_));
}

Result<std::string> PostgresProcess::ask(const std::string& sql) const {
  const std::string command =
      fmt::format("psql -XAtq '{}' -c \"{}\" 2>/dev/null", url("postgres"), sql);
  FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return fail_errno("popen");
  std::string text;
  char piece[256];
  while (fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pclose(pipe) != 0) return fail("psql did not do: {}", sql);
  return text.substr(0, text.find('\n'));
}

Result<std::string> PostgresProcess::create_database(const std::string& name) {
  PAWL_TRY_DO(ask("CREATE DATABASE " + name));
  return url(name);
}

Result<double> PostgresProcess::cpu_seconds() const {
  const auto own = read_stat(fmt::format("/proc/{}", pid_));
  if (!own) return fail("PostgreSQL has ended");
  double sum = own->own_s + own->ended_children_s;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto child = read_stat(entry.path()); child && child->parent == pid_)
      sum += child->own_s + child->ended_children_s;
  }
  return sum;
}

}  // namespace pawl::bench
