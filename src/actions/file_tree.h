// What the fs actions do to files and directories. Every path was judged before, and every step
// down a tree is made from the descriptor above it without following links. Long work looks at the
// stop signal between chunks and entries. Errors as in fs_error.h. Any thread.
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
// The whole content or none of it, also after a crash. Without a mode an existing file keeps its
// own, and a new one has 0644 less the umask.
Status write_file(const JudgedPath& path, std::string_view content, std::optional<unsigned> mode);
// The size after it.
Result<int64_t> append_file(const JudgedPath& path, std::string_view content);

// Makes the directories above a path that are not there, as far as the policy lets write.
Status make_parents(const JudgedPath& path, const PathPolicy& policy);
Status remove_tree(const JudgedPath& path, const StopSignal& stop);

struct Copied {
  int64_t bytes = 0;
  bool is_directory = false;
};
// Regular files, directories and links (as links); what the policy refuses below ends it.
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
// By name, directories before what is in them. What may not be read is not listed. NON_RETRYABLE
// past 100,000.
Result<std::vector<Entry>> list_tree(const JudgedPath& path, const ListOptions& options,
                                     const PathPolicy& policy, const StopSignal& stop);

}  // namespace pawl::actions
