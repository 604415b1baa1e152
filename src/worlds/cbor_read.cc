// Reading CBOR in two passes. The first walks the bytes without keeping anything: it refuses what
// may not be there, and sees whether the encoding is the canonical one. The second builds the
// items; it knows then that every count is true, so that bytes cannot claim memory that they do not
// fill.
#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "worlds/cbor.h"
#include "worlds/cbor_head.h"

namespace pawl::worlds::cbor {
namespace {

class Scan {
 public:
  explicit Scan(std::string_view bytes) : bytes_(bytes) {}

  // False: see fault().
  bool run() {
    if (!item(0)) return false;
    return at_ == bytes_.size() || fail(at_, "bytes follow the value");
  }
  bool canonical() const { return canonical_; }
  Error fault() const {
    return Error{ErrorCode::InvalidContent,
                 "CBOR: " + std::string(fault_) + " at byte " + std::to_string(fault_at_)};
  }

 private:
  bool fail(size_t at, std::string_view what) {
    fault_ = what;
    fault_at_ = at;
    return false;
  }

  bool item(size_t depth) {
    const size_t begin = at_;
    Head head;
    if (!take_head(bytes_, at_, head)) return fail(begin, "the bytes end too early");
    if (head.major == kMajorSimple) return simple(begin, head);
    if (head.major == kMajorTag) return fail(begin, "a tag");
    if (head.info == 31) return fail(begin, "an indefinite length");
    if (head.info > 27) return fail(begin, "a reserved head");
    if (!head.shortest) canonical_ = false;
    if (head.major <= kMajorNegative) return true;
    if (head.major <= kMajorText) return string(begin, head);
    if (depth == kDepthMax) return fail(begin, "nested deeper than 64");
    // Each element takes a byte at least.
    if (head.argument > bytes_.size() - at_) return fail(begin, "the bytes end too early");
    return head.major == kMajorArray ? array(head.argument, depth) : map(head.argument, depth);
  }

  bool simple(size_t begin, const Head& head) {
    if (head.info >= kSimpleFalse && head.info <= kSimpleNull) return true;
    if (head.info >= 25 && head.info <= 27) return fail(begin, "a floating-point number");
    return fail(begin, "neither false, true nor null");
  }

  bool string(size_t begin, const Head& head) {
    if (head.argument > bytes_.size() - at_) return fail(begin, "the bytes end too early");
    const auto size = static_cast<size_t>(head.argument);
    if (head.major == kMajorText && !is_utf8(bytes_.substr(at_, size)))
      return fail(begin, "text that is not UTF-8");
    at_ += size;
    return true;
  }

  bool array(uint64_t count, size_t depth) {
    for (; count > 0; --count)
      if (!item(depth + 1)) return false;
    return true;
  }

  bool map(uint64_t count, size_t depth) {
    std::string_view last;  // key
    for (; count > 0; --count) {
      const size_t begin = at_;
      if (!item(depth + 1)) return false;
      const std::string_view key = bytes_.substr(begin, at_ - begin);
      if (canonical_ && key <= last) {
        if (key == last) return fail(begin, "a duplicate key");
        canonical_ = false;
      }
      last = key;
      if (!item(depth + 1)) return false;
    }
    return true;
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  bool canonical_ = true;
  std::string_view fault_;
  size_t fault_at_ = 0;
};

// Of bytes that Scan has passed.
class Build {
 public:
  Build(std::string_view bytes, bool canonical) : bytes_(bytes), canonical_(canonical) {}

  // False: a duplicate key at duplicate().
  bool item(Item& out) {
    Head head;
    take_head(bytes_, at_, head);
    switch (head.major) {
      case kMajorNat:
      case kMajorNegative:
        out.kind = head.major == kMajorNat ? Kind::Nat : Kind::Negative;
        out.number = head.argument;
        return true;
      case kMajorBytes:
      case kMajorText:
        out.kind = head.major == kMajorBytes ? Kind::Bytes : Kind::Text;
        out.string = bytes_.substr(at_, static_cast<size_t>(head.argument));
        at_ += static_cast<size_t>(head.argument);
        return true;
      case kMajorArray:
        out.kind = Kind::Array;
        return items(out, static_cast<size_t>(head.argument));
      case kMajorMap: {
        out.kind = Kind::Map;
        const size_t begin = at_;
        if (!items(out, static_cast<size_t>(head.argument) * 2)) return false;
        if (canonical_ || keys_differ(out.items)) return true;
        duplicate_ = begin;
        return false;
      }
      default:
        out.kind = head.argument == kSimpleFalse  ? Kind::False
                   : head.argument == kSimpleTrue ? Kind::True
                                                  : Kind::Null;
        return true;
    }
  }
  size_t duplicate() const { return duplicate_; }

 private:
  static constexpr size_t kFewKeys = 16;

  bool items(Item& out, size_t count) {
    out.items.resize(count);
    for (Item& item_of : out.items)
      if (!item(item_of)) return false;
    return true;
  }

  static bool is_scalar(const Item& item) { return !item.is_array() && !item.is_map(); }

  static bool keys_differ(const std::vector<Item>& members) {
    bool few = members.size() / 2 <= kFewKeys;
    for (size_t i = 0; few && i < members.size(); i += 2) few = is_scalar(members[i]);
    if (!few) return encodings_differ(members);
    for (size_t i = 2; i < members.size(); i += 2)
      for (size_t j = 0; j < i; j += 2)
        if (members[i].kind == members[j].kind && members[i].number == members[j].number &&
            members[i].string == members[j].string)
          return false;
    return true;
  }

  static bool encodings_differ(const std::vector<Item>& members) {
    std::string keys;
    std::vector<Part> parts;
    for (size_t i = 0; i < members.size(); i += 2) {
      const size_t begin = keys.size();
      append(keys, members[i]);
      parts.push_back({begin, keys.size(), keys.size()});
    }
    return put_in_order(keys, parts) == parts.size();
  }

  const std::string_view bytes_;
  const bool canonical_;
  size_t at_ = 0;
  size_t duplicate_ = 0;
};

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<uint8_t>(text.front()) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const size_t length = utf8::sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<Item> read(std::string_view bytes) {
  Scan scan(bytes);
  if (!scan.run()) return scan.fault();
  Build build(bytes, scan.canonical());
  Item item;
  if (!build.item(item))
    return Error{ErrorCode::InvalidContent,
                 "CBOR: a duplicate key in the map at byte " + std::to_string(build.duplicate())};
  return item;
}

bool is_canonical(std::string_view bytes) {
  Scan scan(bytes);
  return scan.run() && scan.canonical();
}

Result<std::string> canonical(std::string_view bytes) {
  Scan scan(bytes);
  if (!scan.run()) return scan.fault();
  if (scan.canonical()) return std::string(bytes);
  PAWL_TRY(const Item item, read(bytes));
  std::string out;
  out.reserve(bytes.size());
  append(out, item);
  return out;
}

}  // namespace pawl::worlds::cbor
