#include "plan/cursor.h"

namespace pawl::plan {

std::optional<Cursor> Cursor::field(std::string_view name) const {
  if (!is_object()) return std::nullopt;
  const Value::Object& members = value_->as_object();
  for (size_t i = 0; i < members.size(); ++i) {
    if (members.at(i).key != name) continue;
    if (members.at(i).value.is_null()) return std::nullopt;
    return member(i);
  }
  return std::nullopt;
}

Cursor Cursor::element(size_t index) const {
  Cursor cursor(value_->as_array()[index],
                lines_ != nullptr && index < lines_->of.size() ? &lines_->of[index] : nullptr);
  cursor.parent_ = this;
  cursor.index_ = index;
  return cursor;
}

Cursor Cursor::member(size_t index) const {
  const Value::Member& member = value_->as_object().at(index);
  Cursor cursor(member.value,
                lines_ != nullptr && index < lines_->of.size() ? &lines_->of[index] : nullptr);
  cursor.parent_ = this;
  cursor.key_ = member.key;
  cursor.is_member_ = true;
  return cursor;
}

Cursor Cursor::absent(std::string_view name) const {
  static const Value nothing;
  Cursor cursor(nothing, nullptr);
  cursor.parent_ = this;
  cursor.key_ = name;
  cursor.is_member_ = true;
  return cursor;
}

std::vector<Cursor> Cursor::entries() const {
  std::vector<Cursor> found;
  if (!is_array()) {
    found.push_back(*this);
    return found;
  }
  found.reserve(value_->as_array().size());
  for (size_t i = 0; i < value_->as_array().size(); ++i) found.push_back(element(i));
  return found;
}

std::string Cursor::path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->path();
  if (!is_member_) return path + "[" + std::to_string(index_) + "]";
  if (!path.empty()) path += '.';
  return path.append(key_);
}

uint32_t Cursor::line() const {
  for (const Cursor* cursor = this; cursor != nullptr; cursor = cursor->parent_) {
    if (cursor->lines_ != nullptr && cursor->lines_->line != 0) return cursor->lines_->line;
  }
  return 0;
}

}  // namespace pawl::plan
