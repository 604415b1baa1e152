#include "cli/world_directory.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/base64.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/given_inputs.h"

namespace pawl::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWorldFileBytesMax = 8u << 20;
constexpr size_t kWorldBytesMax = 128u << 20;  // of all files: the largest request of a server
constexpr size_t kWorldFilesMax = 10'000;
constexpr int kFolderDepthMax = 32;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string at_line(const std::string& file, uint32_t line) {
  return line == 0 ? file : file + ":" + std::to_string(line);
}

uint32_t line_of_byte(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
}

// The JSON reader ends its message with the byte.
uint32_t line_of_json_error(std::string_view text, std::string_view message) {
  const size_t blank = message.rfind(' ');
  size_t offset = 0;
  const char* end = message.data() + message.size();
  const auto read = std::from_chars(message.data() + blank + 1, end, offset);
  return read.ec == std::errc() && read.ptr == end ? line_of_byte(text, offset) : 0;
}

bool is_yaml_name(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// "/a~1b/0" → "a/b", "0"
std::vector<std::string> tokens_of(std::string_view pointer) {
  std::vector<std::string> tokens;
  while (!pointer.empty() && pointer.front() == '/') {
    pointer.remove_prefix(1);
    const size_t size = std::min(pointer.find('/'), pointer.size());
    std::string token;
    for (size_t i = 0; i < size; ++i) {
      const bool escaped = pointer[i] == '~' && i + 1 < size;
      token += !escaped ? pointer[i] : pointer[i + 1] == '1' ? '/' : '~';
      i += escaped ? 1 : 0;
    }
    tokens.push_back(std::move(token));
    pointer.remove_prefix(size);
  }
  return tokens;
}

std::optional<size_t> index_of(const std::string& token) {
  size_t index = 0;
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, index);
  return read.ec == std::errc() && read.ptr == end ? std::optional(index) : std::nullopt;
}

std::optional<json::View> child_of(json::View view, const std::string& token) {
  if (view.is_object()) return view.find(token);
  const auto wanted = index_of(token);
  if (!view.is_array() || !wanted || *wanted >= view.size()) return std::nullopt;
  std::optional<json::View> child;
  size_t at = 0;
  view.each_element([&](json::View element) {
    if (at++ == *wanted) child = element;
  });
  return child;
}

uint32_t line_in_json(std::string_view text, json::View view,
                      const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    const auto child = child_of(view, token);
    if (!child) break;
    view = *child;
  }
  return line_of_byte(text, static_cast<size_t>(view.raw().data() - text.data()));
}

uint32_t line_in_yaml(const plan::Source& source, const std::vector<std::string>& tokens) {
  const Value* value = &source.value;
  const plan::Lines* lines = &source.lines;
  for (const std::string& token : tokens) {
    size_t at = SIZE_MAX;
    if (value->is_object()) {
      const auto& members = value->as_object();
      for (size_t i = 0; i < members.size() && at == SIZE_MAX; ++i)
        if (members.at(i).key == token) at = i;
      if (at >= lines->of.size()) break;
      value = &members.at(at).value;
    } else {
      at = value->is_array() ? index_of(token).value_or(SIZE_MAX) : SIZE_MAX;
      if (at >= lines->of.size() || at >= value->as_array().size()) break;
      value = &value->as_array()[at];
    }
    lines = &lines->of[at];
  }
  return lines->line;
}

bool lies_in(const fs::path& folder, const fs::path& path) {
  auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && at != path.end();
}

}  // namespace

// Reads the folder; each file's faults are told, and the next file is read all the same.
class WorldDirectory::Reader {
 public:
  Reader(std::string shown, fs::path root, Code code)
      : shown_(std::move(shown)), root_(std::move(root)), code_(code) {}

  WorldDirectory read() {
    read_manifest();
    std::error_code failed;
    const fs::path nodes = root_ / "nodes";
    if (fs::is_symlink(fs::symlink_status(nodes, failed))) {
      fault(name_of(nodes), 0, "a link to a folder is not followed");
    } else if (fs::is_directory(nodes, failed)) {
      std::vector<fs::path> files;
      list(nodes, 0, files);
      std::sort(files.begin(), files.end());
      for (const fs::path& file : files) read_nodes(file);
    }
    return std::move(result_);
  }

