#include "actions/fs_actions.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "actions/file_tree.h"
#include "actions/fs_error.h"
#include "actions/path_policy.h"
#include "actions/value_text.h"
#include "base/base64.h"
#include "base/quote.h"
#include "base/time.h"

namespace pawl::actions {
namespace {

constexpr size_t kSniffedBytes = 8192;  // a NUL within these means binary

struct Call {
  const Value& params;
  const PathPolicy& paths;
  const StopSignal& stop;
  size_t output_bytes_max;

  Result<JudgedPath> path(std::string_view name, Access access,
                          LastLink last = LastLink::Follow) const {
    return paths.judge(string_param(params, name), access, last);
  }
};

Value shown(const JudgedPath& path) { return repaired_utf8(path.shown); }

std::string modified_at(const struct stat& info) {
  return format_rfc3339_ms(static_cast<int64_t>(info.st_mtim.tv_sec) * 1000 +
                           info.st_mtim.tv_nsec / 1'000'000);
}

Result<Value> read(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Read));
  PAWL_TRY(std::string content,
           read_file(path, std::min(kFileBytesMax, call.output_bytes_max), call.stop));
  std::string encoding = string_param(call.params, "encoding", "auto");
  if (encoding == "auto") {
    bool binary = content.substr(0, kSniffedBytes).find('\0') != std::string::npos;
    encoding = binary || !is_utf8(content) ? "base64" : "text";
  } else if (encoding == "text" && !is_utf8(content)) {
    return fs_error("VALIDATION_ERROR",
                    in_quotes(path.shown) + " is no UTF-8 text; read it with encoding base64");
  }
  auto size = static_cast<int64_t>(content.size());
  return Value(Value::Object{{"path", shown(path)},
                             {"content", encoding == "base64" ? base64(content) : content},
                             {"encoding", encoding},
                             {"size", size}});
}

Result<std::optional<unsigned>> mode_of(const Value& params) {
  const Value* given = params.find("mode");
  if (given == nullptr || given->is_null()) return std::optional<unsigned>();
  int64_t mode = int_param(params, "mode", -1);
  if (given->is_string()) {
    const std::string& text = given->as_string();
    bool octal = !text.empty() && text.size() <= 6 &&
                 text.find_first_not_of("01234567") == std::string::npos;
    // "0644" is octal as people write it, "420" is the number that got interpolated into text.
    mode = -1;
    if (octal)
      std::from_chars(text.data(), text.data() + text.size(), mode, text[0] == '0' ? 8 : 10);
  }
  if (mode < 0 || mode > 0777)
    return fs_error("VALIDATION_ERROR", "mode must be permissions between 0 and 0777 (511)");
  return std::optional<unsigned>(static_cast<unsigned>(mode));
}

Result<std::string> content_of(const Value& params) {
  std::string content = string_param(params, "content");
  if (content.size() > kFileBytesMax)
    return fs_error("NON_RETRYABLE", "the content is larger than 50 MiB");
  return content;
}

Result<Value> write(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Write));
  PAWL_TRY(std::optional<unsigned> mode, mode_of(call.params));
  PAWL_TRY(std::string content, content_of(call.params));
  if (bool_param(call.params, "create_dirs", false)) PAWL_TRY_DO(make_parents(path, call.paths));
  PAWL_TRY_DO(write_file(path, content, mode));
  return Value(
      Value::Object{{"path", shown(path)}, {"size", static_cast<int64_t>(content.size())}});
}

Result<Value> append(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Write));
  PAWL_TRY(std::string content, content_of(call.params));
  PAWL_TRY(int64_t size, append_file(path, content));
  return Value(Value::Object{{"path", shown(path)}, {"size", size}});
}

Result<Value> remove(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Write, LastLink::Keep));
  PAWL_TRY_DO(call.paths.may_remove(path));
  if (bool_param(call.params, "recursive", false)) {
    // A missing entry is not a failure: an interrupted attempt may have removed it.
    Status removed = remove_tree(path, call.stop);
    bool gone = !removed.ok() && !removed.error().complaints.empty() &&
                removed.error().complaints[0].code == "NOT_FOUND";
    if (!removed.ok() && !gone) return std::move(removed).error();
  } else {
    PAWL_TRY(FileHandle parent, open_parent(path));
    if (::unlinkat(parent.get(), path.name().c_str(), 0) != 0) {
      if (errno != EISDIR) return fs_errno(errno, path.shown);
      if (::unlinkat(parent.get(), path.name().c_str(), AT_REMOVEDIR) != 0)
        return fs_errno(errno, path.shown);
    }
  }
  return Value(Value::Object{{"path", shown(path)}, {"deleted", true}});
}

