// The binary form of records in the journal and in entity rows.
//
// A record declares its fields once:
//   struct JobLeased { JobId job; uint32_t attempt = 0;
//     static void fields(auto& self, auto&& visit) {
//       visit(1, "job", self.job); visit(2, "attempt", self.attempt); } };
// Bytes: for each field that is not at its default, a tag (number << 2 | wire) and the value.
//   wire 0  varint: unsigned, enum, bool; signed as zigzag
//   wire 1  16 bytes: an id
//   wire 2  varint length, then bytes: string, nested record, one element of a list
// An unknown field number is skipped by its wire type, so an older reader survives a newer writer's
// additions. A number is never used again for another meaning.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/make_room.h"
#include "base/result.h"
#include "base/uuid.h"

namespace pawl::codec {

// Writes up to ten bytes; returns how many.
inline size_t write_varint(char* bytes, uint64_t value) {
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>(value | 0x80);
  bytes[count++] = static_cast<char>(value);
  return count;
}

inline void put_varint(std::string& out, uint64_t value) {
  if (value < 0x80) return out.push_back(static_cast<char>(value));
  char bytes[10];
  out.append(bytes, write_varint(bytes, value));
}

// Two in one: a tag and what follows it.
inline void put_varints(std::string& out, uint64_t first, uint64_t second) {
  char bytes[20];
  const size_t count = write_varint(bytes, first);
  out.append(bytes, count + write_varint(bytes + count, second));
}

inline uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Inserts the length of the bytes after `at` in front of them. Large content is moved within the
// string, not copied to another.
inline void put_length_before(std::string& out, size_t at) {
  char length[10];
  const size_t count = write_varint(length, out.size() - at);
  make_room(out, count);
  out.insert(at, length, count);
}

// Reads what the functions above wrote; every read is bounds-checked, and failed() stays true after
// the first bad one.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool done() const { return at_ == end_; }
  bool failed() const { return failed_; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return fail();
      uint8_t byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail();
  }
  std::string_view raw(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) {
      fail();
      return {};
    }
    std::string_view out(at_, size);
    at_ += size;
    return out;
  }
  std::string_view bytes() {
    uint64_t size = varint();
    return failed_ ? std::string_view{} : raw(size);
  }

 private:
  uint64_t fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

enum class Wire : uint8_t { Varint = 0, Id = 1, Bytes = 2 };

struct AnyVisitor {
  void operator()(int, const char*, auto&&) const {}
};
template <class T>
concept Record = requires(T& record, AnyVisitor visit) {
  T::fields(record, visit);
};
template <class T>
concept Integer = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept IdLike = std::is_base_of_v<Uuid, T>;

// A text that may be stored in its record in another form than its bytes.
template <class T>
concept StoredText = requires(T& text, const T& given, typename T::Reference& room) {
  { given.stored(room) } -> std::convertible_to<std::string_view>;
  text.take_stored(std::string_view());
};

// Elements that are not stored contiguously.
template <class T>
concept ElementList = requires(T& list, const T& given, typename T::Element element) {
  given.begin() != given.end();
  list.add(std::move(element));
};

