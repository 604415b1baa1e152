#include "cli/demo_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

extern char** environ;

namespace pawl::cli {
namespace {

constexpr size_t kReadyLineMax = 4096;

std::string log_path(const std::string& data_dir) { return data_dir + ".log"; }

// Reads until the line is complete or the other side has closed.
std::string read_line(int fd) {
  std::string line;
  char c = 0;
  while (line.size() < kReadyLineMax) {
    ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || c == '\n') break;
    line.push_back(c);
  }
  return line;
}

// "pawl listening on http://127.0.0.1:4711 (…": 4711, or 0.
int port_of(const std::string& ready_line) {
  size_t scheme = ready_line.find("://");
  size_t colon = scheme == std::string::npos ? scheme : ready_line.find(':', scheme + 3);
  if (colon == std::string::npos) return 0;
  return static_cast<int>(std::strtol(ready_line.c_str() + colon + 1, nullptr, 10));
}

// Without PAWL_ variables: they are meant for the caller's server.
std::vector<char*> clean_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "PAWL_", 5) != 0) kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

DemoServer::~DemoServer() { stop(); }

Status DemoServer::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{ErrorCode::Unavailable, std::string("no pipe: ") + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string log = log_path(data_dir_);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<std::string> words = {"pawl",     "serve",
                                    "--listen", "127.0.0.1:" + std::to_string(wanted_port_),
                                    "--data",   data_dir_};
  words.insert(words.end(), flags_.begin(), flags_.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<char*> environment = clean_environment();
  int failed = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, pointers.data(),
                             environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (failed != 0) {
    pid_ = 0;
    return Error{ErrorCode::Unavailable,
                 std::string("cannot start a server: ") + std::strerror(failed)};
  }
  int port = port_of(read_line(output_));
  if (port == 0) {
    end(SIGKILL);
    return Error{ErrorCode::Unavailable, "the server did not start: " + last_words()};
  }
  port_.store(port, std::memory_order_release);
  return ok_status();
}

void DemoServer::kill_hard() { end(SIGKILL); }

void DemoServer::stop() { end(SIGTERM); }

void DemoServer::freeze() { ::kill(pid_, SIGSTOP); }

void DemoServer::thaw() { ::kill(pid_, SIGCONT); }

void DemoServer::end(int signal) {
  port_.store(0, std::memory_order_release);
  if (pid_ != 0) {
    ::kill(pid_, signal);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
  }
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

std::string DemoServer::last_words() const {
  std::ifstream file(log_path(data_dir_));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.size() > 1000 ? text.substr(text.size() - 1000) : text;
}

}  // namespace pawl::cli
