// Any bytes as a schema and an instance, split at the first NUL or used as both: compile, check and
// fill_defaults must end within their bounds, without a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "expr/schema/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::expr;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = all.find('\0');
  const auto schema = Value::parse(all.substr(0, cut));
  if (!schema.ok()) return 0;
  const auto compiled = JsonSchema::compile(*schema);
  if (!compiled.ok()) return 0;
  Result<Value> instance =
      cut == std::string_view::npos ? Result<Value>(*schema) : Value::parse(all.substr(cut + 1));
  if (!instance.ok()) instance = *schema;
  (void)(*compiled)->check(*instance);
  (*compiled)->fill_defaults(*instance);
  (void)(*compiled)->check(*instance, 1);
  return 0;
}
