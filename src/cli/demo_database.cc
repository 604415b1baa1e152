#include "cli/demo_database.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

extern char** environ;

namespace pawl::cli {
namespace {

constexpr std::chrono::milliseconds kReadyPoll{20};
constexpr std::chrono::seconds kReadyDeadline{60};
constexpr int kNoPrograms = 42;

// PostgreSQL does not run as root: then it is the user postgres, to whom the directory is given.
constexpr const char* kScript = R"sh(
cd "$1" || exit 1
programs=$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$programs" ] || programs=$(dirname "$(command -v initdb)" 2>/dev/null)
[ -x "$programs/initdb" ] || exit 42
as=
if [ "$(id -u)" -eq 0 ]; then
  chown postgres . && chmod 0700 . || exit 1
  as="--reuid=postgres --regid=postgres --clear-groups"
fi
setpriv $as -- "$programs/initdb" -D data -U postgres --auth=trust --encoding=UTF8 --locale=C || exit 1
exec setpriv --pdeathsig=QUIT $as -- "$programs/postgres" -D data -c listen_addresses= \
  -c unix_socket_directories="$1" -c shared_buffers=64MB
)sh";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string in_url(const std::string& path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      text += c;
    } else {
      text += '%';
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
  }
  return text;
}

}  // namespace

DemoDatabase::~DemoDatabase() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGQUIT);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status DemoDatabase::start() {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = directory_ + ".log";
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string words[] = {"sh", "-c", kScript, "sh", directory_};
  char* pointers[] = {words[0].data(), words[1].data(), words[2].data(),
                      words[3].data(), words[4].data(), nullptr};
  const int failed = ::posix_spawn(&pid_, "/bin/sh", &actions, nullptr, pointers, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = 0;
    return Error{ErrorCode::Unavailable, std::string("no shell: ") + std::strerror(failed)};
  }
  return wait_until_ready();
}

Status DemoDatabase::wait_until_ready() {
  const auto deadline = std::chrono::steady_clock::now() + kReadyDeadline;
  while (text_of(directory_ + "/data/postmaster.pid").find("ready") == std::string::npos) {
    int ended = 0;
    if (::waitpid(pid_, &ended, WNOHANG) == pid_) {
      pid_ = 0;
      if (WIFEXITED(ended) && WEXITSTATUS(ended) == kNoPrograms)
        return Error{
            ErrorCode::NotFound,
            "there is no PostgreSQL server here. Install one (Debian, Ubuntu: `apt install "
            "postgresql`; its programs suffice), or name an empty database: `pawl demo "
            "cluster --store postgres://…`"};
      return Error{ErrorCode::Unavailable,
                   "PostgreSQL did not start: " + text_of(directory_ + ".log")};
    }
    if (std::chrono::steady_clock::now() > deadline)
      return Error{ErrorCode::Unavailable, "PostgreSQL is not ready after a minute"};
    std::this_thread::sleep_for(kReadyPoll);
  }
  return ok_status();
}

std::string DemoDatabase::url() const {
  return "postgresql://postgres@/postgres?host=" + in_url(directory_);
}

}  // namespace pawl::cli
