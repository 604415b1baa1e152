// File operations of the fs actions. Every path was checked before, and each level of a tree is
// opened from its parent's descriptor without following links. Long operations check the stop
// signal between chunks and entries. Errors as in fs_error.h. Any thread.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actions/file_handle.h"
#include "actions/path_policy.h"
#include "actions/stop_signal.h"
#include "base/result.h"

namespace pawl::actions {

inline constexpr size_t kFileBytesMax = 50u << 20;  // read or written in one action

Result<FileHandle> open_file(const JudgedPath& path, int flags, unsigned mode = 0);
Result<FileHandle> open_parent(const JudgedPath& path);
// A regular file's bytes. NON_RETRYABLE past bytes_max.
Result<std::string> read_file(const JudgedPath& path, size_t bytes_max, const StopSignal& stop);
// Writes all of the content or nothing, also after a crash. Without a mode an existing file keeps
// its own, and a new one has 0644 less the umask.
Status write_file(const JudgedPath& path, std::string_view content, std::optional<unsigned> mode);
// Returns the new size.
Result<int64_t> append_file(const JudgedPath& path, std::string_view content);

// Creates missing parent directories, where the policy allows writing.
Status make_parents(const JudgedPath& path, const PathPolicy& policy);
Status remove_tree(const JudgedPath& path, const StopSignal& stop);

struct Copied {
  int64_t bytes = 0;
  bool is_directory = false;
};
// Regular files, directories and links (as links); ends at an entry that the policy refuses.
Result<Copied> copy_tree(const JudgedPath& from, const JudgedPath& to, const PathPolicy& policy,
                         const StopSignal& stop);

struct Entry {
  std::string name;
  std::string path;
  struct stat info;
};
struct ListOptions {
  std::string pattern;  // "" = all
  bool recursive = false;
};
// Sorted by name, directories before their entries. Unreadable entries are not listed.
// NON_RETRYABLE past 100,000.
Result<std::vector<Entry>> list_tree(const JudgedPath& path, const ListOptions& options,
                                     const PathPolicy& policy, const StopSignal& stop);

}  // namespace pawl::actions