template <Record T>
void encode(std::string& out, const T& record);
template <Record T>
bool decode(std::string_view bytes, T& record);

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  template <class T>
  void operator()(int number, const char*, const T& value) {
    if constexpr (Integer<T>) {
      if (value != T{}) put_varints(out_, tag_of(number, Wire::Varint), bits(value));
    } else if constexpr (IdLike<T>) {
      if (!value.is_nil()) tag(number, Wire::Id), value.append_bytes(out_);
    } else {
      put_object(number, value);
    }
  }

 private:
  void put_object(int number, std::string_view value) {
    if (!value.empty()) put_bytes(number, value);
  }
  template <StoredText T>
  void put_object(int number, const T& value) {
    typename T::Reference room;
    put_object(number, std::string_view(value.stored(room)));
  }
  void put_object(int number, const Record auto& value) {
    size_t tag_at = out_.size();
    tag(number, Wire::Bytes);
    size_t body_at = out_.size();
    encode(out_, value);
    size_t size = out_.size() - body_at;
    if (size == 0) {
      out_.resize(tag_at);
      return;
    }
    put_length_before(out_, body_at);
  }
  template <class T>
  void put_object(int number, const std::optional<T>& value) {
    if (value) put_element(number, *value);
  }
  template <class T>
  void put_object(int number, const std::vector<T>& list) {
    for (const T& item : list) put_element(number, item);
  }
  template <class T>
  void put_object(int number, const std::deque<T>& list) {
    for (const T& item : list) put_element(number, item);
  }
  template <ElementList T>
  void put_object(int number, const T& list) {
    for (const typename T::Element& item : list) put_element(number, item);
  }
  // A list or optional element is written even when it is at its default: its presence is the
  // information.
  template <class T>
  void put_element(int number, const T& item) {
    if constexpr (Integer<T>) {
      put_varints(out_, tag_of(number, Wire::Varint), bits(item));
    } else if constexpr (IdLike<T>) {
      tag(number, Wire::Id);
      item.append_bytes(out_);
    } else if constexpr (Record<T>) {
      std::string body;
      encode(body, item);
      put_bytes(number, body);
    } else {
      put_bytes(number, item);
    }
  }
  void put_bytes(int number, std::string_view bytes) {
    make_room(out_, bytes.size() + 20);
    put_varints(out_, tag_of(number, Wire::Bytes), bytes.size());
    out_.append(bytes);
  }
  static uint64_t tag_of(int number, Wire wire) {
    return static_cast<uint64_t>(number) << 2 | static_cast<uint64_t>(wire);
  }
  void tag(int number, Wire wire) { put_varint(out_, tag_of(number, wire)); }
  template <class T>
  static uint64_t bits(T value) {
    if constexpr (std::is_signed_v<T>) return zigzag(static_cast<int64_t>(value));
    return static_cast<uint64_t>(value);
  }

  std::string& out_;
};

// Offers one decoded field to the record: the field with that number takes it, if the wire type
// fits.
struct FieldReader {
  int wanted;
  Wire wire;
  uint64_t number_value;
  std::string_view bytes_value;
  bool bad = false;

  void operator()(int number, const char*, auto& value) {
    if (number == wanted) take(value);
  }
  template <class T>
  void take(T& value) {
    if constexpr (Integer<T>) {
      if (wire != Wire::Varint) return void(bad = true);
      if constexpr (std::is_signed_v<T>) {
        value = static_cast<T>(unzigzag(number_value));
      } else {
        value = static_cast<T>(number_value);
      }
    } else if constexpr (IdLike<T>) {
      if (wire != Wire::Id) return void(bad = true);
      static_cast<Uuid&>(value) = *Uuid::from_bytes(bytes_value);
    } else {
      take_object(value);
    }
  }
  void take_object(std::string& value) {
    if (wire != Wire::Bytes) return void(bad = true);
    value.assign(bytes_value);
  }
  // Reads in place: the view lives as long as the encoded bytes.
  void take_object(std::string_view& value) {
    if (wire != Wire::Bytes) return void(bad = true);
    value = bytes_value;
  }
  void take_object(StoredText auto& value) {
    if (wire != Wire::Bytes) return void(bad = true);
    value.take_stored(bytes_value);
  }
  void take_object(Record auto& value) {
    if (wire != Wire::Bytes || !decode(bytes_value, value)) bad = true;
  }
  template <class T>
  void take_object(std::optional<T>& value) {
    take(value.emplace());
  }
  template <class T>
  void take_object(std::vector<T>& list) {
    take(list.emplace_back());
  }
  template <class T>
  void take_object(std::deque<T>& list) {
    take(list.emplace_back());
  }
  template <ElementList T>
  void take_object(T& list) {
    typename T::Element element;
    take(element);
    if (!bad) list.add(std::move(element));
  }
};

template <Record T>
void encode(std::string& out, const T& record) {
  FieldWriter writer(out);
  T::fields(record, writer);
}

std::string encoded(const Record auto& record) {
  std::string out;
  encode(out, record);
  return out;
}

template <Record T>
bool decode(std::string_view bytes, T& record) {
  Reader reader(bytes);
  while (!reader.done()) {
    uint64_t tag = reader.varint();
    FieldReader field{static_cast<int>(tag >> 2), static_cast<Wire>(tag & 3), 0, {}};
    switch (field.wire) {
      case Wire::Varint:
        field.number_value = reader.varint();
        break;
      case Wire::Id:
        field.bytes_value = reader.raw(16);
        break;
      case Wire::Bytes:
        field.bytes_value = reader.bytes();
        break;
    }
    if (reader.failed() || (tag & 3) == 3) return false;
    T::fields(record, field);
    if (field.bad) return false;
  }
  return true;
}

}  // namespace pawl::codec