 private:
  void fault(const std::string& file, uint32_t line, const std::string& message) {
    result_.faults_.push_back(at_line(file, line) + ": " + message);
  }

  std::string name_of(const fs::path& path) const {
    const std::string inside = path.lexically_relative(root_).string();
    return shown_.back() == '/' ? shown_ + inside : shown_ + "/" + inside;
  }

  void read_manifest() {
    std::vector<fs::path> found;
    std::error_code failed;
    for (const char* name : {"manifest.json", "manifest.yaml", "manifest.yml"})
      if (fs::symlink_status(root_ / name, failed).type() != fs::file_type::not_found && !failed)
        found.push_back(root_ / name);
      else
        failed.clear();
    if (found.empty())
      return fault(shown_, 0, "there is no manifest.json or manifest.yaml in this folder");
    if (found.size() > 1)
      return fault(name_of(found[1]), 0,
                   "there is " + found[0].filename().string() + " too; one manifest is needed");
    auto file = read_file(found[0]);
    if (!file) return;
    Entry entry{file, std::nullopt, {}};
    const bool is_object =
        file->is_json ? file->doc.root().is_object() : file->source.value.is_object();
    if (!is_object) return fault(file->name, 1, "a manifest is an object");
    entry.json = file->is_json ? std::string(file->doc.root().raw()) : file->source.value.json();
    result_.manifest_ = std::move(entry);
  }

