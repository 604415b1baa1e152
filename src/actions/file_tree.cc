#include "actions/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "actions/fs_error.h"
#include "base/hash.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr int kTreeDepthMax = 128;  // one descriptor each
constexpr size_t kEntriesMax = 100'000;
constexpr size_t kCopyChunkBytes = 1 << 20;

std::string joined(const std::string& directory, const std::string& name) {
  return (directory == "/" ? "" : directory) + "/" + name;
}

Status check_depth(int depth, const std::string& path) {
  if (depth <= kTreeDepthMax) return ok_status();
  return fs_error("NON_RETRYABLE", in_quotes(path) + " is nested too deeply");
}

Result<FileHandle> open_directory_at(int parent, const std::string& name, const std::string& path) {
  FileHandle directory(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open()) return fs_errno(errno == ENOTDIR ? ELOOP : errno, path);
  return directory;
}

// Sorted, so that the same tree always gives the same result.
Result<std::vector<std::string>> names_in(int directory, const std::string& path) {
  int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return fs_errno(errno, path);
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy), ::closedir);
  if (stream == nullptr) return fs_errno(errno, path);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= kEntriesMax)
      return fs_error("NON_RETRYABLE", in_quotes(path) + " has more than 100000 entries");
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status remove_at(int parent, const std::string& name, const std::string& path, int depth,
                 const StopSignal& stop) {
  PAWL_TRY_DO(keep_going(stop));
  PAWL_TRY_DO(check_depth(depth, path));
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return ok_status();
  if (errno != EISDIR && errno != EPERM) return fs_errno(errno, path);
  {
    PAWL_TRY(FileHandle directory, open_directory_at(parent, name, path));
    PAWL_TRY(auto names, names_in(directory.get(), path));
    for (const std::string& child : names)
      PAWL_TRY_DO(remove_at(directory.get(), child, joined(path, child), depth + 1, stop));
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fs_errno(errno, path);
  return ok_status();
}

// One tree into another.
class Copier {
 public:
  Copier(const PathPolicy& policy, const StopSignal& stop) : policy_(policy), stop_(stop) {}

  Status entry(int from, const std::string& from_name, const std::string& from_path, int to,
               const std::string& to_name, const std::string& to_path, int depth) {
    PAWL_TRY_DO(keep_going(stop_));
    PAWL_TRY_DO(check_depth(depth, from_path));
    if (!policy_.allows(from_path, Access::Read)) return refused(from_path);
    if (!policy_.allows(to_path, Access::Write)) return refused(to_path);
    struct stat info;
    if (::fstatat(from, from_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return fs_errno(errno, from_path);
    if (S_ISDIR(info.st_mode))
      return directory(from, from_name, from_path, to, to_name, to_path, depth, info.st_mode);
    if (S_ISLNK(info.st_mode)) return link(from, from_name, from_path, to, to_name, to_path);
    if (S_ISREG(info.st_mode))
      return file(from, from_name, from_path, to, to_name, to_path, info.st_mode);
    return fs_error("VALIDATION_ERROR", in_quotes(from_path) + " is no file, directory or link");
  }

  int64_t bytes() const { return bytes_; }

 private:
  static Error refused(const std::string& path) {
    return fs_error("PATH_DENIED", in_quotes(path) + " is refused by the server's policy");
  }

  Status directory(int from, const std::string& from_name, const std::string& from_path, int to,
                   const std::string& to_name, const std::string& to_path, int depth, mode_t mode) {
    PAWL_TRY(FileHandle source, open_directory_at(from, from_name, from_path));
    if (::mkdirat(to, to_name.c_str(), (mode & 0777) | 0700) != 0 && errno != EEXIST)
      return fs_errno(errno, to_path);
    PAWL_TRY(FileHandle target, open_directory_at(to, to_name, to_path));
    PAWL_TRY(auto names, names_in(source.get(), from_path));
    for (const std::string& name : names)
      PAWL_TRY_DO(entry(source.get(), name, joined(from_path, name), target.get(), name,
                        joined(to_path, name), depth + 1));
    return ok_status();
  }

  static Status link(int from, const std::string& from_name, const std::string& from_path, int to,
                     const std::string& to_name, const std::string& to_path) {
    std::string target(PATH_MAX, '\0');
    ssize_t size = ::readlinkat(from, from_name.c_str(), target.data(), target.size());
    if (size < 0) return fs_errno(errno, from_path);
    target.resize(static_cast<size_t>(size));
    if (::symlinkat(target.c_str(), to, to_name.c_str()) != 0) return fs_errno(errno, to_path);
    return ok_status();
  }

  Status file(int from, const std::string& from_name, const std::string& from_path, int to,
              const std::string& to_name, const std::string& to_path, mode_t mode) {
    FileHandle source(
        ::openat(from, from_name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!source.is_open()) return fs_errno(errno, from_path);
    struct stat info;
    if (::fstat(source.get(), &info) == 0 && policy_.is_off_limits_file(info))
      return refused(from_path);
    struct stat there;
    if (::fstatat(to, to_name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode))
      return fs_errno(S_ISDIR(there.st_mode) ? EISDIR : EEXIST, to_path);
    std::string temporary = ".pawl-" + random_secret(8) + ".tmp";
    FileHandle target(::openat(to, temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777));
    if (!target.is_open()) return fs_errno(errno, to_path);
    Status copied = content(source.get(), target.get(), from_path, to_path);
    if (copied.ok() && ::fsync(target.get()) != 0) copied = fs_errno(errno, to_path);
    if (copied.ok() && ::renameat(to, temporary.c_str(), to, to_name.c_str()) != 0)
      copied = fs_errno(errno, to_path);
    if (!copied.ok()) ::unlinkat(to, temporary.c_str(), 0);
    return copied;
  }

  Status content(int source, int target, const std::string& from_path, const std::string& to_path) {
    buffer_.resize(kCopyChunkBytes);
    while (true) {
      PAWL_TRY_DO(keep_going(stop_));
      ssize_t count = ::read(source, buffer_.data(), buffer_.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fs_errno(errno, from_path);
      if (count == 0) return ok_status();
      for (ssize_t at = 0; at < count;) {
        ssize_t written = ::write(target, buffer_.data() + at, static_cast<size_t>(count - at));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fs_errno(errno, to_path);
        at += written;
      }
      bytes_ += count;
    }
  }

  const PathPolicy& policy_;
  const StopSignal& stop_;
  std::string buffer_;
  int64_t bytes_ = 0;
};

class Lister {
 public:
  Lister(const ListOptions& options, const PathPolicy& policy, const StopSignal& stop)
      : options_(options), policy_(policy), stop_(stop) {}

  // The policy checks `real`; the caller sees `shown`.
  Status directory(int fd, const std::string& real, const std::string& shown, int depth) {
    PAWL_TRY_DO(check_depth(depth, shown));
    PAWL_TRY(auto names, names_in(fd, shown));
    for (const std::string& name : names) {
      PAWL_TRY_DO(keep_going(stop_));
      if (!policy_.allows(joined(real, name), Access::Read)) continue;
      Entry entry{name, joined(shown, name), {}};
      if (::fstatat(fd, name.c_str(), &entry.info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // removed meanwhile
        return fs_errno(errno, entry.path);
      }
      bool descend = options_.recursive && S_ISDIR(entry.info.st_mode);
      std::string path = entry.path;
      if (options_.pattern.empty() || ::fnmatch(options_.pattern.c_str(), name.c_str(), 0) == 0)
        entries.push_back(std::move(entry));
      if (entries.size() > kEntriesMax)
        return fs_error("NON_RETRYABLE", in_quotes(shown) + ": more than 100000 entries");
      if (!descend) continue;
      PAWL_TRY(FileHandle child, open_directory_at(fd, name, path));
      PAWL_TRY_DO(directory(child.get(), joined(real, name), path, depth + 1));
    }
    return ok_status();
  }

  std::vector<Entry> entries;

 private:
  const ListOptions& options_;
  const PathPolicy& policy_;
  const StopSignal& stop_;
};

}  // namespace

Status make_parents(const JudgedPath& path, const PathPolicy& policy) {
  std::vector<std::string> missing;  // the deepest first
  FileHandle at;
  for (std::string directory = path.parent();; directory = JudgedPath{"", directory}.parent()) {
    at = FileHandle(open_judged(directory, O_RDONLY | O_DIRECTORY));
    if (at.is_open()) break;
    if (errno != ENOENT || directory == "/") return fs_errno(errno, path.shown);
    missing.push_back(directory);
  }
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
    if (!policy.allows(*next, Access::Write))
      return fs_error("PATH_DENIED",
                      in_quotes(*next) + " may not be made under the server's policy");
    std::string name = JudgedPath{"", *next}.name();
    if (::mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      return fs_errno(errno, *next);
    PAWL_TRY(at, open_directory_at(at.get(), name, *next));
  }
  return ok_status();
}

Status remove_tree(const JudgedPath& path, const StopSignal& stop) {
  PAWL_TRY(FileHandle parent, open_parent(path));
  return remove_at(parent.get(), path.name(), path.shown, 0, stop);
}

Result<Copied> copy_tree(const JudgedPath& from, const JudgedPath& to, const PathPolicy& policy,
                         const StopSignal& stop) {
  if (is_inside(to.real, from.real) || is_inside(from.real, to.real))
    return fs_error("VALIDATION_ERROR", in_quotes(from.shown) + " and " + in_quotes(to.shown) +
                                            " lie within each other");
  PAWL_TRY(FileHandle source, open_parent(from));
  PAWL_TRY(FileHandle target, open_parent(to));
  struct stat info;
  if (::fstatat(source.get(), from.name().c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return fs_errno(errno, from.shown);
  Copier copier(policy, stop);
  PAWL_TRY_DO(
      copier.entry(source.get(), from.name(), from.real, target.get(), to.name(), to.real, 0));
  return Copied{copier.bytes(), S_ISDIR(info.st_mode)};
}

Result<std::vector<Entry>> list_tree(const JudgedPath& path, const ListOptions& options,
                                     const PathPolicy& policy, const StopSignal& stop) {
  PAWL_TRY(FileHandle directory, open_file(path, O_RDONLY | O_DIRECTORY));
  Lister lister(options, policy, stop);
  PAWL_TRY_DO(lister.directory(directory.get(), path.real, path.shown, 0));
  return std::move(lister.entries);
}

}  // namespace pawl::actions
