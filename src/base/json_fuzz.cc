#include "base/json.h"

// Every value that parses must parse again from its own raw text, with the same kind.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto doc = pawl::json::parse(text);
  if (!doc.ok()) return 0;
  std::string raw(doc->root().raw());
  auto again = pawl::json::parse(raw);
  if (!again.ok() || again->root().kind() != doc->root().kind()) __builtin_trap();
  doc->root().each_member([](pawl::json::View key, pawl::json::View value) {
    (void)key.string();
    (void)value.as_int();
    (void)value.as_double();
  });
  return 0;
}
