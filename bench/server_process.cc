#include "server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "failure.h"
#include "samples.h"

namespace pawl::bench {
namespace {

constexpr auto kReadyTimeout = std::chrono::minutes(10);
constexpr auto kReadyPoll = std::chrono::milliseconds(1);

// A port that was free a moment ago. Port 0 would do if the ready line alone were to be trusted.
Result<uint16_t> free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno("socket");
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&where), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) == 0;
  close(fd);
  if (!bound) return fail_errno("bind");
  return ntohs(where.sin_port);
}

std::string read_from(const std::string& path, size_t from) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(from));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string tail(const std::string& text) {
  constexpr size_t kBytesShown = 2000;
  return text.size() <= kBytesShown ? text : text.substr(text.size() - kBytesShown);
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become_server(const char* const* arguments, int log_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execv(arguments[0], const_cast<char* const*>(arguments));
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<ScratchDir>> ScratchDir::create(const std::string& root) {
  std::string name = root + "/pawl-bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return fail_errno("mkdtemp " + name);
  return std::unique_ptr<ScratchDir>(new ScratchDir(name));
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;  // a directory left behind is a nuisance, not a wrong figure
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const std::string& program,
                                                            const std::string& directory,
                                                            const std::vector<std::string>& flags) {
  if (access(program.c_str(), X_OK) != 0) return fail_errno("no server at " + program);
  PAWL_TRY(const uint16_t port, free_port());
  const std::string listen = fmt::format("127.0.0.1:{}", port);
  const std::string data = directory + "/data";
  const std::string log = directory + "/server.log";
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return fail_errno("open " + log);
  const size_t log_from = static_cast<size_t>(lseek(log_fd, 0, SEEK_END));
  std::vector<const char*> arguments = {program.c_str(), "serve",  "--listen",
                                        listen.c_str(),  "--data", data.c_str()};
  for (const std::string& flag : flags) arguments.push_back(flag.c_str());
  arguments.push_back(nullptr);

  std::unique_ptr<ServerProcess> server(new ServerProcess);
  server->address_ = Address{"127.0.0.1", port};
  const auto begin = Clock::now();
  const pid_t parent = getpid();
  server->pid_ = fork();
  if (server->pid_ == 0) become_server(arguments.data(), log_fd, parent);
  close(log_fd);
  if (server->pid_ < 0) return fail_errno("fork");
  PAWL_TRY_DO(server->wait_ready(log, log_from));
  server->time_to_ready_ = Clock::now() - begin;
  return server;
}

Status ServerProcess::wait_ready(const std::string& log, size_t log_from) {
  // The log is a file, not a pipe: a server that writes much must not block on a busy generator.
  const auto until = Clock::now() + kReadyTimeout;
  while (Clock::now() < until) {
    const std::string said = read_from(log, log_from);
    if (said.find("pawl listening on http://") != std::string::npos) return ok_status();
    int ended = 0;
    if (waitpid(pid_, &ended, WNOHANG) == pid_) {
      pid_ = -1;
      return fail("the server ended before it was ready (wait status {}):\n{}", ended,
                  tail(read_from(log, log_from)));
    }
    std::this_thread::sleep_for(kReadyPoll);
  }
  return fail("no ready line within ten minutes:\n{}", tail(read_from(log, log_from)));
}

void ServerProcess::kill_hard() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

ServerProcess::~ServerProcess() { kill_hard(); }

}  // namespace pawl::bench
