#include "cli/cbor_text.h"

#include <cstdint>
#include <optional>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/utf8.h"

namespace pawl::cli {
namespace {

constexpr int kCborDepthMax = 64;
constexpr size_t kBytesShown = 32;

std::string hex_text(std::string_view bytes) {
  return "h'" + to_hex(bytes.substr(0, kBytesShown)) + (bytes.size() > kBytesShown ? "…'" : "'");
}

bool is_clean(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8::sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class CborPrinter {
 public:
  CborPrinter(std::string_view bytes, size_t chars_max) : rest_(bytes), chars_max_(chars_max) {}

  // Nothing if the bytes are not one value.
  std::optional<std::string> text() {
    if (!value(0)) return std::nullopt;
    if (!rest_.empty() && !full_) return std::nullopt;
    return std::move(out_);
  }

 private:
  struct Head {
    unsigned major = 0;
    uint64_t number = 0;
  };

  std::optional<Head> head() {
    if (rest_.empty()) return std::nullopt;
    const auto first = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    Head head{static_cast<unsigned>(first >> 5), static_cast<uint64_t>(first & 31)};
    if (head.number < 24) return head;
    if (head.number > 27) return std::nullopt;
    const size_t size = size_t{1} << (head.number - 24);
    if (rest_.size() < size) return std::nullopt;
    head.number = 0;
    for (size_t i = 0; i < size; ++i)
      head.number = head.number << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(size);
    return head;
  }

  std::optional<std::string_view> string(uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // False: not CBOR. Once the text is full, the rest is not read.
  bool value(int depth) {
    if (full_) return true;
    if (out_.size() > chars_max_) {
      out_ += "…";
      full_ = true;
      return true;
    }
    const auto head = this->head();
    if (!head || depth > kCborDepthMax) return false;
    switch (head->major) {
      case 0:
        out_ += std::to_string(head->number);
        return true;
      case 1:
        out_ += head->number == UINT64_MAX ? "-18446744073709551616"
                                           : "-" + std::to_string(head->number + 1);
        return true;
      case 2:
      case 3:
        return put_string(head->major == 3, head->number);
      case 4:
        return put_array(head->number, depth);
      case 5:
        return put_map(head->number, depth);
      case 7:
        if (head->number < 20 || head->number > 22) return false;
        out_ += head->number == 20 ? "false" : head->number == 21 ? "true" : "null";
        return true;
      default:  // tags, which worlds refuse
        return false;
    }
  }

  bool put_string(bool is_text, uint64_t size) {
    const auto taken = string(size);
    if (!taken || (is_text && !is_clean(*taken))) return false;
    if (!is_text) {
      out_ += hex_text(*taken);
      return true;
    }
    std::string_view shown = taken->substr(0, chars_max_);
    while (!is_clean(shown)) shown.remove_suffix(1);
    json::append_quoted(out_, shown);
    if (shown.size() < taken->size()) out_ += "…";
    return true;
  }

  bool put_array(uint64_t count, int depth) {
    if (count > rest_.size()) return false;
    out_ += '[';
    for (uint64_t i = 0; i < count && !full_; ++i) {
      if (i > 0) out_ += ",";
      if (!value(depth + 1)) return false;
    }
    out_ += ']';
    return true;
  }

  bool put_map(uint64_t count, int depth) {
    if (count > rest_.size()) return false;
    if (const auto tag = take_tag(count)) return put_variant(*tag, count == 2, depth);
    out_ += '{';
    for (uint64_t i = 0; i < count && !full_; ++i) {
      if (i > 0) out_ += ",";
      if (!value(depth + 1)) return false;
      out_ += ':';
      if (!value(depth + 1)) return false;
    }
    out_ += '}';
    return true;
  }

  // The tag of {"$tag":"Paid","$value":…}, read up to the value; nothing is read if it is no such
  // map. What comes then is read once: trying it in two ways at each depth would take for ever.
  std::optional<std::string_view> take_tag(uint64_t count) {
    constexpr std::string_view kTag = "\x64$tag", kValue = "\x66$value";
    if (count < 1 || count > 2 || rest_.substr(0, kTag.size()) != kTag) return std::nullopt;
    const std::string_view all = rest_;
    rest_.remove_prefix(kTag.size());
    const auto head = this->head();
    const auto tag = head && head->major == 3 ? string(head->number) : std::nullopt;
    const bool valued = rest_.substr(0, kValue.size()) == kValue;
    if (!tag || !is_clean(*tag) || (count == 2 && !valued)) {
      rest_ = all;
      return std::nullopt;
    }
    if (count == 2) rest_.remove_prefix(kValue.size());
    return tag;
  }

  bool put_variant(std::string_view tag, bool valued, int depth) {
    out_ += '{';
    json::append_quoted(out_, tag);
    out_ += ':';
    if (!valued) out_ += "null";
    if (valued && !value(depth + 1)) return false;
    out_ += '}';
    return true;
  }

  std::string_view rest_;
  const size_t chars_max_;
  std::string out_;
  bool full_ = false;
};

}  // namespace

std::string cbor_text(std::string_view bytes, size_t chars_max) {
  return CborPrinter(bytes, chars_max).text().value_or(hex_text(bytes));
}

std::string cbor_key_text(std::string_view bytes) {
  std::string text = cbor_text(bytes);
  const bool plain = text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
                     text.find('\\') == std::string::npos;
  return plain ? text.substr(1, text.size() - 2) : text;
}

}  // namespace pawl::cli
