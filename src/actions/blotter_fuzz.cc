// A secret and a text, split at the first NUL: whatever the text is made of, the secret is not in
// what is left of it, as text and as a value.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "actions/blotter.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = all.find('\0');
  if (cut == std::string_view::npos || cut > 200) return 0;
  const std::string secret(all.substr(0, cut));
  const std::string_view text = all.substr(cut + 1);
  const actions::Blotter blotter({{"$", secret}});
  const std::string left = blotter.text(text);
  if (secret.size() < actions::Blotter::kSecretBytesMin || secret.find('*') != std::string::npos)
    return 0;
  PAWL_CHECK(left.find(secret) == std::string::npos);
  Result<Value> value = Value::parse(text);
  if (!value.ok()) return 0;
  blotter.value(*value);
  if (value->is_string()) PAWL_CHECK(value->as_string().find(secret) == std::string::npos);
  return 0;
}
