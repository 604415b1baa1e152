#include "sim/plain_cbor.h"

#include "base/hash.h"

namespace pawl::sim {
namespace {

constexpr int kPlainDepthMax = 64;

class PlainReader {
 public:
  explicit PlainReader(std::string_view bytes) : bytes_(bytes) {}

  bool read(PlainItem& item, int depth) {
    if (depth > kPlainDepthMax || at_ >= bytes_.size()) return false;
    const auto first = static_cast<uint8_t>(bytes_[at_++]);
    const unsigned major = first >> 5;
    if (major == 7) return simple(item, first);
    if (major == 6 || !number(first & 31u, item.number)) return false;
    using Kind = PlainItem::Kind;
    constexpr Kind kKinds[] = {Kind::Nat,  Kind::Negative, Kind::Bytes,
                               Kind::Text, Kind::Array,    Kind::Map};
    item.kind = kKinds[major];
    if (major < 2) return true;
    if (major < 4) return string(item);
    return major == 4 ? array(item, depth) : map(item, depth);
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  static bool simple(PlainItem& item, uint8_t first) {
    using Kind = PlainItem::Kind;
    if (first != 0xf4 && first != 0xf5 && first != 0xf6) return false;
    item.kind = first == 0xf4 ? Kind::False : first == 0xf5 ? Kind::True : Kind::Null;
    return true;
  }
  // Only the shortest head of a number.
  bool number(unsigned info, uint64_t& value) {
    value = info;
    if (info < 24) return true;
    if (info > 27) return false;
    const size_t size = size_t{1} << (info - 24);
    if (bytes_.size() - at_ < size) return false;
    value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes_[at_++]);
    return size == 1 ? value >= 24 : value >> (size * 4) != 0;
  }
  bool string(PlainItem& item) {
    if (bytes_.size() - at_ < item.number) return false;
    item.string = bytes_.substr(at_, item.number);
    at_ += item.number;
    return true;
  }
  bool array(PlainItem& item, int depth) {
    if (bytes_.size() - at_ < item.number) return false;
    item.items.resize(item.number);
    for (PlainItem& each : item.items)
      if (!read(each, depth + 1)) return false;
    return true;
  }
  bool map(PlainItem& item, int depth) {
    if (bytes_.size() - at_ < item.number) return false;
    item.items.resize(2 * item.number);
    std::string_view before;
    for (size_t i = 0; i < item.items.size(); i += 2) {
      const size_t begin = at_;
      if (!read(item.items[i], depth + 1)) return false;
      const std::string_view key = bytes_.substr(begin, at_ - begin);
      if (i > 0 && key <= before) return false;
      before = key;
      if (!read(item.items[i + 1], depth + 1)) return false;
    }
    return true;
  }

  const std::string_view bytes_;
  size_t at_ = 0;
};

std::string raw_sha256(std::string_view bytes) {
  const auto digest = sha256(bytes);
  return {digest.begin(), digest.end()};
}

}  // namespace

const PlainItem& PlainItem::at(std::string_view name) const {
  static const PlainItem missing;
  if (kind == Kind::Map)
    for (size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == Kind::Text && items[i].string == name) return items[i + 1];
  return missing;
}

bool read_plain(std::string_view bytes, PlainItem& item) {
  PlainReader reader(bytes);
  return reader.read(item, 0) && reader.at_end();
}

std::string plain_head(unsigned major, uint64_t number) {
  std::string head;
  const auto tag = static_cast<unsigned>(major << 5);
  if (number < 24) return head += static_cast<char>(tag | number), head;
  int size = number < 1u << 8 ? 0 : number < 1u << 16 ? 1 : number < uint64_t{1} << 32 ? 2 : 3;
  head += static_cast<char>(tag | (24u + static_cast<unsigned>(size)));
  for (int shift = (8 << size) - 8; shift >= 0; shift -= 8)
    head += static_cast<char>(number >> shift);
  return head;
}

std::string plain_text(std::string_view text) {
  return plain_head(3, text.size()) + std::string(text);
}
std::string plain_bytes(std::string_view bytes) {
  return plain_head(2, bytes.size()) + std::string(bytes);
}
std::string plain_bytes_or_null(const PlainItem& item) {
  return item.is(PlainItem::Kind::Bytes) ? plain_bytes(item.string) : "\xf6";
}
std::string with_long_head(std::string item) {
  const bool short_head = static_cast<uint8_t>(item.back()) < 24 && item[item.size() - 2] == 'o';
  if (short_head) item.insert(item.size() - 1, 1, '\x18');
  return item;
}

std::string plain_nat(uint64_t number) { return plain_head(0, number); }

std::string plain_digest(std::string_view structure) {
  return raw_sha256("\xd9\xd9\xf7" + std::string(structure));
}
std::string plain_hash(std::string_view structure) {
  return "sha256:" + to_hex(plain_digest(structure));
}
std::string plain_hash_of_bytes(std::string_view bytes) { return "sha256:" + sha256_hex(bytes); }

}  // namespace pawl::sim
