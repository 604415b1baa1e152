// A secret and a text, split at the first NUL: the masked text never contains the secret, as text
// or as a value. For short inputs, the result must equal that of trying every spelling at every
// place.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "actions/blotter.h"
#include "actions/testing/blotter_reference.h"
#include "base/check.h"

constexpr size_t kTriedBytesMax = 1 << 16;  // of the secret times the text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t cut = all.find('\0');
  if (cut == std::string_view::npos || cut > 200) return 0;
  const std::string secret(all.substr(0, cut));
  const std::string_view text = all.substr(cut + 1);
  const std::vector<expr::Secret> secrets{{"$", secret}};
  const actions::Blotter blotter(secrets);
  const std::string left = blotter.text(text);
  if (secret.size() * text.size() < kTriedBytesMax) {
    const actions::BlotterReference reference(secrets);
    actions::Blotter::Effort effort;
    const std::string message = blotter.message(text, &effort);
    blotter.text(text, &effort);
    PAWL_CHECK(effort.gave_up || left == reference.without(text, false));
    PAWL_CHECK(effort.gave_up || message == reference.without(text, true));
  }
  if (secret.size() < actions::Spellings::kSecretBytesMin || secret.find('*') != std::string::npos)
    return 0;
  PAWL_CHECK(left.find(secret) == std::string::npos);
  Result<Value> value = Value::parse(text);
  if (!value.ok()) return 0;
  blotter.value(*value);
  if (value->is_string()) PAWL_CHECK(value->as_string().find(secret) == std::string::npos);
  return 0;
}
