#include "rehearse/span.h"

namespace pawl::rehearse {

std::string span_text(int64_t ms) {
  if (ms < 0) return "-" + span_text(-ms);
  if (ms == 0) return "0s";
  if (ms < 1000) return std::to_string(ms) + "ms";
  std::string text;
  constexpr struct {
    int64_t ms;
    const char* unit;
  } kUnits[] = {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}};
  for (const auto& unit : kUnits) {
    if (ms >= unit.ms) text += std::to_string(ms / unit.ms) + unit.unit;
    ms %= unit.ms;
  }
  if (ms == 0) return text;
  text += std::to_string(ms / 1000);
  if (ms % 1000 != 0) {
    std::string digits = std::to_string(1000 + ms % 1000).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text + "s";
}

}  // namespace pawl::rehearse
