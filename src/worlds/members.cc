#include "worlds/members.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/quote.h"
#include "worlds/json_pointer.h"

namespace pawl::worlds {
namespace {

constexpr size_t kNameBytesMax = 255;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_name_mark(char c) { return c == '.' || c == '_' || c == '-'; }

// Takes the part of `name` up to `end` off it, if its first character and all others fit.
template <class First, class Rest>
bool take_part(std::string_view& name, char end, First&& first, Rest&& rest) {
  const size_t size = name.find(end);
  if (size == 0 || size == std::string_view::npos || !first(name.front())) return false;
  if (!std::all_of(name.begin() + 1, name.begin() + static_cast<ptrdiff_t>(size), rest))
    return false;
  name.remove_prefix(size + 1);
  return true;
}

bool take_namespace(std::string_view& name) {
  return take_part(name, '/', is_lower,
                   [](char c) { return is_lower(c) || is_digit(c) || is_name_mark(c); });
}

bool is_versioned(std::string_view name) {
  return take_part(name, '@', is_alpha,
                   [](char c) { return is_alphanumeric(c) || is_name_mark(c); }) &&
         !name.empty() && name.front() != '0' && std::all_of(name.begin(), name.end(), is_digit);
}

const std::vector<cbor::Item>& no_items() {
  static const std::vector<cbor::Item> kNone;
  return kNone;
}

}  // namespace

void complain(std::vector<Complaint>& faults, std::string path, std::string_view code,
              std::string message) {
  if (faults.size() < kFaultsMax)
    faults.push_back(Complaint{std::move(path), std::move(message), std::string(code)});
}

Members::Members(const cbor::Item& item, std::string path,
                 std::initializer_list<std::string_view> known, std::vector<Complaint>& faults)
    : item_(item.is_map() ? &item : nullptr), path_(std::move(path)), faults_(faults) {
  if (item_ == nullptr) {
    complain(faults_, path_, "type.invalid", "must be an object");
    return;
  }
  for (size_t i = 0; i < item.items.size(); i += 2) {
    const std::string_view name = item.items[i].string;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    complain(faults_, this->path(name), "field.unknown",
             "there is no member " + in_quotes(name) + " here");
  }
}

const cbor::Item* Members::find(std::string_view name) const {
  const cbor::Item* found = item_ == nullptr ? nullptr : item_->find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const cbor::Item* Members::need(std::string_view name) const {
  const cbor::Item* found = find(name);
  if (found == nullptr && item_ != nullptr)
    complain(faults_, path(name), "field.missing", "is required");
  return found;
}

std::string Members::path(std::string_view name) const { return below(path_, name); }

std::string Members::text(std::string_view name, std::string_view code) const {
  const cbor::Item* found = need(name);
  return found == nullptr ? std::string() : text_of(*found, path(name), code, faults_);
}

std::optional<std::string> Members::optional_text(std::string_view name,
                                                  std::string_view code) const {
  const cbor::Item* found = find(name);
  if (found == nullptr) return std::nullopt;
  std::string text = text_of(*found, path(name), code, faults_);
  if (text.empty()) return std::nullopt;
  return text;
}

const std::vector<cbor::Item>& Members::array(std::string_view name) const {
  const cbor::Item* found = find(name);
  if (found == nullptr) return no_items();
  if (found->is_array()) return found->items;
  complain(faults_, path(name), "type.invalid", "must be an array");
  return no_items();
}

const std::vector<cbor::Item>& Members::needed_array(std::string_view name) const {
  return need(name) == nullptr ? no_items() : array(name);
}

std::string text_of(const cbor::Item& item, std::string path, std::string_view code,
                    std::vector<Complaint>& faults) {
  if (item.is_text() && !item.string.empty()) return std::string(item.string);
  complain(faults, std::move(path), code, "must be a string that is not empty");
  return {};
}

bool is_def_name(std::string_view name) {
  return name.size() <= kNameBytesMax && take_namespace(name) && is_versioned(name);
}

bool is_secret_name(std::string_view name) {
  return is_def_name(name) || (name.size() <= kNameBytesMax && is_versioned(name));
}

bool is_slot_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || !(is_alpha(name.front()) || name.front() == '_'))
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || is_name_mark(c); });
}

bool is_dotted_name(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || !is_lower(name.front())) return false;
  if (name.back() == '.' || name.find("..") != std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || is_name_mark(c); });
}

bool is_reserved_name(std::string_view name) { return name.starts_with("sys/"); }

}  // namespace pawl::worlds
