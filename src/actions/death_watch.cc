#include "actions/death_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <system_error>

namespace pawl::actions {
namespace {

constexpr const char* kWatchShell = "/bin/sh";
// Only shell builtins: the script must work when the machine has no resources left.
constexpr const char* kScript = R"(trap '' HUP INT QUIT TERM PIPE
while read -r line; do
  group=${line#?}
  case $line in
  +*) groups="$groups $group" ;;
  -*)
    left=
    for each in $groups; do [ "$each" = "$group" ] || left="$left $each"; done
    groups=$left
    ;;
  esac
done
for each in $groups; do kill -s KILL -- "-$each"; done
)";

Error no_watch(int number) {
  return {ErrorCode::Unavailable,
          "nothing can watch over the command: " + std::generic_category().message(number)};
}

int spawn_watch(int input, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&files, "/");
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::string words[] = {"sh", "-c", kScript, "pawl-death-watch"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  char* environment[] = {nullptr};
  int failed = ::posix_spawn(&pid, kWatchShell, &files, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

}  // namespace

GroupLine::GroupLine(char sign, pid_t group) {
  char digits[12];
  size_t count = 0;
  for (auto rest = static_cast<unsigned>(group); rest != 0 || count == 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  text[size++] = sign;
  while (count > 0) text[size++] = digits[--count];
  text[size++] = '\n';
}

// Never destroyed: the pipe must close only when the process ends.
DeathWatch& DeathWatch::of_this_process() {
  static DeathWatch& watch = *new DeathWatch();
  return watch;
}

Status DeathWatch::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_watch(errno);
  // Not at the number of a standard stream, which a child's stream would overwrite.
  FileHandle low_reads(ends[0]), low_writes(ends[1]);
  FileHandle reads(::fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  auto writes = std::make_shared<FileHandle>(::fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!reads.is_open() || !writes->is_open()) return no_watch(EMFILE);
  // A stopped watch process must not block the server.
  ::fcntl(writes->get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  if (int failed = spawn_watch(reads.get(), pid); failed != 0) return no_watch(failed);
  watch_ = FileHandle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pipe_ = std::move(writes);
  ++number_;
  for (pid_t group : groups_) write('+', group);
  return pipe_ == nullptr ? Status(no_watch(EPIPE)) : ok_status();
}

// A watch that does not read must not see the pipe close: it would assume that the server died.
void DeathWatch::drop() {
  if (watch_.is_open()) {
    ::syscall(SYS_pidfd_send_signal, watch_.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(watch_.get()), &info, WEXITED) != 0 &&
           errno == EINTR) {
    }
    watch_.reset();
  }
  pipe_ = nullptr;
}

void DeathWatch::write(char sign, pid_t group) {
  if (pipe_ == nullptr) return;
  GroupLine line(sign, group);
  ssize_t written = ::write(pipe_->get(), line.text, line.size);
  while (written < 0 && errno == EINTR) written = ::write(pipe_->get(), line.text, line.size);
  if (written < 0) drop();
}

Result<DeathWatch::Line> DeathWatch::line() {
  std::lock_guard lock(mutex_);
  if (pipe_ == nullptr) PAWL_TRY_DO(start());
  return Line{pipe_, number_};
}

void DeathWatch::broken(const Line& line) {
  std::lock_guard lock(mutex_);
  if (line.number == number_ && pipe_ != nullptr) drop();
}

void DeathWatch::began(pid_t group, const Line& line) {
  std::lock_guard lock(mutex_);
  groups_.insert(group);
  if (line.number != number_) write('+', group);
}

void DeathWatch::ended(pid_t group) {
  std::lock_guard lock(mutex_);
  groups_.erase(group);
  write('-', group);
}

}  // namespace pawl::actions
