// Modules of tests, written as text.
#pragma once

#include <string>
#include <string_view>

namespace pawl::wasm::testing {

// The text format's bytes; ends the program if there is no runtime or the text is wrong.
std::string wat(std::string_view text);

}  // namespace pawl::wasm::testing
