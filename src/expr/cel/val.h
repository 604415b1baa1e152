// Val: a CEL value in 16 bytes. Cheap to copy: scalars live inside, everything else is shared and
// immutable.
//
// Storage. A composite is either owned (reference counted node), or borrowed: it points into a
// Program's constants or into a caller's pawl::Value without holding them. Borrowed values appear
// only while an expression is evaluated; Program::evaluate() hands out owned ones (own()). So
// reading `steps.a.status` out of a caller's JSON allocates nothing.
//
// An Error is a value too: it travels through operators until && or || absorb it.
//
// Thread: a Val may be copied and read from any thread; a node never changes after it was built.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "expr/budget.h"

namespace pawl::expr {

enum class Kind : uint8_t {
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  List,
  Map,
  Type,
  Timestamp,
  Duration,
  Optional,
  Ip,
  Cidr,
  Error,
  Absent,  // no value: an unset slot, a key that is not there. Never seen by a caller.
};

// "int", "google.protobuf.Timestamp", "net.IP"; what type(x) prints.
std::string_view type_name(Kind kind);

class Val;

struct Node {
  virtual ~Node() = default;
  mutable std::atomic<uint32_t> refs{1};
};

struct StringNode : Node {
  explicit StringNode(std::string content) : text(std::move(content)) {}
  std::string text;
};

// IPv4 addresses stand in the first four bytes.
struct IpAddress {
  std::array<uint8_t, 16> bytes{};
  bool v4 = false;
  bool operator==(const IpAddress&) const = default;
};

struct CidrNode : Node {
  IpAddress address;
  uint8_t prefix = 0;
};

struct ErrorNode : Node {
  std::string message;
  uint32_t offset = 0;  // into the source, valid if placed
  bool placed = false;
};

struct ListNode;
struct MapNode;
struct OptionalNode;

class Val {
 public:
  Val() : kind_(Kind::Absent) {}
  Val(const Val& other)
      : kind_(other.kind_), store_(other.store_), nanos_(other.nanos_), raw_(other.raw_) {
    if (store_ == Store::Owned) raw_.node->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Val(Val&& other) noexcept
      : kind_(other.kind_), store_(other.store_), nanos_(other.nanos_), raw_(other.raw_) {
    other.kind_ = Kind::Absent;
    other.store_ = Store::Inline;
  }
  Val& operator=(Val other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(store_, other.store_);
    std::swap(nanos_, other.nanos_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Val() {
    if (store_ == Store::Owned) release();
  }

  static Val null() { return Val(Kind::Null); }
  static Val boolean(bool value) {
    Val val(Kind::Bool);
    val.raw_.i = value;
    return val;
  }
  static Val integer(int64_t value) {
    Val val(Kind::Int);
    val.raw_.i = value;
    return val;
  }
  static Val uint(uint64_t value) {
    Val val(Kind::Uint);
    val.raw_.u = value;
    return val;
  }
  static Val real(double value) {
    Val val(Kind::Double);
    val.raw_.d = value;
    return val;
  }
  static Val string(std::string text) {
    return own_node(Kind::String, new StringNode(std::move(text)));
  }
  static Val string(std::string_view text) { return string(std::string(text)); }
  static Val string(const char* text) { return string(std::string(text)); }
  static Val bytes(std::string octets) {
    return own_node(Kind::Bytes, new StringNode(std::move(octets)));
  }
  static Val list(std::vector<Val> elements);
  static Val map(MapNode* entries);  // takes the node over
  static Val type(Kind of) {
    Val val(Kind::Type);
    val.raw_.i = static_cast<int64_t>(of);
    return val;
  }
  // Seconds since 1970, and 0..999'999'999 nanoseconds on top. The range is the caller's concern.
  static Val timestamp(int64_t seconds, uint32_t nanos) {
    Val val(Kind::Timestamp);
    val.raw_.i = seconds;
    val.nanos_ = nanos;
    return val;
  }
  static Val duration(int64_t nanoseconds) {
    Val val(Kind::Duration);
    val.raw_.i = nanoseconds;
    return val;
  }
  static Val none() { return Val(Kind::Optional); }
  static Val some(Val value);
  static Val ip(const IpAddress& address);
  static Val cidr(const IpAddress& address, uint8_t prefix);
  static Val error(std::string message);
  static Val error_at(std::string message, uint32_t offset);
  // Borrows: the value must outlive every Val made from it.
  static Val json(const Value& value);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::Error; }
  bool is_absent() const { return kind_ == Kind::Absent; }
  bool is_true() const { return kind_ == Kind::Bool && raw_.i != 0; }
  bool is_false() const { return kind_ == Kind::Bool && raw_.i == 0; }
  bool is_number() const {
    return kind_ == Kind::Int || kind_ == Kind::Uint || kind_ == Kind::Double;
  }

  // The accessors rely on the caller to have checked kind().
  bool as_bool() const { return raw_.i != 0; }
  int64_t as_int() const { return raw_.i; }
  uint64_t as_uint() const { return raw_.u; }
  double as_double() const { return raw_.d; }
  Kind as_type() const { return static_cast<Kind>(raw_.i); }
  int64_t seconds() const { return raw_.i; }
  uint32_t nanos() const { return nanos_; }
  int64_t duration_ns() const { return raw_.i; }
  std::string_view as_string() const {  // of strings and bytes
    return store_ == Store::Json ? std::string_view(raw_.json->as_string()) : string_node().text;
  }
  bool has_value() const { return store_ != Store::Inline; }  // of an optional
  const Val& optional_value() const;
  IpAddress as_ip() const;
  const CidrNode& as_cidr() const { return *static_cast<const CidrNode*>(raw_.node); }
  const ErrorNode& as_error() const { return *static_cast<const ErrorNode*>(raw_.node); }

  size_t list_size() const;
  Val list_at(size_t index) const;
  size_t map_size() const;
  // The key is compared as CEL does: 1, 1u and 1.0 are one key. Absent if there is none.
  Val map_find(const Val& key) const;
  Val map_find(std::string_view key) const;
  std::pair<Val, Val> map_at(size_t index) const;  // in insertion order

  // The same value without a reference count; `owner` must outlive it.
  static Val borrow(const Val& owner);
  // The same value, owning its data. Pays for the copy; the result is meaningless once the budget
  // is spent (a value may contain one part a million times, so copying needs its own bound).
  Val own(Budget& budget) const;

 private:
  enum class Store : uint8_t { Inline, Owned, Borrowed, Json };
  union Raw {
    int64_t i;
    uint64_t u;
    double d;
    const Node* node;
    const Value* json;
  };

  explicit Val(Kind kind) : kind_(kind) {}
  static Val own_node(Kind kind, const Node* node) {
    Val val(kind);
    val.store_ = Store::Owned;
    val.raw_.node = node;
    return val;
  }
  void release();
  bool holds_borrowed(Budget& budget) const;
  const StringNode& string_node() const { return *static_cast<const StringNode*>(raw_.node); }

  Kind kind_;
  Store store_ = Store::Inline;
  uint32_t nanos_ = 0;
  Raw raw_{.i = 0};
};

struct ListNode : Node {
  std::vector<Val> elements;
};

struct OptionalNode : Node {
  Val value;
};

struct IpNode : Node {
  IpAddress address;
};

// Entries in insertion order, found by hash once there are more than a few.
struct MapNode : Node {
  struct Entry {
    Val key;
    Val value;
  };

  const Entry* find(const Val& key) const;
  const Entry* find(std::string_view key) const;
  // False if the key is there already; the map is then unchanged.
  bool insert(Val key, Val value);

  std::vector<Entry> entries;

 private:
  void reindex();
  std::vector<uint32_t> slots_;
};

inline const Val& Val::optional_value() const {
  return static_cast<const OptionalNode*>(raw_.node)->value;
}
inline IpAddress Val::as_ip() const { return static_cast<const IpNode*>(raw_.node)->address; }

// int, uint, bool and string may be map keys.
inline bool is_key_kind(Kind kind) {
  return kind == Kind::Int || kind == Kind::Uint || kind == Kind::Bool || kind == Kind::String;
}

}  // namespace pawl::expr
