// A type that the first bytes choose; the rest is a value of it, as CBOR, as JSON in both lenses,
// and as choices of a value and its spellings. What is accepted is canonical, reads as itself, and
// comes back from its JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "worlds/testing/random_value.h"
#include "worlds/testing/values.h"

namespace {

using namespace pawl;
using namespace pawl::worlds;

void check_value(const Type& type, const std::string& bytes) {
  PAWL_CHECK(cbor::is_canonical(bytes));
  const auto again = from_cbor(type, bytes);
  PAWL_CHECK(again.ok() && *again == bytes);
  const auto item = cbor::read(bytes);
  const auto written = from_cbor(type, *item);
  PAWL_CHECK(written.ok() && *written == bytes);
  std::string json;
  append_json(json, type, bytes);
  const auto doc = json::parse(json, {.depth_max = 256});
  PAWL_CHECK(doc.ok());
  const auto read = from_json(type, doc->root());
  PAWL_CHECK(read.ok() && *read == bytes);
}

void check_spelling(const Type& type, const Result<std::string>& read, const std::string& bytes) {
  PAWL_CHECK(read.ok() && *read == bytes);
  check_value(type, *read);
}

void check_spellings(Choices& choices, const Type& type, const std::string& bytes) {
  const auto item = cbor::read(bytes);
  check_spelling(type, from_cbor(type, respell_cbor(choices, type, *item)), bytes);
  for (const Lens lens : {Lens::Sugar, Lens::Tagged}) {
    const std::string json = respell_json(choices, type, *item, lens);
    const auto doc = json::parse(json);
    PAWL_CHECK(doc.ok());
    check_spelling(type, from_json(type, doc->root(), lens), bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices(std::string_view(reinterpret_cast<const char*>(data), size));
  const Type type = type_of(random_type(choices, 4));
  const std::string_view rest = choices.rest();
  if (const auto value = from_cbor(type, rest); value.ok()) check_value(type, *value);
  if (const auto doc = json::parse(rest); doc.ok())
    for (const Lens lens : {Lens::Sugar, Lens::Tagged})
      if (const auto value = from_json(type, doc->root(), lens); value.ok())
        check_value(type, *value);
  const std::string drawn = random_json(choices, type);
  const auto doc = json::parse(drawn);
  PAWL_CHECK(doc.ok());
  const auto value = from_json(type, doc->root());
  PAWL_CHECK(value.ok());
  check_spellings(choices, type, *value);
  return 0;
}