  // All files that may hold nodes. Those that no one meant to be read are left out.
  void list(const fs::path& folder, int depth, std::vector<fs::path>& files) {
    if (depth > kFolderDepthMax) return fault(name_of(folder), 0, "folders are nested too deeply");
    std::error_code failed;
    fs::directory_iterator entries(folder, failed);
    for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
      const fs::path& path = entries->path();
      if (path.filename().string().front() == '.') continue;
      std::error_code unknown;
      if (fs::is_directory(path, unknown)) {
        if (entries->is_symlink(unknown))
          fault(name_of(path), 0, "a link to a folder is not followed");
        else
          list(path, depth + 1, files);
      } else if (path.extension() == ".json" || is_yaml_name(path)) {
        files.push_back(path);
        if (files.size() > kWorldFilesMax)
          return fault(name_of(folder), 0,
                       "more than " + std::to_string(kWorldFilesMax) + " files");
      }
    }
    if (failed) fault(name_of(folder), 0, "cannot be read: " + failed.message());
  }

  // The file's bytes. Nothing after a fault, which belongs to `said_in`.
  std::optional<std::string> read_bytes(const fs::path& path, const std::string& said_in,
                                        uint32_t line) {
    std::error_code failed;
    const fs::path real = fs::canonical(path, failed);
    const std::string name = name_of(path);
    const std::string subject = said_in == name ? "" : name + " ";
    if (failed == std::errc::no_such_file_or_directory && path.extension() == ".wasm") {
      fault(said_in, line, "there is no " + name + "; build the module first");
      return std::nullopt;
    }
    if (failed) {
      fault(said_in, line,
            subject.empty() ? "cannot be read: " + failed.message()
                            : "cannot read " + name + ": " + failed.message());
      return std::nullopt;
    }
    if (!lies_in(root_, real)) {
      fault(said_in, line, subject + "leads out of " + shown_ + "; only files in it are sent");
      return std::nullopt;
    }
    if (!fs::is_regular_file(real, failed)) {
      fault(said_in, line, subject + "is no file");
      return std::nullopt;
    }
    auto bytes = read_whole_file(real.string(), kWorldFileBytesMax);
    if (!bytes.ok()) {
      fault(said_in, line,
            subject + (bytes.error().code == ErrorCode::TooLarge
                           ? "is larger than " + std::to_string(kWorldFileBytesMax >> 20) + " MiB"
                           : "cannot be read"));
      return std::nullopt;
    }
    total_ += bytes->size();
    if (total_ > kWorldBytesMax && total_ - bytes->size() <= kWorldBytesMax)
      fault(said_in, line,
            "with this file the folder is larger than " + std::to_string(kWorldBytesMax >> 20) +
                " MiB");
    if (total_ > kWorldBytesMax) return std::nullopt;
    return std::move(bytes).value();
  }

  std::shared_ptr<const File> read_file(const fs::path& path) {
    const std::string name = name_of(path);
    auto text = read_bytes(path, name, 0);
    if (!text) return nullptr;
    auto file = std::make_shared<File>();
    file->name = name;
    file->is_json = !is_yaml_name(path);
    const size_t before = result_.faults_.size();
    if (file->is_json) {
      if (text->starts_with(kByteOrderMark)) text->erase(0, kByteOrderMark.size());
      file->text = std::move(*text);
      auto doc = json::parse(file->text);
      if (!doc.ok()) {
        fault(name, line_of_json_error(file->text, doc.error().message), doc.error().message);
        return nullptr;
      }
      file->doc = std::move(doc).value();
      check_json(*file, file->doc.root());
    } else {
      plan::DefinitionLimits limits;
      limits.bytes_max = kWorldFileBytesMax;
      file->source = plan::read_source(*text, limits);
      for (const plan::Fault& wrong : file->source.faults)
        fault(name, wrong.line, wrong.message + (wrong.hint.empty() ? "" : "; " + wrong.hint));
      if (file->source.faults.empty()) check_yaml(*file, file->source.value, file->source.lines);
    }
    return result_.faults_.size() == before ? file : nullptr;
  }

  // Of a member that is there twice, one would be ignored.
  void check_json(const File& file, json::View view) {
    std::set<std::string> seen;
    view.each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      const auto offset = static_cast<size_t>(key.raw().data() - file.text.data());
      if (seen.count(name) != 0)
        fault(file.name, line_of_byte(file.text, offset),
              "the member " + in_quotes(name) + " is there twice");
      seen.insert(std::move(name));
      check_json(file, value);
    });
    view.each_element([&](json::View element) { check_json(file, element); });
  }

  void check_yaml(const File& file, const Value& value, const plan::Lines& lines) {
    if (value.is_double())
      return fault(file.name, lines.line,
                   "not a whole number of 64 bits: " + value.json() +
                       "; write decimals as text, and naturals above 9223372036854775807 in a "
                       "JSON file");
    const size_t size = value.is_array()    ? value.as_array().size()
                        : value.is_object() ? value.as_object().size()
                                            : 0;
    for (size_t i = 0; i < size; ++i)
      check_yaml(file, value.is_array() ? value.as_array()[i] : value.as_object().at(i).value,
                 i < lines.of.size() ? lines.of[i] : lines);
  }

  void read_nodes(const fs::path& path) {
    auto file = read_file(path);
    if (!file) return;
    if (file->is_json) {
      json::View root = file->doc.root();
      if (!root.is_array()) return add_json(file, root, std::nullopt);
      size_t index = 0;
      root.each_element([&](json::View node) { add_json(file, node, index++); });
      return;
    }
    const Value& root = file->source.value;
    if (!root.is_array()) return add_yaml(file, root, std::nullopt);
    for (size_t i = 0; i < root.as_array().size(); ++i) add_yaml(file, root.as_array()[i], i);
  }

  void add_json(const std::shared_ptr<const File>& file, json::View node,
                std::optional<size_t> index) {
    Entry entry{file, index, std::string(node.raw())};
    const uint32_t line =
        line_of_byte(file->text, static_cast<size_t>(node.raw().data() - file->text.data()));
    if (!node.is_object()) return fault(file->name, line, "a node is an object");
    const auto kind = node.find("$kind");
    const auto wasm = node.find("wasm_file");
    if (kind && kind->equals("defmodule") && wasm && wasm->is_string()) {
      const uint32_t wasm_line =
          line_of_byte(file->text, static_cast<size_t>(wasm->raw().data() - file->text.data()));
      auto code = read_code(wasm->string(), file->name, wasm_line);
      if (!code) return;
      entry.has_wasm_file = true;
      entry.json.clear();
      json::Writer w(entry.json);
      w.begin_object();
      node.each_member([&](json::View key, json::View value) {
        if (!key.equals("wasm_file")) w.field_raw(key.string(), value.raw());
      });
      w.field("wasm_b64", base64(*code)).end_object();
    }
    result_.nodes_.push_back(std::move(entry));
  }

  void add_yaml(const std::shared_ptr<const File>& file, const Value& node,
                std::optional<size_t> index) {
    const std::vector<std::string> at =
        index ? std::vector<std::string>{std::to_string(*index)} : std::vector<std::string>{};
    if (!node.is_object())
      return fault(file->name, line_in_yaml(file->source, at), "a node is an object");
    Entry entry{file, index, {}};
    const Value* kind = node.find("$kind");
    const Value* wasm = node.find("wasm_file");
    if (kind != nullptr && *kind == Value("defmodule") && wasm != nullptr && wasm->is_string()) {
      std::vector<std::string> tokens = at;
      tokens.push_back("wasm_file");
      auto code = read_code(wasm->as_string(), file->name, line_in_yaml(file->source, tokens));
      if (!code) return;
      entry.has_wasm_file = true;
      Value with_code = node;
      with_code.as_object().erase("wasm_file");
      with_code.as_object().set("wasm_b64", base64(*code));
      entry.json = with_code.json();
    } else {
      entry.json = node.json();
    }
    result_.nodes_.push_back(std::move(entry));
  }

  std::optional<std::string> read_code(const std::string& wasm_file, const std::string& said_in,
                                       uint32_t line) {
    if (code_ == Code::Leave) return std::string();
    const fs::path inside = fs::path(wasm_file).lexically_normal();
    if (wasm_file.empty() || inside.is_absolute() || *inside.begin() == "..") {
      fault(said_in, line,
            "wasm_file is a path relative to " + shown_ + " and stays in it, not " +
                in_quotes(wasm_file));
      return std::nullopt;
    }
    return read_bytes(root_ / inside, said_in, line);
  }

  const std::string shown_;
  const fs::path root_;
  const Code code_;
  size_t total_ = 0;
  WorldDirectory result_;
};

