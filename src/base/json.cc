#include "base/json.h"

#include <charconv>
#include <cmath>

#include "base/named.h"
#include "base/plain_text.h"
#include "base/read_number.h"
#include "base/utf8.h"

namespace pawl::json {

namespace {

constexpr Named<Kind> kKindNames[] = {{"null", Kind::Null},     {"boolean", Kind::False},
                                      {"boolean", Kind::True},  {"number", Kind::Number},
                                      {"string", Kind::String}, {"array", Kind::Array},
                                      {"object", Kind::Object}};

}  // namespace

std::string_view kind_name(Kind kind) { return name_of(kKindNames, kind); }

class Parser {
 public:
  Parser(Doc& doc, std::string_view text, const Limits& limits)
      : doc_(doc), text_(text), limits_(limits) {}

  Status run() {
    doc_.nodes_.reserve(text_.size() / 12 + 8);
    skip_space();
    PAWL_TRY_DO(value(0));
    skip_space();
    if (at_ != text_.size()) return bad("unexpected text after the value");
    return ok_status();
  }

 private:
  Error bad(std::string_view what) const {
    return Error{ErrorCode::Malformed,
                 "JSON: " + std::string(what) + " at byte " + std::to_string(at_)};
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool eat(char c) {
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }

  Status value(uint32_t depth) {
    if (at_ == text_.size()) return bad("the text ends too early");
    if (depth > limits_.depth_max)
      return bad("nested deeper than " + std::to_string(limits_.depth_max));
    if (doc_.nodes_.size() >= limits_.nodes_max) return bad("too many values");
    uint32_t index = static_cast<uint32_t>(doc_.nodes_.size());
    doc_.nodes_.emplace_back();
    doc_.nodes_[index].begin = static_cast<uint32_t>(at_);
    PAWL_TRY_DO(content(index, depth));
    doc_.nodes_[index].end = static_cast<uint32_t>(at_);
    doc_.nodes_[index].next = static_cast<uint32_t>(doc_.nodes_.size());
    return ok_status();
  }

  Status content(uint32_t index, uint32_t depth) {
    switch (text_[at_]) {
      case '{':
        return object(index, depth);
      case '[':
        return array(index, depth);
      case '"':
        return string(index);
      case 't':
        return word(index, "true", Kind::True);
      case 'f':
        return word(index, "false", Kind::False);
      case 'n':
        return word(index, "null", Kind::Null);
      default:
        return number(index);
    }
  }

  Status word(uint32_t index, std::string_view expected, Kind kind) {
    if (text_.substr(at_, expected.size()) != expected) return bad("unknown word");
    at_ += expected.size();
    doc_.nodes_[index].kind = kind;
    return ok_status();
  }

  Status object(uint32_t index, uint32_t depth) {
    doc_.nodes_[index].kind = Kind::Object;
    ++at_;
    skip_space();
    if (eat('}')) return ok_status();
    uint32_t count = 0;
    do {
      skip_space();
      if (at_ == text_.size() || text_[at_] != '"') return bad("expected a member name in quotes");
      PAWL_TRY_DO(value(depth + 1));
      skip_space();
      if (!eat(':')) return bad("expected ':'");
      skip_space();
      PAWL_TRY_DO(value(depth + 1));
      ++count;
      skip_space();
    } while (eat(','));
    if (!eat('}')) return bad("expected ',' or '}'");
    doc_.nodes_[index].count = count;
    return ok_status();
  }

  Status array(uint32_t index, uint32_t depth) {
    doc_.nodes_[index].kind = Kind::Array;
    ++at_;
    skip_space();
    if (eat(']')) return ok_status();
    uint32_t count = 0;
    do {
      skip_space();
      PAWL_TRY_DO(value(depth + 1));
      ++count;
      skip_space();
    } while (eat(','));
    if (!eat(']')) return bad("expected ',' or ']'");
    doc_.nodes_[index].count = count;
    return ok_status();
  }

  Status string(uint32_t index) {
    doc_.nodes_[index].kind = Kind::String;
    ++at_;
    while (true) {
      at_ += plain_length<HighBytes::Special>(text_.substr(at_));
      if (at_ == text_.size()) return bad("a string is not closed");
      unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return ++at_, ok_status();
      if (c == '\\') {
        doc_.nodes_[index].escaped = true;
        PAWL_TRY_DO(escape());
      } else if (c < 0x20) {
        return bad("a control character in a string");
      } else {
        size_t length = utf8::sequence_length(text_.substr(at_));
        if (length == 0) return bad("invalid UTF-8");
        at_ += length;
      }
    }
  }

  Status escape() {
    ++at_;
    if (at_ == text_.size()) return bad("a string is not closed");
    char c = text_[at_++];
    if (c == 'u') return unicode_escape();
    if (std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos)
      return bad("unknown escape");
    return ok_status();
  }

  Status unicode_escape() {
    std::optional<uint32_t> unit = hex4();
    if (!unit) return bad("expected four hex digits");
    if (*unit >= 0xdc00 && *unit <= 0xdfff) return bad("a lone surrogate");
    if (*unit < 0xd800 || *unit > 0xdbff) return ok_status();
    if (text_.substr(at_, 2) != "\\u") return bad("a lone surrogate");
    at_ += 2;
    std::optional<uint32_t> low = hex4();
    if (!low || *low < 0xdc00 || *low > 0xdfff) return bad("a lone surrogate");
    return ok_status();
  }

  std::optional<uint32_t> hex4() {
    if (text_.size() - at_ < 4) return std::nullopt;
    uint32_t unit = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, unit, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4 || text_[at_] == '-')
      return std::nullopt;
    at_ += 4;
    return unit;
  }

