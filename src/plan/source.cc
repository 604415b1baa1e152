#include "plan/source.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

uint32_t line_at(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
}

class JsonTree {
 public:
  explicit JsonTree(std::string_view text) : text_(text) {}

  Source build(json::View root) {
    Source source;
    visit(root, source.value, source.lines);
    source.lines.line = line_of(root);
    source.faults = std::move(faults_);
    return source;
  }

 private:
  // Values come in the order of the text, so the lines are counted once.
  uint32_t line_of(json::View view) {
    const auto offset = static_cast<size_t>(view.raw().data() - text_.data());
    if (offset < counted_) return line_;
    line_ +=
        static_cast<uint32_t>(std::count(text_.begin() + static_cast<ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<ptrdiff_t>(offset), '\n'));
    counted_ = offset;
    return line_;
  }

  void visit(json::View view, Value& value, Lines& lines) {
    if (view.is_array()) {
      Value::Array elements;
      elements.reserve(view.size());
      lines.of.reserve(view.size());
      view.each_element([&](json::View element) {
        lines.of.push_back({line_of(element), {}});
        visit(element, elements.emplace_back(), lines.of.back());
      });
      value = std::move(elements);
    } else if (view.is_object()) {
      Value::Object members;
      view.each_member([&](json::View key, json::View member) {
        const std::string name = key.string();
        const uint32_t line = line_of(key);
        if (members.contains(name)) {
          faults_.push_back(
              {"", "duplicate", "the key " + in_quotes(name) + " is there twice", "", line});
          return;
        }
        lines.of.push_back({line, {}});
        visit(member, members.set(name, Value()), lines.of.back());
      });
      value = std::move(members);
    } else {
      Result<Value> scalar = Value::from(view);
      if (scalar.ok()) {
        value = std::move(*scalar);
      } else {
        faults_.push_back({"", "value", scalar.error().message, "", line_of(view)});
      }
    }
  }

  std::string_view text_;
  size_t counted_ = 0;
  uint32_t line_ = 1;
  std::vector<Fault> faults_;
};

Source unreadable(std::string code, std::string message, uint32_t line, std::string hint = {}) {
  Source source;
  source.faults.push_back({"", std::move(code), std::move(message), std::move(hint), line});
  return source;
}

// The JSON reader names the byte at the end of its message.
uint32_t line_of_error(std::string_view text, std::string_view message) {
  const size_t space = message.rfind(' ');
  if (space == std::string_view::npos) return 0;
  size_t offset = 0;
  const char* end = message.data() + message.size();
  const auto read = std::from_chars(message.data() + space + 1, end, offset);
  if (read.ec != std::errc() || read.ptr != end) return 0;
  return line_at(text, offset);
}

Source read_json(std::string_view text) {
  const Result<json::Doc> doc =
      json::parse(text, {.depth_max = kValueDepthMax, .nodes_max = kValuesMax});
  if (!doc.ok()) {
    return unreadable("syntax", doc.error().message, line_of_error(text, doc.error().message));
  }
  return JsonTree(text).build(doc->root());
}

size_t first_bad_byte(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = utf8::sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace

Source read_source(std::string_view text, const DefinitionLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return unreadable(
        "too_large", "the definition is larger than " + std::to_string(limits.bytes_max) + " bytes",
        0);
  }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (const size_t bad = first_bad_byte(text); bad != std::string_view::npos) {
    return unreadable("syntax", "the text is not UTF-8", line_at(text, bad));
  }
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    return unreadable("syntax", "there is no definition: the text is empty", 0);
  }
  if (text[begin] == '{') return read_json(text);
  if (text.size() > kYamlBytesMax) {
    return unreadable("too_large", "YAML is read up to " + std::to_string(kYamlBytesMax) + " bytes",
                      0, "write a definition of that size as JSON");
  }
  return read_yaml(text);
}

}  // namespace pawl::plan
