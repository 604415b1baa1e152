// base64.encode and base64.decode, standard alphabet; padding may be missing when decoding.
#include <array>

#include "expr/cel/functions.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kReverse = [] {
  std::array<int8_t, 256> reverse{};
  reverse.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return reverse;
}();

Val encode(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::Bytes)) return no_overload("base64.encode", args);
  const std::string_view in = args[0].as_string();
  if (!context.budget.spend_steps(price::scanning(2 * in.size())) ||
      !context.budget.spend_bytes(in.size() * 2))
    return exhausted();
  std::string out;
  for (size_t i = 0; i < in.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < in.size() ? static_cast<unsigned char>(in[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j)
      out += i + j > in.size() ? '=' : kAlphabet[group >> (18 - 6 * j) & 0x3F];
  }
  return Val::string(std::move(out));
}

Val decode(CallContext& context, Arguments args) {
  if (!args[0].is(Kind::String)) return no_overload("base64.decode", args);
  std::string_view in = args[0].as_string();
  if (!context.budget.spend_steps(price::scanning(2 * in.size())) ||
      !context.budget.spend_bytes(in.size() + 48))
    return exhausted();
  const auto bad = [] { return Val::error("base64.decode() expects base64 text"); };
  if (in.ends_with('=')) {
    if (in.size() % 4 != 0) return bad();
    in.remove_suffix(in.ends_with("==") ? 2 : 1);
  }
  if (in.size() % 4 == 1) return bad();
  std::string out;
  uint32_t group = 0;
  uint32_t bits = 0;
  for (const char c : in) {
    const int8_t value = kReverse[static_cast<unsigned char>(c)];
    if (value < 0) return bad();
    group = (group << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return Val::bytes(std::move(out));
}

constexpr Function kEncoderFunctions[] = {{"base64.encode", encode, 1, 1, false},
                                          {"base64.decode", decode, 1, 1, false}};

}  // namespace

std::span<const Function> encoder_functions() { return kEncoderFunctions; }

}  // namespace pawl::expr
