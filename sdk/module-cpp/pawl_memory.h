// Memory of modules: what is handed out and never freed, bytes, text and arrays. Part of pawl_module.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {
extern unsigned char __heap_base;  // of wasm-ld
// clang calls these where it sees a loop or a copy.
__attribute__((weak, no_builtin)) void* memcpy(void* to, const void* from, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  auto* f = static_cast<const unsigned char*>(from);
  for (; size >= 8; size -= 8, t += 8, f += 8)
    *reinterpret_cast<uint64_t __attribute__((aligned(1), may_alias))*>(t) =
        *reinterpret_cast<const uint64_t __attribute__((aligned(1), may_alias))*>(f);
  while (size-- > 0) *t++ = *f++;
  return to;
}
__attribute__((weak, no_builtin)) void* memmove(void* to, const void* from, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  auto* f = static_cast<const unsigned char*>(from);
  if (t <= f) return memcpy(to, from, size);
  while (size-- > 0) t[size] = f[size];
  return to;
}
__attribute__((weak, no_builtin)) void* memset(void* to, int byte, size_t size) {
  auto* t = static_cast<unsigned char*>(to);
  while (size-- > 0) *t++ = static_cast<unsigned char>(byte);
  return to;
}
__attribute__((weak, no_builtin)) int memcmp(const void* a, const void* b, size_t size) {
  auto* x = static_cast<const unsigned char*>(a);
  auto* y = static_cast<const unsigned char*>(b);
  for (; size > 0; --size, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}
__attribute__((weak, no_builtin)) size_t strlen(const char* text) {
  size_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}
}

namespace pawl {

// --- memory

[[noreturn]] inline void trap() { __builtin_trap(); }

// Never freed; traps where the manifest's memory_pages end.
inline unsigned char* allocate(size_t size) {
  static size_t next = 0;
  constexpr size_t kPage = 65536;
  if (next == 0) next = reinterpret_cast<size_t>(&__heap_base);
  const size_t start = (next + 7) & ~size_t{7};
  const size_t end = start + size;
  if (end < start) trap();
  const size_t have = __builtin_wasm_memory_size(0) * kPage;
  if (end > have) {
    // A step often needs only a little more, and again: doubling keeps the calls few.
    const size_t need = (end - have + kPage - 1) / kPage;
    if (__builtin_wasm_memory_grow(0, need > 16 ? need : 16) == SIZE_MAX &&
        __builtin_wasm_memory_grow(0, need) == SIZE_MAX)
      trap();
  }
  next = end;
  return reinterpret_cast<unsigned char*>(start);
}

// A view of bytes, or of UTF-8 text. Whether it is written as text or as bytes is said by the type.
struct Bytes {
  const unsigned char* data = nullptr;
  size_t size = 0;

  bool empty() const { return size == 0; }
  bool operator==(const Bytes& other) const {
    return size == other.size && memcmp(data, other.data, size) == 0;
  }
};

struct Text : Bytes {
  constexpr Text() = default;
  constexpr Text(const unsigned char* at, size_t length) : Bytes{at, length} {}
  Text(const char* literal)  // NOLINT: texts are written as literals
      : Bytes{reinterpret_cast<const unsigned char*>(literal), __builtin_strlen(literal)} {}
};
inline bool operator==(const Text& a, const Text& b) {
  return static_cast<const Bytes&>(a) == static_cast<const Bytes&>(b);
}

// A growing run of bytes.
class Buffer {
 public:
  void byte(unsigned value) {
    reserve(1);
    data_[size_++] = static_cast<unsigned char>(value);
  }
  void append(const Bytes& more) {
    reserve(more.size);
    memcpy(data_ + size_, more.data, more.size);
    size_ += more.size;
  }
  // The head of a CBOR item: its major type and its number, in the shortest form.
  void head(unsigned major, uint64_t number) {
    const unsigned type = major << 5;
    if (number < 24) return byte(type | static_cast<unsigned>(number));
    const int width = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffff ? 2 : 3;
    byte(type | static_cast<unsigned>(24 + width));
    for (int shift = (8 << width) - 8; shift >= 0; shift -= 8)
      byte(static_cast<unsigned>(number >> shift) & 0xff);
  }
  Bytes view() const { return {data_, size_}; }

 private:
  void reserve(size_t more) {
    if (size_ + more <= capacity_) return;
    size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    while (capacity < size_ + more) capacity *= 2;
    unsigned char* grown = allocate(capacity);
    memcpy(grown, data_, size_);
    data_ = grown;
    capacity_ = capacity;
  }

  unsigned char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// An array that grows. Its elements are copied as bytes, and never destroyed.
template <class T>
class Array {
 public:
  void add(const T& value) {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 8 : capacity_ * 2;
      T* grown = reinterpret_cast<T*>(allocate(capacity_ * sizeof(T)));
      memcpy(static_cast<void*>(grown), static_cast<const void*>(items_), size_ * sizeof(T));
      items_ = grown;
    }
    memcpy(static_cast<void*>(items_ + size_++), static_cast<const void*>(&value), sizeof(T));
  }
  size_t size() const { return size_; }
  T& operator[](size_t at) { return at < size_ ? items_[at] : (trap(), items_[0]); }
  const T& operator[](size_t at) const { return at < size_ ? items_[at] : (trap(), items_[0]); }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

 private:
  T* items_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace pawl
