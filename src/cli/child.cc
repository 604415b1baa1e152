#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

extern char** environ;

namespace pawl::cli {
namespace {

constexpr size_t kLastWordsMax = 2000;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct Pipe {
  Fd reads, writes;
  bool make() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    reads = Fd(ends[0]);
    writes = Fd(ends[1]);
    return true;
  }
};

std::vector<std::string> merged_environment(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) all.emplace_back(*one);
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

Result<pid_t> spawn(const ChildOrder& order, const Pipe& in, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.reads.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.writes.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.writes.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> environment = merged_environment(order.environment);
  std::vector<char*> variables;
  for (std::string& one : environment) variables.push_back(one.data());
  variables.push_back(nullptr);
  std::string shell = "sh", dash_c = "-c", command = order.command;
  char* words[] = {shell.data(), dash_c.data(), command.data(), nullptr};
  pid_t pid = 0;
  int failed = posix_spawn(&pid, "/bin/sh", &files, &attributes, words, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return Error{ErrorCode::Unavailable,
                 std::string("cannot start /bin/sh: ") + std::strerror(failed)};
  return pid;
}

// Reads once; closes the descriptor at the end of file.
std::string read_once(Fd& fd) {
  std::array<char, 65536> buffer;
  ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) fd.close();
  return got > 0 ? std::string(buffer.data(), static_cast<size_t>(got)) : "";
}

void feed(Fd& fd, std::string_view& rest) {
  ssize_t sent = rest.empty() ? 0 : ::write(fd.get(), rest.data(), rest.size());
  if (sent > 0) rest.remove_prefix(static_cast<size_t>(sent));
  if (rest.empty() || (sent < 0 && errno != EINTR && errno != EAGAIN)) fd.close();
}

// All three at once: a child that fills one pipe while we wait on another would wait for ever.
void converse(const ChildOrder& order, pid_t pid, Fd in, Fd out, Fd err, ChildEnd& end) {
  ::fcntl(in.get(), F_SETFL, O_NONBLOCK);
  std::string_view rest = order.input;
  while (out.open() || err.open()) {
    std::array<pollfd, 3> waits{
        {{in.get(), POLLOUT, 0}, {out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (in.open() && waits[0].revents != 0) feed(in, rest);
    if (out.open() && waits[1].revents != 0) end.output += read_once(out);
    if (err.open() && waits[2].revents != 0) {
      std::string words = read_once(err);
      std::fwrite(words.data(), 1, words.size(), stderr);
      end.last_words += words;
      if (end.last_words.size() > 2 * kLastWordsMax)
        end.last_words.erase(0, end.last_words.size() - kLastWordsMax);
    }
    if (end.output.size() > order.output_bytes_max && !end.output_cut) {
      end.output_cut = true;
      end.output.clear();
      out.close();
      ::kill(-pid, SIGKILL);
    }
  }
}

}  // namespace

Result<ChildEnd> run_child(const ChildOrder& order, std::atomic<int>& pid) {
  Pipe in, out, err;
  if (!in.make() || !out.make() || !err.make())
    return Error{ErrorCode::Unavailable, std::string("no pipe: ") + std::strerror(errno)};
  PAWL_TRY(pid_t child, spawn(order, in, out, err));
  pid = child;
  in.reads.close();
  out.writes.close();
  err.writes.close();
  ChildEnd end;
  converse(order, child, std::move(in.writes), std::move(out.reads), std::move(err.reads), end);
  // Waits before the pid can be reused: end_child() must not signal another process.
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  pid = 0;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (end.last_words.size() > kLastWordsMax)
    end.last_words.erase(0, end.last_words.size() - kLastWordsMax);
  return end;
}

void end_child(std::atomic<int>& pid) {
  if (int group = pid.load(); group > 0) ::kill(-group, SIGTERM);
}

}  // namespace pawl::cli
