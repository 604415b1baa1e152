// Cursor: a place in a definition during reading, with its path and line.
//
// Points into the source and to its parent cursor, and must not outlive either.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "plan/source.h"

namespace pawl::plan {

class Cursor {
 public:
  Cursor(const Value& value, const Lines* lines) : value_(&value), lines_(lines) {}

  const Value& value() const { return *value_; }
  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }
  bool is_string() const { return value_->is_string(); }

  // Nothing if this is no object, has no such member, or the member is null: null means not given.
  std::optional<Cursor> field(std::string_view name) const;
  Cursor element(size_t index) const;
  Cursor member(size_t index) const;
  // The place of a missing member; the name must outlive the cursor.
  Cursor absent(std::string_view name) const;
  // The elements of an array; anything else is a list of itself.
  std::vector<Cursor> entries() const;

  std::string path() const;
  uint32_t line() const;

 private:
  const Value* value_;
  const Lines* lines_;
  const Cursor* parent_ = nullptr;
  std::string_view key_;  // of a member
  size_t index_ = 0;      // of an element
  bool is_member_ = false;
};

}  // namespace pawl::plan
