// RecordView: the members of a journal record, for those who read the journal. A member that is
// absent or of another kind reads as empty, so that a record of an unknown or legacy kind is never
// a fault of the reader.
//
// It points into the record's bytes, which must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/cbor.h"
#include "worlds/items.h"
#include "worlds/records.h"

namespace pawl::worlds {

class RecordView {
 public:
  explicit RecordView(std::string_view bytes);
  explicit RecordView(cbor::Item item) : item_(std::move(item)) {}

  bool is_map() const { return item_.is_map(); }
  bool has(std::string_view name) const { return item_.find(name) != nullptr; }
  bool is_null(std::string_view name) const;  // absent, or null
  std::string_view text(std::string_view name) const;
  std::string_view bytes(std::string_view name) const;
  // nullopt: absent, null, or of another kind.
  std::optional<std::string> maybe_bytes(std::string_view name) const;
  std::optional<std::string> maybe_text(std::string_view name) const;
  std::optional<int64_t> maybe_int(std::string_view name) const;
  uint64_t nat(std::string_view name) const;
  int64_t integer(std::string_view name) const { return maybe_int(name).value_or(0); }
  bool boolean(std::string_view name) const;
  RecordView member(std::string_view name) const;
  std::optional<Cause> cause() const;
  const cbor::Item& item() const { return item_; }

 private:
  cbor::Item item_;
};

inline RecordKind record_kind(const JournalRecord& record) { return RecordKind{record.kind}; }

}  // namespace pawl::worlds