Result<WorldDirectory> WorldDirectory::read(const std::string& path, Code code) {
  std::error_code failed;
  const fs::path root = fs::canonical(path, failed);
  if (failed || !fs::is_directory(root, failed))
    return Error{ErrorCode::InvalidRequest, "there is no folder " + in_quotes(path)};
  return Reader(path, root, code).read();
}

std::string WorldDirectory::members() const {
  PAWL_CHECK(faults_.empty() && manifest_);
  std::string out = "\"manifest\":" + manifest_->json + ",\"nodes\":[";
  for (size_t i = 0; i < nodes_.size(); ++i) out += (i == 0 ? "" : ",") + nodes_[i].json;
  return out + "]";
}

uint32_t WorldDirectory::line_of(const File& file, const std::vector<std::string>& tokens) {
  return file.is_json ? line_in_json(file.text, file.doc.root(), tokens)
                      : line_in_yaml(file.source, tokens);
}

WorldDirectory::Place WorldDirectory::place_of(std::string_view pointer) const {
  std::vector<std::string> tokens = tokens_of(pointer);
  const Place nowhere{"", std::string(pointer)};
  if (tokens.empty()) return nowhere;
  const Entry* entry = nullptr;
  size_t used = 1;
  if (tokens[0] == "manifest" && manifest_) entry = &*manifest_;
  if (tokens[0] == "nodes" && tokens.size() > 1) {
    const auto index = index_of(tokens[1]);
    if (index && *index < nodes_.size()) entry = &nodes_[*index];
    used = 2;
  }
  if (entry == nullptr) return nowhere;
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(used));
  for (size_t i = 0; i < used; ++i)
    pointer.remove_prefix(std::min(pointer.find('/', 1), pointer.size()));
  std::string inside(pointer);
  if (entry->has_wasm_file && (inside == "/wasm_b64" || inside == "/wasm_hash")) {
    tokens = {"wasm_file"};
    inside = "/wasm_file";
  }
  if (entry->index) {
    tokens.insert(tokens.begin(), std::to_string(*entry->index));
    inside = "/" + std::to_string(*entry->index) + inside;
  }
  return {at_line(entry->file->name, line_of(*entry->file, tokens)), inside};
}

}  // namespace pawl::cli
