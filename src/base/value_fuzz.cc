// Any JSON as a Value: what it prints reads back as the same value, the nodes that are written with
// it are those that are read, and its canonical form is a fixed point.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/json_canonical.h"
#include "base/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Value> value = Value::parse(text);
  if (!value.ok()) return 0;
  const std::string printed = value->json();
  const Result<Value> again = Value::parse(printed);
  PAWL_CHECK(again.ok());
  PAWL_CHECK(again->json() == printed);
  const auto doc = json::parse(printed);
  PAWL_CHECK(doc.ok());
  const ValueDoc written(*value);
  PAWL_CHECK(written.status().ok() && written.text() == printed);
  PAWL_CHECK(json::canonical(written.root()) == json::canonical(doc->root()));
  const std::string canonical = json::canonical(doc->root());
  const auto canonical_doc = json::parse(canonical);
  PAWL_CHECK(canonical_doc.ok());
  PAWL_CHECK(json::canonical(canonical_doc->root()) == canonical);
  return 0;
}
