#include "actions/path_policy.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "actions/value_text.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr int kLinksMax = 40;
constexpr size_t kPathBytesMax = PATH_MAX - 1;

Error denied_error(std::string_view path, std::string_view why) {
  return Error{ErrorCode::Forbidden, in_quotes(repaired_utf8(path)) + " " + std::string(why)};
}

std::deque<std::string> parts_of(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return parts;
}

std::string parent_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string joined(const std::string& directory, std::string_view name) {
  return (directory == "/" ? "" : directory) + "/" + std::string(name);
}

Result<std::string> read_link(const std::string& path) {
  std::string target(PATH_MAX, '\0');
  ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return denied_error(path, "cannot be followed");
  target.resize(static_cast<size_t>(size));
  return target;
}

std::string current_directory() {
  char text[PATH_MAX];
  return ::getcwd(text, sizeof text) == nullptr ? "/" : text;
}

// A root that cannot be resolved stays as written: no real path is inside it.
std::string root_of(std::string_view path) {
  std::string absolute = normal_path(path);
  auto real = real_path(absolute, LastLink::Follow);
  return real.ok() ? *real : absolute;
}

bool inside_any(std::string_view path, const std::vector<std::string>& roots) {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const std::string& root) { return is_inside(path, root); });
}

}  // namespace

std::string JudgedPath::parent() const { return parent_of(real); }

std::string JudgedPath::name() const { return real.substr(real.rfind('/') + 1); }

