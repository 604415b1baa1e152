#include "actions/discard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/hash.h"
#include "base/log.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr int kDirectory = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kOurs = 0700;

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// A command may have left a directory without write permission. By descriptor: a path could be a
// link by now.
void make_ours(int parent, const char* name) {
  FileHandle directory(::openat(parent, name, O_PATH | kDirectory));
  struct stat info;
  if (!directory.is_open() || ::fstat(directory.get(), &info) != 0) return;
  if ((info.st_mode & kOurs) == kOurs) return;
  ::chmod(("/proc/self/fd/" + std::to_string(directory.get())).c_str(), kOurs);
}

Error failure(const std::string& what, int number) {
  return {number == ENOENT ? ErrorCode::NotFound : ErrorCode::Unavailable,
          what + ": " + std::generic_category().message(number)};
}

}  // namespace

Discard::Discard(std::string root) : root_(std::move(root)), prefix_(random_secret(8)) {}

std::string Discard::fresh_name() { return prefix_ + "-" + std::to_string(++last_number_); }

// The root itself may be a link: the operator chooses its location.
FileHandle Discard::open_root() const {
  return FileHandle(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool Discard::has(const std::string& name) const {
  if (name.empty() || name.find('/') != std::string::npos || is_dots(name.c_str())) return false;
  FileHandle root = open_root();
  struct stat info;
  return root.is_open() && ::fstatat(root.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

Status Discard::open_place() {
  if (current_ != nullptr) return ok_status();
  FileHandle root = open_root();
  if (!root.is_open()) return failure(in_quotes(root_), errno);
  if (::mkdirat(root.get(), kPlace, kOurs) != 0 && errno != EEXIST)
    return failure(in_quotes(root_), errno);
  place_ = FileHandle(::openat(root.get(), kPlace, O_RDONLY | kDirectory));
  if (!place_.is_open()) return failure(in_quotes(root_ + "/" + kPlace), errno);
  return ok_status();
}

Status Discard::take(const std::string& name) {
  if (!has(name)) return failure(in_quotes(name), ENOENT);
  PAWL_TRY_DO(open_place());
  FileHandle root = open_root();
  if (!root.is_open()) return failure(in_quotes(root_), errno);
  make_ours(root.get(), name.c_str());
  if (::renameat(root.get(), name.c_str(), place_.get(), fresh_name().c_str()) != 0)
    return failure(in_quotes(name), errno);
  return ok_status();
}

// Opens the next directory of .gone; files in .gone are removed on the way.
bool Discard::open_next() {
  if (!place_.is_open()) {
    FileHandle root = open_root();
    if (!root.is_open()) return false;
    place_ = FileHandle(::openat(root.get(), kPlace, O_RDONLY | kDirectory));
    if (!place_.is_open()) return false;
  }
  std::unique_ptr<DIR, int (*)(DIR*)> list(
      ::fdopendir(::openat(place_.get(), ".", O_RDONLY | kDirectory)), &::closedir);
  if (list == nullptr) return false;
  while (const dirent* entry = ::readdir(list.get())) {
    if (is_dots(entry->d_name) || stuck_.contains(entry->d_name)) continue;
    if (::unlinkat(place_.get(), entry->d_name, 0) == 0) continue;
    make_ours(place_.get(), entry->d_name);
    int directory = ::openat(place_.get(), entry->d_name, O_RDONLY | kDirectory);
    current_.reset(directory < 0 ? nullptr : ::fdopendir(directory));
    current_name_ = entry->d_name;
    current_stuck_ = current_shrank_ = false;
    if (current_ != nullptr) return true;
    stuck_.insert(current_name_);
  }
  return false;
}

bool Discard::remove_entry(const char* name) {
  int directory = ::dirfd(current_.get());
  if (::unlinkat(directory, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (::unlinkat(directory, name, AT_REMOVEDIR) == 0) return true;
  make_ours(directory, name);
  return ::renameat(directory, name, place_.get(), fresh_name().c_str()) == 0;
}

void Discard::close_current() {
  current_.reset();
  if (!current_stuck_) {
    if (::unlinkat(place_.get(), current_name_.c_str(), AT_REMOVEDIR) == 0) return;
    if (errno == ENOTEMPTY && current_shrank_)
      return;  // a process still wrote there: try once
               // more
  }
  stuck_.insert(current_name_);
  log::error("the files of a run cannot be removed",
             {{"path", root_ + "/" + kPlace + "/" + current_name_}});
}

bool Discard::step(size_t entries_max) {
  for (size_t done = 0; done < entries_max;) {
    if (current_ == nullptr && !open_next()) return false;
    const dirent* entry = ::readdir(current_.get());
    ++done;
    if (entry == nullptr) {
      close_current();
    } else if (!is_dots(entry->d_name)) {
      (remove_entry(entry->d_name) ? current_shrank_ : current_stuck_) = true;
    }
  }
  return true;
}

}  // namespace pawl::actions
