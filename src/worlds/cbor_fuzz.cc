// Any bytes as CBOR: what is read and written again is a fixed point, and the three ways to ask
// what is canonical agree.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "worlds/cbor.h"
#include "worlds/type.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::worlds;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto item = cbor::read(bytes);
  const auto canonical = cbor::canonical(bytes);
  PAWL_CHECK(item.ok() == canonical.ok());
  if (!item.ok()) {
    PAWL_CHECK(!cbor::is_canonical(bytes));
    return 0;
  }
  std::string written;
  cbor::append(written, *item);
  PAWL_CHECK(written == *canonical);
  PAWL_CHECK(cbor::is_canonical(written));
  PAWL_CHECK(cbor::is_canonical(bytes) == (bytes == written));
  const auto again = cbor::read(written);
  PAWL_CHECK(again.ok());
  std::string twice;
  cbor::append(twice, *again);
  PAWL_CHECK(twice == written);
  std::string json, json_again;
  cbor::append_json(json, *item);
  const auto doc = json::parse(json, {.depth_max = 256});
  PAWL_CHECK(doc.ok());
  // Bytes become text there; with text and integers alone, JSON would give the same back.
  if (const auto plain = from_plain_json(doc->root()); plain.ok())
    PAWL_CHECK(cbor::is_canonical(*plain));
  return 0;
}