  bool digits() {
    size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > from;
  }

  Status number(uint32_t index) {
    doc_.nodes_[index].kind = Kind::Number;
    eat('-');
    if (!eat('0') && !digits()) return bad("expected a value");
    if (eat('.') && !digits()) return bad("expected digits after '.'");
    if (eat('e') || eat('E')) {
      if (!eat('+')) eat('-');
      if (!digits()) return bad("expected digits in the exponent");
    }
    return ok_status();
  }

  Doc& doc_;
  std::string_view text_;
  const Limits& limits_;
  size_t at_ = 0;
};

Result<Doc> parse(std::string_view text, const Limits& limits) {
  if (text.size() > UINT32_MAX) return Error{ErrorCode::TooLarge, "JSON: text too large"};
  Doc doc;
  doc.text_ = text;
  PAWL_TRY_DO(Parser(doc, text, limits).run());
  return doc;
}

namespace {

uint32_t hex_unit(std::string_view four) {
  uint32_t unit = 0;
  std::from_chars(four.data(), four.data() + 4, unit, 16);
  return unit;
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    size_t plain = std::min(text.find('\\', i), text.size()) - i;
    out.append(text, i, plain);
    i += plain;
    if (i == text.size()) break;
    switch (text[++i]) {
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u': {
        uint32_t unit = hex_unit(text.substr(i + 1, 4));
        i += 4;
        if (unit >= 0xd800 && unit <= 0xdbff) {
          unit = 0x10000 + ((unit - 0xd800) << 10) + (hex_unit(text.substr(i + 3, 4)) - 0xdc00);
          i += 6;
        }
        utf8::append(out, unit);
        break;
      }
      default:
        out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::string View::string() const {
  std::string_view inner = raw().substr(1, raw().size() - 2);
  return node().escaped ? unescape(inner) : std::string(inner);
}

bool View::equals(std::string_view text) const {
  if (!is_string()) return false;
  if (node().escaped) return string() == text;
  return raw().substr(1, raw().size() - 2) == text;
}

std::optional<int64_t> View::as_int() const {
  if (!is_number()) return std::nullopt;
  int64_t value = 0;
  if (read_number(raw(), value)) return value;
  std::optional<double> real = as_double();
  if (!real || std::floor(*real) != *real || std::fabs(*real) > 9007199254740992.0)
    return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<double> View::as_double() const {
  if (!is_number()) return std::nullopt;
  double value = 0;
  std::string_view text = raw();
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Most members that are looked for are not there: most names differ in length already.
std::optional<View> View::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  const Node* nodes = doc_->nodes_.data();
  uint32_t found = 0;
  uint32_t at = index_ + 1;
  for (uint32_t i = 0; i < nodes[index_].count; ++i) {
    const Node& name = nodes[at];
    if (name.escaped || name.end - name.begin == key.size() + 2)
      if (View(doc_, at).equals(key)) found = name.next;
    at = nodes[name.next].next;
  }
  return found == 0 ? std::nullopt : std::optional<View>(View(doc_, found));
}

}  // namespace pawl::json
