// Documents of the state: lookup in memory and on disk, and eviction.
#include "kernel/cold.h"
#include "kernel/keys.h"
#include "kernel/mutable_state.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/scripts/text.h"
#include "kernel/settings/doc.h"
#include "kernel/state_memory.h"

namespace pawl {
namespace {

constexpr size_t kLargeDocBytes = 64u << 10;
constexpr size_t kHeadsMax = 20'000;
constexpr size_t kHeadDescriptionMax = 1024;  // larger ones are read again

}  // namespace

// All of a kind that is_kept_whole().
void MutableState::load_docs(DocKind kind) {
  std::string low = doc_key(kind, "");
  cold_.scan(Space::Doc, low, prefix_end(low), false, SIZE_MAX,
             [&](std::string_view key, std::string_view value) {
               auto doc = std::make_unique<Doc>();
               if (!codec::decode(value, *doc)) unreadable_row("document", key);
               doc->doc_kind = kind;
               doc->key = key.substr(1);
               if (kind == DocKind::RunGate) memory_->gate_looks.insert(doc->key);
               memory_->docs.emplace(key, std::move(doc));
               return true;
             });
}

Doc* State::resident_doc(DocKind kind, std::string_view key) const {
  std::string row_key = doc_key(kind, key);
  auto at = memory_->docs.find(row_key);
  if (at != memory_->docs.end()) return at->second.get();
  if (is_kept_whole(kind)) return nullptr;
  auto row = cold_.get(Space::Doc, row_key);
  if (!row) return nullptr;
  auto doc = std::make_unique<Doc>();
  if (!codec::decode(*row, *doc)) unreadable_row("document", row_key);
  doc->doc_kind = kind;
  doc->key = key;
  note_large(*doc);
  return memory_->docs.emplace(std::move(row_key), std::move(doc)).first->second.get();
}

// A large value that was read is not kept in memory for ever.
void State::note_large(const Doc& doc) const {
  if (doc.value.size() < kLargeDocBytes || is_kept_whole(doc.doc_kind)) return;
  memory_->large_docs.push_back(doc_key(doc.doc_kind, doc.key));
  memory_->large_doc_bytes += doc.value.size();
}

void MutableState::evict_large_docs() {
  if (memory_->large_doc_bytes <= config_.resident_doc_bytes_max) return;
  memory_->large_doc_bytes = 0;
  for (const std::string& key : std::exchange(memory_->large_docs, {})) {
    auto at = memory_->docs.find(key);
    if (at == memory_->docs.end()) continue;
    const Doc& doc = *at->second;
    if (doc.dirty_since == 0 && doc.in_flight == 0)
      memory_->docs.erase(at);  // else settle() notes it again
  }
}

const Doc* State::find_doc(DocKind kind, std::string_view key) const {
  const Doc* doc = resident_doc(kind, key);
  return doc != nullptr && !doc->deleted ? doc : nullptr;
}

const Doc* State::first_doc(DocKind kind, std::string_view from, std::string_view prefix) const {
  std::string low = doc_key(kind, std::max(from, prefix));
  std::string high = prefix_end(doc_key(kind, prefix));
  auto in_memory = memory_->docs.lower_bound(low);
  while (in_memory != memory_->docs.end() && in_memory->first < high && in_memory->second->deleted)
    ++in_memory;
  bool found = in_memory != memory_->docs.end() && in_memory->first < high;
  std::string key = found ? in_memory->second->key : "";
  cold_.scan_keys(Space::Doc, low, found ? in_memory->first : high, SIZE_MAX,
                  [&](std::string_view row_key) {
                    if (memory_->docs.count(row_key) != 0)
                      return true;  // the one in memory is
                                    // newer
                    found = true;
                    key = row_key.substr(1);
                    return false;
                  });
  return found ? find_doc(kind, key) : nullptr;
}

void State::each_doc(DocKind kind, std::string_view from, size_t scan_max,
                     FunctionRef<bool(const Doc&)> visit) const {
  each_doc_key(kind, from, scan_max, [&](std::string_view key) {
    const Doc* doc = find_doc(kind, key);
    return doc == nullptr || visit(*doc);
  });
}

void State::each_doc_key(DocKind kind, std::string_view from, size_t scan_max,
                         FunctionRef<bool(std::string_view)> visit) const {
  std::string low = doc_key(kind, from);
  std::string high = prefix_end(doc_key(kind, ""));
  std::set<std::string> keys;
  for (auto at = memory_->docs.lower_bound(low); at != memory_->docs.end() && at->first < high;
       ++at)
    if (!at->second->deleted) keys.insert(at->second->key);
  cold_.scan_keys(Space::Doc, low, high, scan_max, [&](std::string_view row_key) {
    auto at = memory_->docs.find(row_key);
    if (at == memory_->docs.end() || !at->second->deleted) keys.emplace(row_key.substr(1));
    return true;
  });
  for (const std::string& key : keys)
    if (!visit(key)) return;
}

void State::each_doc_under(
    DocKind kind, std::string_view prefix, std::string_view from, size_t limit,
    FunctionRef<bool(std::string_view key, std::string_view value)> visit) const {
  const std::string low = doc_key(kind, std::max(from, prefix));
  const std::string high = prefix_end(doc_key(kind, prefix));
  auto next = memory_->docs.lower_bound(low);
  bool going = true;
  auto offer = [&](std::string_view key, std::string_view value) {
    going = limit-- > 0 && visit(key.substr(1), value);
  };
  auto offer_those_in_memory = [&](std::string_view before) {
    for (; going && next != memory_->docs.end() && next->first < before; ++next)
      if (!next->second->deleted) offer(next->first, next->second->value);
  };
  cold_.scan(Space::Doc, low, high, false, SIZE_MAX,
             [&](std::string_view key, std::string_view row) {
               offer_those_in_memory(key);
               if (going && memory_->docs.count(key) == 0) {
                 Doc doc;
                 if (!codec::decode(row, doc)) unreadable_row("document", key);
                 offer(key, doc.value);
               }
               return going;
             });
  offer_those_in_memory(high);
}

std::optional<DefinitionHead> State::definition_head(std::string_view key,
                                                     size_t& bytes_read) const {
  auto known = memory_->definition_heads.find(key);
  if (known != memory_->definition_heads.end()) return known->second;
  const Doc* doc = find_doc(DocKind::Definition, key);
  StoredDefinition stored;
  if (doc == nullptr || !codec::decode(doc->value, stored)) return std::nullopt;
  bytes_read += doc->value.size();
  DefinitionHead head = head_of(stored);
  if (head.description.size() > kHeadDescriptionMax) return head;
  if (memory_->definition_heads.size() >= kHeadsMax) memory_->definition_heads.clear();
  return memory_->definition_heads.emplace(key, std::move(head)).first->second;
}

}  // namespace pawl