Result<Value> list(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Read));
  ListOptions options{string_param(call.params, "pattern"),
                      bool_param(call.params, "recursive", false)};
  PAWL_TRY(auto found, list_tree(path, options, call.paths, call.stop));
  Value::Array entries;
  size_t bytes = 0;
  for (const Entry& entry : found) {
    bytes += entry.path.size() + 128;
    if (bytes > call.output_bytes_max)
      return fs_error("NON_RETRYABLE", "the list is larger than the limit of an output");
    entries.push_back(Value::Object{{"name", repaired_utf8(entry.name)},
                                    {"path", repaired_utf8(entry.path)},
                                    {"size", static_cast<int64_t>(entry.info.st_size)},
                                    {"modified_at", modified_at(entry.info)},
                                    {"is_dir", S_ISDIR(entry.info.st_mode)}});
  }
  return Value(Value::Object{{"path", shown(path)}, {"entries", std::move(entries)}});
}

Result<struct stat> stat_of(const JudgedPath& path) {
  FileHandle file(open_judged(path.real, O_PATH | O_NOFOLLOW));
  struct stat info;
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return fs_errno(errno, path.shown);
  return info;
}

Result<Value> stat_action(const Call& call) {
  PAWL_TRY(JudgedPath path, call.path("path", Access::Read));
  PAWL_TRY(struct stat info, stat_of(path));
  char permissions[8];
  std::snprintf(permissions, sizeof permissions, "%04o", info.st_mode & 0777u);
  return Value(Value::Object{{"path", shown(path)},
                             {"size", static_cast<int64_t>(info.st_size)},
                             {"modified_at", modified_at(info)},
                             {"is_dir", S_ISDIR(info.st_mode)},
                             {"permissions", permissions}});
}

Value transfer_output(const JudgedPath& src, const JudgedPath& dst, int64_t size, bool is_dir) {
  return Value::Object{
      {"src", shown(src)}, {"dst", shown(dst)}, {"size", size}, {"is_dir", is_dir}};
}

Result<Value> copy(const Call& call) {
  PAWL_TRY(JudgedPath src, call.path("src", Access::Read));
  PAWL_TRY(JudgedPath dst, call.path("dst", Access::Write));
  PAWL_TRY_DO(stat_of(src));
  if (bool_param(call.params, "create_dirs", false)) PAWL_TRY_DO(make_parents(dst, call.paths));
  PAWL_TRY(Copied copied, copy_tree(src, dst, call.paths, call.stop));
  return transfer_output(src, dst, copied.bytes, copied.is_directory);
}

Result<Value> move(const Call& call) {
  PAWL_TRY(JudgedPath src, call.path("src", Access::Write, LastLink::Keep));
  PAWL_TRY(JudgedPath dst, call.path("dst", Access::Write, LastLink::Keep));
  PAWL_TRY_DO(call.paths.may_remove(src));
  PAWL_TRY(struct stat info, stat_of(src));
  // The replaced target is removed too.
  if (auto replaced = stat_of(dst); replaced.ok()) PAWL_TRY_DO(call.paths.may_remove(dst));
  if (bool_param(call.params, "create_dirs", false)) PAWL_TRY_DO(make_parents(dst, call.paths));
  PAWL_TRY(FileHandle source, open_parent(src));
  PAWL_TRY(FileHandle target, open_parent(dst));
  if (::renameat(source.get(), src.name().c_str(), target.get(), dst.name().c_str()) == 0)
    return transfer_output(src, dst, info.st_size, S_ISDIR(info.st_mode));
  if (errno != EXDEV) return fs_errno(errno, src.shown);
  PAWL_TRY(Copied copied, copy_tree(src, dst, call.paths, call.stop));
  PAWL_TRY_DO(remove_tree(src, call.stop));
  return transfer_output(src, dst, copied.bytes, copied.is_directory);
}

struct FileAction {
  std::string_view name;
  Result<Value> (*run)(const Call&);
};

constexpr FileAction kFileActions[] = {
    {"fs.read", read}, {"fs.write", write},      {"fs.append", append}, {"fs.delete", remove},
    {"fs.list", list}, {"fs.stat", stat_action}, {"fs.copy", copy},     {"fs.move", move}};

}  // namespace

ActionOutcome run_fs_action(const ActionRequest& request, const ActionPolicy& policy,
                            const StopSignal& stop) {
  PathPolicy paths(policy.fs, request.work_directory);
  Call call{request.params, paths, stop, policy.output_bytes_max};
  for (const FileAction& action : kFileActions) {
    if (action.name != request.name) continue;
    auto output = action.run(call);
    return output.ok() ? ActionOutcome::success(std::move(output).value())
                       : fs_outcome(output.error());
  }
  return ActionOutcome::failure("NOT_FOUND", "there is no action " + in_quotes(request.name),
                                false);
}

}  // namespace pawl::actions
