#include "expr/cel/val.h"

#include <functional>

#include "base/named.h"
#include "expr/cel/compare.h"

namespace pawl::expr {
namespace {

constexpr Named<Kind> kTypeNames[] = {{"null_type", Kind::Null},
                                      {"bool", Kind::Bool},
                                      {"int", Kind::Int},
                                      {"uint", Kind::Uint},
                                      {"double", Kind::Double},
                                      {"string", Kind::String},
                                      {"bytes", Kind::Bytes},
                                      {"list", Kind::List},
                                      {"map", Kind::Map},
                                      {"type", Kind::Type},
                                      {"google.protobuf.Timestamp", Kind::Timestamp},
                                      {"google.protobuf.Duration", Kind::Duration},
                                      {"optional_type", Kind::Optional},
                                      {"net.IP", Kind::Ip},
                                      {"net.CIDR", Kind::Cidr},
                                      {"error", Kind::Error},
                                      {"absent", Kind::Absent}};

constexpr size_t kMapLinearMax = 8;  // up to here a scan beats hashing

}  // namespace

std::string_view type_name(Kind kind) { return name_of(kTypeNames, kind); }

void Val::release() {
  if (raw_.node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete raw_.node;
}

Val Val::list(std::vector<Val> elements) {
  auto* node = new ListNode;
  node->elements = std::move(elements);
  return own_node(Kind::List, node);
}

Val Val::map(MapNode* entries) { return own_node(Kind::Map, entries); }

Val Val::some(Val value) {
  auto* node = new OptionalNode;
  node->value = std::move(value);
  return own_node(Kind::Optional, node);
}

Val Val::ip(const IpAddress& address) {
  auto* node = new IpNode;
  node->address = address;
  return own_node(Kind::Ip, node);
}

Val Val::cidr(const IpAddress& address, uint8_t prefix) {
  auto* node = new CidrNode;
  node->address = address;
  node->prefix = prefix;
  return own_node(Kind::Cidr, node);
}

Val Val::error(std::string message) {
  auto* node = new ErrorNode;
  node->message = std::move(message);
  return own_node(Kind::Error, node);
}

Val Val::error_at(std::string message, uint32_t offset) {
  auto* node = new ErrorNode;
  node->message = std::move(message);
  node->offset = offset;
  node->placed = true;
  return own_node(Kind::Error, node);
}

Val Val::json(const Value& value) {
  const auto borrowed = [&](Kind kind) {
    Val val(kind);
    val.store_ = Store::Json;
    val.raw_.json = &value;
    return val;
  };
  switch (value.kind()) {
    case Value::Kind::Null:
      return null();
    case Value::Kind::Bool:
      return boolean(value.as_bool());
    case Value::Kind::Int:
      return integer(value.as_int());
    case Value::Kind::Double:
      return real(value.as_double());
    case Value::Kind::String:
      return borrowed(Kind::String);
    case Value::Kind::Array:
      return borrowed(Kind::List);
    case Value::Kind::Object:
      return borrowed(Kind::Map);
  }
  return null();
}

size_t Val::list_size() const {
  return store_ == Store::Json ? raw_.json->as_array().size()
                               : static_cast<const ListNode*>(raw_.node)->elements.size();
}

Val Val::list_at(size_t index) const {
  if (store_ == Store::Json) return json(raw_.json->as_array()[index]);
  return static_cast<const ListNode*>(raw_.node)->elements[index];
}

size_t Val::map_size() const {
  return store_ == Store::Json ? raw_.json->as_object().size()
                               : static_cast<const MapNode*>(raw_.node)->entries.size();
}

Val Val::map_find(std::string_view key) const {
  if (store_ == Store::Json) {
    const Value* value = raw_.json->as_object().find(key);
    return value == nullptr ? Val() : json(*value);
  }
  const MapNode::Entry* entry = static_cast<const MapNode*>(raw_.node)->find(key);
  return entry == nullptr ? Val() : entry->value;
}

Val Val::map_find(const Val& key) const {
  if (key.is(Kind::String)) return map_find(key.as_string());
  if (store_ == Store::Json) return Val();
  const MapNode::Entry* entry = static_cast<const MapNode*>(raw_.node)->find(key);
  return entry == nullptr ? Val() : entry->value;
}

std::pair<Val, Val> Val::map_at(size_t index) const {
  if (store_ == Store::Json) {
    const Value::Member& member = raw_.json->as_object().at(index);
    return {string(member.key), json(member.value)};
  }
  const MapNode::Entry& entry = static_cast<const MapNode*>(raw_.node)->entries[index];
  return {entry.key, entry.value};
}

Val Val::borrow(const Val& owner) {
  Val val(owner.kind_);
  val.store_ = owner.store_ == Store::Owned ? Store::Borrowed : owner.store_;
  val.nanos_ = owner.nanos_;
  val.raw_ = owner.raw_;
  return val;
}

bool Val::holds_borrowed(Budget& budget) const {
  if (store_ == Store::Inline) return false;
  if (store_ != Store::Owned || !budget.spend_steps(1)) return true;
  if (kind_ == Kind::List) {
    if (!budget.spend_steps(price::copying(list_size()))) return true;
    for (const Val& element : static_cast<const ListNode*>(raw_.node)->elements) {
      if (element.holds_borrowed(budget)) return true;
    }
  } else if (kind_ == Kind::Map) {
    if (!budget.spend_steps(price::copying(map_size()))) return true;
    for (const MapNode::Entry& entry : static_cast<const MapNode*>(raw_.node)->entries) {
      if (entry.key.holds_borrowed(budget) || entry.value.holds_borrowed(budget)) return true;
    }
  } else if (kind_ == Kind::Optional) {
    return optional_value().holds_borrowed(budget);
  }
  return false;
}

Val Val::own(Budget& budget) const {
  if (!holds_borrowed(budget)) return *this;
  if (!budget.spend_steps(1)) return null();
  if (kind_ == Kind::String || kind_ == Kind::Bytes) {
    if (!budget.spend_bytes(as_string().size() + 48) ||
        !budget.spend_steps(price::reading(as_string().size())))
      return null();
    return own_node(kind_, new StringNode(std::string(as_string())));
  }
  if (kind_ == Kind::List) {
    const size_t size = list_size();
    if (!budget.spend_bytes(size * sizeof(Val) + 48) || !budget.spend_steps(size / 2))
      return null();
    std::vector<Val> elements;
    elements.reserve(size);
    for (size_t i = 0; i < size && budget.exceeded() == Budget::Exceeded::None; ++i) {
      elements.push_back(list_at(i).own(budget));
    }
    return list(std::move(elements));
  }
  if (kind_ == Kind::Map) {
    const size_t size = map_size();
    if (!budget.spend_bytes(size * 3 * sizeof(Val) + 64) || !budget.spend_steps(2 * size))
      return null();
    auto* node = new MapNode;
    for (size_t i = 0; i < size && budget.exceeded() == Budget::Exceeded::None; ++i) {
      auto [key, value] = map_at(i);
      node->insert(key.own(budget), value.own(budget));
    }
    return map(node);
  }
  if (kind_ == Kind::Optional) return some(optional_value().own(budget));
  // The other nodes hold nothing borrowed: a counted reference to the same node is enough.
  Val val = borrow(*this);
  val.store_ = Store::Owned;
  val.raw_.node->refs.fetch_add(1, std::memory_order_relaxed);
  return val;
}

const MapNode::Entry* MapNode::find(const Val& key) const {
  if (slots_.empty()) {
    for (const Entry& entry : entries) {
      if (equal_scalars(entry.key, key)) return &entry;
    }
    return nullptr;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash_key(key) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const Entry& entry = entries[slots_[at] - 1];
    if (equal_scalars(entry.key, key)) return &entry;
  }
  return nullptr;
}

const MapNode::Entry* MapNode::find(std::string_view key) const {
  const auto matches = [&](const Entry& entry) {
    return entry.key.is(Kind::String) && entry.key.as_string() == key;
  };
  if (slots_.empty()) {
    for (const Entry& entry : entries) {
      if (matches(entry)) return &entry;
    }
    return nullptr;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash_text(key) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const Entry& entry = entries[slots_[at] - 1];
    if (matches(entry)) return &entry;
  }
  return nullptr;
}

bool MapNode::insert(Val key, Val value) {
  if (find(key) != nullptr) return false;
  entries.push_back(Entry{std::move(key), std::move(value)});
  if (entries.size() <= kMapLinearMax) return true;
  if (slots_.size() < entries.size() * 2) {
    reindex();
    return true;
  }
  const size_t mask = slots_.size() - 1;
  size_t at = hash_key(entries.back().key) & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = static_cast<uint32_t>(entries.size());
  return true;
}

void MapNode::reindex() {
  size_t slots = 32;
  while (slots < entries.size() * 4) slots *= 2;
  slots_.assign(slots, 0);
  for (size_t i = 0; i < entries.size(); ++i) {
    size_t at = hash_key(entries[i].key) & (slots - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots - 1);
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace pawl::expr
