#include "store/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace pawl {
namespace {

constexpr int kTriesMax = 100;
constexpr useconds_t kPauseUs = 20'000;

Error failed(const std::string& path, std::string_view doing, int code) {
  return Error{ErrorCode::StoreFailed,
               fmt::format("{} {}: {}", doing, path, std::generic_category().message(code))};
}

// A new directory is only durable once its parent is synced.
Status make_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return errno == EEXIST ? ok_status() : Status(failed(directory, "creating", errno));
  }
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // "data/" names data
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed(parent, "opening", errno);
  const int code = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (code != 0) return failed(parent, "syncing", code);
  return ok_status();
}

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t bytes = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  pid.resize(std::min(pid.size(), pid.find_first_not_of("0123456789")));
  return pid.empty() ? "unknown" : pid;
}

// A killed process may leave the lock to a forked child that has not yet executed its program; the
// child then releases it within moments. A live process keeps it.
bool lock_or_outlive(int fd) {
  for (int tries = 0;; ++tries) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || tries == kTriesMax) return false;
    const pid_t pid = static_cast<pid_t>(std::strtol(holder(fd).c_str(), nullptr, 10));
    if (pid <= 0 || pid == ::getpid() || ::kill(pid, 0) == 0 || errno != ESRCH) {
      errno = EWOULDBLOCK;
      return false;
    }
    ::usleep(kPauseUs);
  }
}

}  // namespace

Result<DirectoryLock> DirectoryLock::acquire(const std::string& directory) {
  PAWL_TRY_DO(make_directory(directory));
  const std::string path = directory + "/LOCK";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failed(path, "opening", errno);
  DirectoryLock lock(fd);
  if (!lock_or_outlive(fd)) {
    if (errno != EWOULDBLOCK) return failed(path, "locking", errno);
    return Error{ErrorCode::Unavailable,
                 fmt::format("data directory {} is in use by process {}", directory, holder(fd))};
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return failed(path, "writing", errno);
  }
  return lock;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace pawl
