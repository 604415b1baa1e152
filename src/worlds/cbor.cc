#include "worlds/cbor.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "worlds/cbor_head.h"

namespace pawl::worlds::cbor {
namespace {

constexpr size_t kFewParts = 16;  // so many are sorted by insertion

std::string_view key_of(std::string_view bytes, const Part& part) {
  return bytes.substr(part.begin, part.key_end - part.begin);
}

bool keys_ascend(std::string_view bytes, std::span<const Part> parts) {
  for (size_t i = 1; i < parts.size(); ++i)
    if (key_of(bytes, parts[i - 1]) >= key_of(bytes, parts[i])) return false;
  return true;
}

void sort_parts(std::string_view bytes, std::span<Part> parts) {
  auto before = [bytes](const Part& a, const Part& b) {
    const int order = key_of(bytes, a).compare(key_of(bytes, b));
    return order != 0 ? order < 0 : a.begin < b.begin;
  };
  if (parts.size() > kFewParts) return std::sort(parts.begin(), parts.end(), before);
  for (size_t i = 1; i < parts.size(); ++i) {
    const Part moved = parts[i];
    size_t at = i;
    for (; at > 0 && before(moved, parts[at - 1]); --at) parts[at] = parts[at - 1];
    parts[at] = moved;
  }
}

}  // namespace

size_t put_in_order(std::string& out, std::span<Part> parts) {
  if (keys_ascend(out, parts)) return parts.size();
  const size_t begin = parts.front().begin;
  sort_parts(out, parts);
  const std::string before = out.substr(begin);
  auto part_of = [&](const Part& part, size_t end) {
    return std::string_view(before).substr(part.begin - begin, end - part.begin);
  };
  out.resize(begin);
  size_t kept = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && part_of(parts[i], parts[i].key_end) == part_of(parts[i - 1], parts[i - 1].key_end))
      continue;
    out.append(part_of(parts[i], parts[i].end));
    ++kept;
  }
  return kept;
}

namespace {

class ItemWriter {
 public:
  explicit ItemWriter(std::string& out) : out_(out) {}

  void write(const Item& item) {
    switch (item.kind) {
      case Kind::Nat:
        return put_head(out_, kMajorNat, item.number);
      case Kind::Negative:
        return put_head(out_, kMajorNegative, item.number);
      case Kind::Bytes:
        return put_bytes(out_, item.string);
      case Kind::Text:
        return put_text(out_, item.string);
      case Kind::Array:
        put_array(out_, item.items.size());
        for (const Item& element : item.items) write(element);
        return;
      case Kind::Map:
        return write_map(item);
      case Kind::False:
        return put_bool(out_, false);
      case Kind::True:
        return put_bool(out_, true);
      case Kind::Null:
        return put_null(out_);
    }
  }

 private:
  void write_map(const Item& item) {
    put_map(out_, item.items.size() / 2);
    const size_t base = parts_.size();
    for (size_t i = 0; i + 1 < item.items.size(); i += 2) {
      Part part{out_.size(), 0, 0};
      write(item.items[i]);
      part.key_end = out_.size();
      write(item.items[i + 1]);
      part.end = out_.size();
      parts_.push_back(part);
    }
    put_in_order(out_, std::span(parts_).subspan(base));
    parts_.resize(base);
  }

  std::string& out_;
  std::vector<Part> parts_;  // of all maps that are being written, the outer ones first
};

}  // namespace

size_t head_size(uint64_t argument) {
  if (argument < 24) return 1;
  if (argument <= UINT8_MAX) return 2;
  if (argument <= UINT16_MAX) return 3;
  return argument <= UINT32_MAX ? 5 : 9;
}

void put_head(std::string& out, uint8_t major, uint64_t argument) {
  const auto type = static_cast<uint8_t>(major << 5);
  if (argument < 24) return out.push_back(static_cast<char>(type | argument));
  const size_t size = head_size(argument);
  char head[9];
  head[0] = static_cast<char>(type | (size == 2 ? 24 : size == 3 ? 25 : size == 5 ? 26 : 27));
  for (size_t i = size - 1; i > 0; --i, argument >>= 8)
    head[i] = static_cast<char>(argument & 0xff);
  out.append(head, size);
}

void put_nat(std::string& out, uint64_t value) { put_head(out, kMajorNat, value); }

void put_int(std::string& out, int64_t value) {
  // Of a negative one the complement is -1 - value.
  if (value < 0) return put_head(out, kMajorNegative, ~static_cast<uint64_t>(value));
  put_head(out, kMajorNat, static_cast<uint64_t>(value));
}

void put_bytes(std::string& out, std::string_view bytes) {
  put_head(out, kMajorBytes, bytes.size());
  out.append(bytes);
}

void put_text(std::string& out, std::string_view text) {
  put_head(out, kMajorText, text.size());
  out.append(text);
}

void put_bool(std::string& out, bool value) { out.push_back(value ? '\xf5' : '\xf4'); }
void put_null(std::string& out) { out.push_back('\xf6'); }
void put_array(std::string& out, size_t count) { put_head(out, kMajorArray, count); }
void put_map(std::string& out, size_t count) { put_head(out, kMajorMap, count); }

std::string& Map::value(std::string_view key) {
  const Part part{out_.size(), out_.size() + head_size(key.size()) + key.size(), 0};
  put_text(out_, key);
  if (count_ == kFewMembers) many_.assign(few_.begin(), few_.end());
  if (count_ < kFewMembers) {
    few_[count_] = part;
  } else {
    many_.push_back(part);
  }
  ++count_;
  return out_;
}

void Map::end() {
  const std::span<Part> parts =
      count_ <= kFewMembers ? std::span(few_.data(), count_) : std::span(many_);
  for (size_t i = 0; i < parts.size(); ++i)
    parts[i].end = i + 1 < parts.size() ? parts[i + 1].begin : out_.size();
  put_in_order(out_, parts);
  if (count_ < 24) {
    out_[begin_] = static_cast<char>(0xa0 | count_);
    return;
  }
  std::string head;
  put_map(head, count_);
  out_.replace(begin_, 1, head);
}

void append(std::string& out, const Item& item) { ItemWriter(out).write(item); }

const Item* Item::find(std::string_view key) const {
  if (kind != Kind::Map) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].kind == Kind::Text && items[i].string == key) return &items[i + 1];
  return nullptr;
}

}  // namespace pawl::worlds::cbor
