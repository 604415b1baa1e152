// The bytes of single files: read, written as a whole, appended to.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "actions/file_tree.h"
#include "actions/fs_error.h"
#include "base/hash.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fs_errno(errno, path);
    content.remove_prefix(static_cast<size_t>(count));
  }
  return ok_status();
}

Status check_regular(const struct stat& info, const std::string& path) {
  if (S_ISREG(info.st_mode)) return ok_status();
  if (S_ISDIR(info.st_mode)) return fs_errno(EISDIR, path);
  return fs_error("VALIDATION_ERROR", in_quotes(path) + " is no regular file");
}

// The permissions of the replaced file, if they are to be kept.
Result<std::optional<unsigned>> mode_to_keep(int directory, const JudgedPath& path) {
  struct stat info;
  if (::fstatat(directory, path.name().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<unsigned>();
    return fs_errno(errno, path.shown);
  }
  if (S_ISLNK(info.st_mode)) return fs_errno(ELOOP, path.shown);  // created after the check
  PAWL_TRY_DO(check_regular(info, path.shown));
  return std::optional<unsigned>(info.st_mode & 0777);
}

}  // namespace

Result<FileHandle> open_file(const JudgedPath& path, int flags, unsigned mode) {
  // Not blocking: a FIFO must not block the thread.
  FileHandle file(open_judged(path.real, flags | O_NONBLOCK | O_NOCTTY, mode));
  if (!file.is_open()) return fs_errno(errno, path.shown);
  return file;
}

Result<FileHandle> open_parent(const JudgedPath& path) {
  FileHandle directory(open_judged(path.parent(), O_RDONLY | O_DIRECTORY));
  if (!directory.is_open()) return fs_errno(errno, path.shown);
  return directory;
}

Result<std::string> read_file(const JudgedPath& path, size_t bytes_max, const StopSignal& stop) {
  PAWL_TRY(FileHandle file, open_file(path, O_RDONLY));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return fs_errno(errno, path.shown);
  PAWL_TRY_DO(check_regular(info, path.shown));
  Error too_large = fs_error("NON_RETRYABLE", in_quotes(path.shown) + " is larger than " +
                                                  std::to_string(bytes_max) + " bytes");
  if (static_cast<uint64_t>(info.st_size) > bytes_max) return too_large;
  std::string content;
  while (true) {
    PAWL_TRY_DO(keep_going(stop));
    size_t before = content.size();
    content.resize(before + kChunkBytes);
    ssize_t count = ::read(file.get(), content.data() + before, kChunkBytes);
    if (count < 0 && errno != EINTR) return fs_errno(errno, path.shown);
    content.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (content.size() > bytes_max) return too_large;
    if (count == 0) return content;
  }
}

Status write_file(const JudgedPath& path, std::string_view content, std::optional<unsigned> mode) {
  PAWL_TRY(FileHandle directory, open_parent(path));
  PAWL_TRY(std::optional<unsigned> existing, mode_to_keep(directory.get(), path));
  std::string temporary = ".pawl-" + random_secret(8) + ".tmp";
  FileHandle file(::openat(directory.get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode.value_or(0644)));
  if (!file.is_open()) return fs_errno(errno, path.shown);
  Status written = write_all(file.get(), content, path.shown);
  if (written.ok() && !mode && existing && ::fchmod(file.get(), *existing) != 0)
    written = fs_errno(errno, path.shown);
  if (written.ok() && ::fsync(file.get()) != 0) written = fs_errno(errno, path.shown);
  if (written.ok() &&
      ::renameat(directory.get(), temporary.c_str(), directory.get(), path.name().c_str()) != 0)
    written = fs_errno(errno, path.shown);
  if (!written.ok()) {
    ::unlinkat(directory.get(), temporary.c_str(), 0);
    return written;
  }
  if (::fsync(directory.get()) != 0) return fs_errno(errno, path.shown);
  return ok_status();
}

Result<int64_t> append_file(const JudgedPath& path, std::string_view content) {
  PAWL_TRY(FileHandle file, open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0644));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return fs_errno(errno, path.shown);
  PAWL_TRY_DO(check_regular(info, path.shown));
  PAWL_TRY_DO(write_all(file.get(), content, path.shown));
  if (::fdatasync(file.get()) != 0) return fs_errno(errno, path.shown);
  if (::fstat(file.get(), &info) != 0) return fs_errno(errno, path.shown);
  return static_cast<int64_t>(info.st_size);
}

}  // namespace pawl::actions
