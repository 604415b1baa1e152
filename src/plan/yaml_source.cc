// The YAML half of read_source: yaml-cpp's events, made into values. Its exceptions end here.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "base/quote.h"
#include "base/read_number.h"
#include "base/utf8.h"
#include "plan/source.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";
constexpr std::string_view kMergeKey = "<<";
constexpr const char* kTooDeep = "values are nested too deeply";

uint32_t line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : static_cast<uint32_t>(mark.line) + 1;
}

[[noreturn]] void refuse(const YAML::Mark& mark, const std::string& message) {
  throw YAML::ParserException(mark, message);
}

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

std::optional<bool> as_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

// Numbers of the YAML 1.2 core schema. Infinities and NaN stays text.
std::optional<Value> as_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty() || digits.starts_with('+')) return std::nullopt;
  int base = 10;
  if (digits.starts_with("0x")) base = 16;
  if (digits.starts_with("0o")) base = 8;
  if (base != 10) digits.remove_prefix(2);
  if (base != 10 && digits.starts_with('-')) return std::nullopt;
  int64_t whole = 0;
  if (read_number(digits, whole, base)) return Value(whole);
  if (base != 10 || digits.find_first_not_of("+-.eE0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  auto real = Value(0.0).as_double();
  if (!read_number(digits, real) || !std::isfinite(real)) return std::nullopt;
  return Value(real);
}

struct Built {
  Value value;
  Lines lines;
  size_t weight = 1;  // values in it, long text counted for more
  size_t depth = 1;
};

size_t weight_of(std::string_view text) { return 1 + text.size() / 16; }

class Builder : public YAML::EventHandler {
 public:
  bool done() const { return done_; }
  Built take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    scalar(mark, anchor, Value());
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(mark, "an alias inside of what it stands for");
    count(mark, found->second.weight);
    if (frames_.size() + found->second.depth > kValueDepthMax) refuse(mark, kTooDeep);
    Built copy = found->second;
    copy.lines.line = line_of(mark);
    add(mark, std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (is_key()) return key(mark, anchor, text);
    scalar(mark, anchor, resolve(mark, tag, text));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value(Value::Array()));
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, Value(Value::Object()));
  }
  void OnMapEnd() override {
    merge();
    end();
  }

 private:
  struct Frame {
    Built built;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    uint32_t key_line = 0;
    std::vector<Value> merged;  // what << named, in order
  };

  bool is_key() const {
    return !frames_.empty() && frames_.back().built.value.is_object() && !frames_.back().has_key;
  }

  void count(const YAML::Mark& mark, size_t values) {
    count_ += values;
    if (count_ > kValuesMax) refuse(mark, "more than " + std::to_string(kValuesMax) + " values");
  }

  void key(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& text) {
    Frame& frame = frames_.back();
    count(mark, weight_of(text));
    frame.built.weight += weight_of(text);
    if (anchor != 0) anchors_[anchor] = Built{Value(text), {}, weight_of(text), 1};
    if (frame.built.value.as_object().contains(text)) {
      refuse(mark, "the key " + in_quotes(text) + " is there twice");
    }
    frame.key = checked(mark, text);
    frame.key_line = line_of(mark);
    frame.has_key = true;
  }

  void scalar(const YAML::Mark& mark, YAML::anchor_t anchor, Value value) {
    const size_t weight = value.is_string() ? weight_of(value.as_string()) : 1;
    count(mark, weight);
    Built built{std::move(value), {line_of(mark), {}}, weight, 1};
    if (anchor != 0) anchors_[anchor] = built;
    add(mark, std::move(built));
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Value empty) {
    if (is_key()) refuse(mark, "a key must be text");
    if (tag != "?" && tag != "!" && !tag.empty() && !tag.starts_with(kCoreTag)) {
      refuse(mark, "the tag " + in_quotes(tag) + " is not known");
    }
    if (frames_.size() >= kValueDepthMax) refuse(mark, kTooDeep);
    count(mark, 1);
    Frame frame;
    frame.built = {std::move(empty), {line_of(mark), {}}, 1, 1};
    frame.mark = mark;
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void end() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (frame.anchor != 0) {
      count(frame.mark, frame.built.weight);  // the copy is kept for the aliases
      anchors_[frame.anchor] = frame.built;
    }
    add(frame.mark, std::move(frame.built));
  }

  void add(const YAML::Mark& mark, Built built) {
    if (frames_.empty()) {
      root_ = std::move(built);
      done_ = true;
      return;
    }
    Frame& frame = frames_.back();
    frame.built.weight += built.weight;
    frame.built.depth = std::max(frame.built.depth, built.depth + 1);
    if (frame.built.value.is_array()) {
      frame.built.value.as_array().push_back(std::move(built.value));
      frame.built.lines.of.push_back(std::move(built.lines));
      return;
    }
    if (!frame.has_key) {
      if (!built.value.is_null() && !built.value.is_string()) refuse(mark, "a key must be text");
      return key(mark, 0, built.value.is_string() ? built.value.as_string() : "null");
    }
    frame.has_key = false;
    if (frame.key == kMergeKey) return keep_merged(mark, frame, std::move(built.value));
    frame.built.value.as_object().set(frame.key, std::move(built.value));
    built.lines.line = frame.key_line;
    frame.built.lines.of.push_back(std::move(built.lines));
  }

  static void keep_merged(const YAML::Mark& mark, Frame& frame, Value value) {
    if (value.is_array()) {
      for (Value& element : value.as_array()) keep_merged(mark, frame, std::move(element));
    } else if (value.is_object()) {
      frame.merged.push_back(std::move(value));
    } else {
      refuse(mark, "<< takes a map or a list of maps");
    }
  }

  // The map's own keys take precedence, then the first merged ones.
  void merge() {
    Frame& frame = frames_.back();
    Value::Object& members = frame.built.value.as_object();
    for (Value& other : frame.merged) {
      for (const Value::Member& member : other.as_object()) {
        if (members.contains(member.key)) continue;
        members.set(member.key, member.value);
        frame.built.lines.of.push_back({line_of(frame.mark), {}});
      }
    }
  }

  static Value resolve(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    if (tag == "?" || tag.empty()) {
      if (is_null(text)) return Value();
      if (const std::optional<bool> truth = as_bool(text)) return Value(*truth);
      if (std::optional<Value> number = as_number(text)) return std::move(*number);
      return Value(checked(mark, text));
    }
    if (tag == "!") return Value(checked(mark, text));
    const std::string_view name =
        tag.starts_with(kCoreTag) ? std::string_view(tag).substr(kCoreTag.size()) : "";
    if (name == "str") return Value(checked(mark, text));
    if (name == "null") return Value();
    if (name == "bool" && as_bool(text)) return Value(*as_bool(text));
    if ((name == "int" || name == "float") && as_number(text)) return *as_number(text);
    refuse(mark, "the tag " + in_quotes(tag) + " does not fit here");
  }

  static std::string checked(const YAML::Mark& mark, const std::string& text) {
    for (size_t at = 0; at < text.size();) {
      const size_t length = utf8::sequence_length(std::string_view(text).substr(at));
      if (length == 0) refuse(mark, "text that is not UTF-8");
      at += length;
    }
    return text;
  }

  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Built> anchors_;
  size_t count_ = 0;
  Built root_;
  bool done_ = false;
};

}  // namespace

Source read_yaml(std::string_view text) {
  Source source;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder;
    if (!parser.HandleNextDocument(builder) || !builder.done()) {
      source.faults.push_back(
          {"", "syntax", "there is no definition: the document is empty", "", 0});
      return source;
    }
    Builder second;
    if (parser.HandleNextDocument(second)) {
      source.faults.push_back({"", "syntax", "the text holds more than one document",
                               "give each definition a file of its own", 0});
      return source;
    }
    Built root = builder.take();
    source.value = std::move(root.value);
    source.lines = std::move(root.lines);
  } catch (const YAML::Exception& error) {
    source.faults.push_back({"", "syntax", "YAML: " + error.msg, "", line_of(error.mark)});
  } catch (const std::exception& error) {  // of the standard library inside the parser
    source.faults.push_back({"", "syntax", std::string("YAML: ") + error.what(), "", 0});
  }
  return source;
}

}  // namespace pawl::plan
