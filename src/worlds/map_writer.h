// MapWriter: writes a CBOR map whose members are known: the caller names them in canonical order
// (shorter names first, then bytewise) and says how many there are, so that nothing has to be
// sorted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worlds/cbor.h"

namespace pawl::worlds {

using MaybeBytes = std::optional<std::string_view>;  // null if there are none

class MapWriter {
 public:
  MapWriter(std::string& out, size_t members) : out_(out) { cbor::put_map(out_, members); }

  // The member's value is to be appended to the string.
  std::string& key(std::string_view name) {
    cbor::put_text(out_, name);
    return out_;
  }
  MapWriter& text(std::string_view name, std::string_view value) {
    return cbor::put_text(key(name), value), *this;
  }
  MapWriter& text_or_null(std::string_view name, std::string_view value) {
    return value.empty() ? null(name) : text(name, value);
  }
  MapWriter& bytes(std::string_view name, std::string_view value) {
    return cbor::put_bytes(key(name), value), *this;
  }
  MapWriter& maybe_bytes(std::string_view name, MaybeBytes value) {
    return value ? bytes(name, *value) : null(name);
  }
  MapWriter& nat(std::string_view name, uint64_t value) {
    return cbor::put_nat(key(name), value), *this;
  }
  MapWriter& integer(std::string_view name, int64_t value) {
    return cbor::put_int(key(name), value), *this;
  }
  MapWriter& maybe_integer(std::string_view name, std::optional<int64_t> value) {
    return value ? integer(name, *value) : null(name);
  }
  MapWriter& maybe_nat(std::string_view name, std::optional<uint64_t> value) {
    return value ? nat(name, *value) : null(name);
  }
  MapWriter& boolean(std::string_view name, bool value) {
    return cbor::put_bool(key(name), value), *this;
  }
  MapWriter& null(std::string_view name) { return cbor::put_null(key(name)), *this; }
  MapWriter& raw(std::string_view name, std::string_view item) {
    return key(name).append(item), *this;
  }

 private:
  std::string& out_;
};

}  // namespace pawl::worlds