std::string normal_path(std::string_view path) {
  std::vector<std::string> kept;
  for (std::string& part : parts_of(path)) {
    if (part != "..") {
      kept.push_back(std::move(part));
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  std::string out;
  for (const std::string& part : kept) out += "/" + part;
  return out.empty() ? "/" : out;
}

bool is_inside(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

Result<std::string> real_path(std::string_view absolute, LastLink last) {
  std::deque<std::string> left = parts_of(absolute);
  std::string real = "/";
  int links = 0;
  bool missing = false;  // nothing exists from here on
  while (!left.empty()) {
    std::string part = std::move(left.front());
    left.pop_front();
    if (part == "..") {
      if (missing) return denied_error(absolute, "leads back out of what does not exist");
      real = parent_of(real);
      continue;
    }
    std::string next = joined(real, part);
    if (next.size() > kPathBytesMax) return denied_error(absolute, "is too long");
    struct stat info;
    bool there = !missing && ::lstat(next.c_str(), &info) == 0;
    if (!there) missing = true;
    bool kept = left.empty() && last == LastLink::Keep;
    if (!there || !S_ISLNK(info.st_mode) || kept) {
      real = std::move(next);
      continue;
    }
    if (++links > kLinksMax) return denied_error(absolute, "leads through too many links");
    PAWL_TRY(std::string target, read_link(next));
    if (!target.empty() && target[0] == '/') real = "/";
    std::deque<std::string> more = parts_of(target);
    left.insert(left.begin(), more.begin(), more.end());
  }
  return real;
}

PathPolicy::PathPolicy(const FsPolicy& policy, std::string_view work_directory)
    : confined_(policy.confined), work_directory_(work_directory) {
  if (!work_directory.empty()) own_ = root_of(work_directory);
  if (!own_.empty()) writable_.push_back(own_);
  for (const std::string& path : policy.off_limits) off_limits_.push_back(root_of(path));
  for (const std::string& path : policy.writable) writable_.push_back(root_of(path));
  for (const std::string& path : policy.read_only) read_only_.push_back(root_of(path));
  // Both spellings: one may be reached through a link that the other does not have.
  for (const std::string& path : policy.deny) {
    deny_.push_back(normal_path(path));
    deny_.push_back(root_of(path));
  }
}

bool PathPolicy::denied(std::string_view path) const { return inside_any(path, deny_); }

bool PathPolicy::off_limits(std::string_view real) const {
  if (off_limits_.empty()) return false;
  constexpr std::string_view kProc = "/proc/";
  if (real.starts_with(kProc) && real.size() > kProc.size() && real[kProc.size()] >= '0' &&
      real[kProc.size()] <= '9')
    return true;
  return inside_any(real, off_limits_) && (own_.empty() || !is_inside(real, own_));
}

// Compares parent directories by inode, so their names do not matter.
bool PathPolicy::holds_off_limits(const std::string& real) const {
  struct stat own {
  }, above{}, info{};
  bool has_own = !own_.empty() && ::stat(own_.c_str(), &own) == 0;
  auto same = [](const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  };
  for (const std::string& root : off_limits_) {
    if (::stat(root.c_str(), &info) != 0) continue;
    for (std::string at = real;; at = parent_of(at)) {
      bool there = ::stat(at.c_str(), &above) == 0;
      if (there && has_own && same(above, own)) break;
      if (there && same(above, info)) return true;
      if (at == "/") break;
    }
  }
  return false;
}

bool PathPolicy::is_off_limits_file(const struct stat& info) const {
  if (!S_ISREG(info.st_mode) || info.st_nlink < 2) return false;
  for (const std::string& root : off_limits_) {
    std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(root.c_str()), ::closedir);
    while (const dirent* entry = listing == nullptr ? nullptr : ::readdir(listing.get())) {
      struct stat its;
      if (::fstatat(::dirfd(listing.get()), entry->d_name, &its, AT_SYMLINK_NOFOLLOW) == 0 &&
          its.st_dev == info.st_dev && its.st_ino == info.st_ino)
        return true;
    }
  }
  return false;
}

bool PathPolicy::allows(std::string_view real, Access access) const {
  if (denied(real) || off_limits(real)) return false;
  // The most specific root decides: a read-only corner of a writable directory, or the reverse.
  size_t writable = 0, read_only = 0;
  for (const std::string& root : writable_)
    if (is_inside(real, root)) writable = std::max(writable, root.size());
  for (const std::string& root : read_only_)
    if (is_inside(real, root)) read_only = std::max(read_only, root.size());
  if (access == Access::Read) return !confined_ || writable + read_only > 0;
  if (read_only > 0 && read_only >= writable) return false;
  return !confined_ || writable > 0;
}

Result<JudgedPath> PathPolicy::judge(std::string_view path, Access access, LastLink last) const {
  if (path.empty()) return denied_error(path, "is no path");
  if (path.find('\0') != std::string_view::npos) return denied_error(path, "holds a NUL");
  if (path.size() > kPathBytesMax) return denied_error(path.substr(0, 100), "is too long");
  std::string absolute(path);
  if (path[0] != '/') {
    if (work_directory_.empty() && confined_)
      return denied_error(path, "is relative, and there is no work directory");
    absolute = joined(work_directory_.empty() ? current_directory() : work_directory_, path);
  }
  JudgedPath judged;
  judged.shown = normal_path(absolute);
  PAWL_TRY(judged.real, real_path(absolute, last));
  struct stat info;
  bool linked = ::lstat(judged.real.c_str(), &info) == 0 && is_off_limits_file(info);
  if (denied(judged.shown) || !allows(judged.real, access) || linked ||
      holds_off_limits(judged.real))
    return denied_error(judged.shown, access == Access::Write
                                          ? "may not be written under the server's policy"
                                          : "may not be read under the server's policy");
  return judged;
}

Status PathPolicy::may_remove(const JudgedPath& path) const {
  if (path.real == "/") return denied_error(path.shown, "is the root of the file system");
  for (const std::string& root : writable_)
    if (confined_ && is_inside(root, path.real))
      return denied_error(path.shown, "is or holds a directory that files are confined to");
  for (const auto* roots : {&read_only_, &deny_, &off_limits_})
    for (const std::string& root : *roots)
      if (is_inside(root, path.real))
        return denied_error(path.shown, "holds what the server's policy protects");
  return ok_status();
}

int open_judged(const std::string& real, int flags, unsigned mode) {
  int root = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* relative = real == "/" ? "." : real.c_str() + 1;
  long fd = ::syscall(SYS_openat2, root, relative, &how, sizeof how);
  int saved = errno;
  ::close(root);
  errno = saved;
  return static_cast<int>(fd);
}

}  // namespace pawl::actions
