// Canonical CBOR, as worlds keep values, as text for people: the JSON that one would type for it.
// Variants are {"Tag":value}, byte strings h'00ff'. What is not such CBOR is shown as its bytes.
#pragma once

#include <string>
#include <string_view>

namespace pawl::cli {

// At most about chars_max characters, with "…" in place of what does not fit.
std::string cbor_text(std::string_view bytes, size_t chars_max = 200);

// The same for one text, number or hash, as keys of instances are: text is shown without quotes.
std::string cbor_key_text(std::string_view bytes);

}  // namespace pawl::cli
