#include "worlds/value_rules.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "worlds/cbor_head.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

constexpr size_t kPlaceNameMax = 64;
constexpr size_t kDec128DigitsMax = 34;

// A key of a map may be long.
std::string_view cut_name(std::string_view name) {
  if (name.size() <= kPlaceNameMax) return name;
  size_t size = 0;
  while (size < kPlaceNameMax) {
    const size_t length = utf8::sequence_length(name.substr(size));
    if (length == 0 || size + length > kPlaceNameMax) break;
    size += length;
  }
  return name.substr(0, size);
}

}  // namespace

std::string place_of(const Spot* spot) {
  std::vector<const Spot*> spots;
  for (; spot != nullptr; spot = spot->up) spots.push_back(spot);
  if (spots.empty()) return "value";
  std::string out;
  for (auto at = spots.rbegin(); at != spots.rend(); ++at) {
    if (!out.empty()) out += '.';
    if ((*at)->name.data() == nullptr) {
      out += std::to_string((*at)->index);
    } else {
      out += cut_name((*at)->name);
    }
  }
  return out;
}

bool is_dec128(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0')) return false;
  if (point < text.size() && fraction.empty()) return false;
  if (whole.size() + fraction.size() > kDec128DigitsMax) return false;
  if (!std::all_of(whole.begin(), whole.end(), is_digit)) return false;
  if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return false;
  return !negative || text.find_first_of("123456789") != std::string_view::npos;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_digit(text[i]) < 0) return false;
  }
  return true;
}

bool is_folded_uuid(std::string_view text) {
  return is_uuid(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
}

std::optional<Integer> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  if (negative && text == "18446744073709551616") return Integer{true, UINT64_MAX};
  uint64_t number = 0;
  for (const char c : text)
    if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<uint64_t>(c - '0'), &number))
      return std::nullopt;
  if (!negative || number == 0) return Integer{false, number};
  return Integer{true, number - 1};
}

bool fits(TypeKind kind, const Integer& integer) {
  if (kind == TypeKind::Nat) return !integer.negative;
  if (kind == TypeKind::Time && integer.negative) return false;
  return integer.number <= static_cast<uint64_t>(INT64_MAX);
}

std::string_view expectation(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return "expected true or false";
    case TypeKind::Int:
      return "expected an integer from -2^63 to 2^63-1";
    case TypeKind::Nat:
      return "expected an integer from 0 to 2^64-1";
    case TypeKind::Dec128:
      return "expected text with a decimal number of at most 34 digits, such as \"-12.50\"";
    case TypeKind::Bytes:
      return "expected bytes (in JSON: text in base64 with padding)";
    case TypeKind::Text:
      return "expected text";
    case TypeKind::Time:
      return "expected a time: nanoseconds since 1970, an integer from 0 to 2^63-1";
    case TypeKind::Duration:
      return "expected a duration: nanoseconds, an integer from -2^63 to 2^63-1";
    case TypeKind::Hash:
      return "expected a hash: \"sha256:\" and 64 hex digits in lower case";
    case TypeKind::Uuid:
      return "expected a UUID, such as \"01890a5d-ac96-774b-bcce-b302099a8057\"";
    case TypeKind::Unit:
      return "expected null";
    case TypeKind::Record:
      return "expected an object with the fields of a record";
    case TypeKind::Variant:
      return "expected a variant: {\"$tag\": …, \"$value\": …} or {tag: …}";
    case TypeKind::List:
      return "expected a list";
    case TypeKind::Set:
      return "expected a set, as a list";
    case TypeKind::Map:
      return "expected a map: an object, or a list of [key, value]";
    case TypeKind::Option:
      return "expected a value or null";
    case TypeKind::Ref:
      return "the schema of this place is unknown";
  }
  return "";
}

bool ValueSink::fail(const Spot* spot, std::string_view what) {
  if (fault_.empty()) fault_ = place_of(spot).append(": ").append(what);
  return false;
}

bool ValueSink::put_text_of(TypeKind kind, std::string_view text) {
  if (kind == TypeKind::Dec128 && !is_dec128(text)) return false;
  if (kind == TypeKind::Hash && !is_hash(text)) return false;
  if (kind == TypeKind::Uuid && !is_uuid(text)) return false;
  cbor::put_text(out_, text);
  if (kind == TypeKind::Uuid)
    for (size_t i = out_.size() - text.size(); i < out_.size(); ++i)
      if (out_[i] >= 'A' && out_[i] <= 'F') out_[i] = static_cast<char>(out_[i] - 'A' + 'a');
  return true;
}

void ValueSink::put_integer(const Integer& integer) {
  cbor::put_head(out_, integer.negative ? cbor::kMajorNegative : cbor::kMajorNat, integer.number);
}

void ValueSink::end_set(size_t begin, size_t first_part) {
  const size_t count = cbor::put_in_order(out_, std::span(parts_).subspan(first_part));
  parts_.resize(first_part);
  std::string head;
  cbor::put_array(head, count);
  out_.insert(begin, head);
}

bool ValueSink::end_map(size_t first_part) {
  const size_t given = parts_.size() - first_part;
  const size_t count = cbor::put_in_order(out_, std::span(parts_).subspan(first_part));
  parts_.resize(first_part);
  return count == given;
}

bool ValueSink::enter(const Spot* spot, size_t depth) {
  if (depth >= cbor::kDepthMax) return fail(spot, "nested deeper than 64");
  return out_.size() <= kValueBytesMax || fail(spot, "the value is too large");
}

}  // namespace pawl::worlds
