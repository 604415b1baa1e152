// Finds a text in another one, in time linear in both together for any input: a naive search takes
// n × m steps on texts that an attacker chooses.
//
// Callers pay price::scanning() of both before they search (budget.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pawl::expr {

inline constexpr size_t kNoPlace = std::string_view::npos;

// The first place at or after `from`, kNoPlace if there is none. An empty part is everywhere.
size_t find_part(std::string_view text, std::string_view part, size_t from = 0);
bool has_part(std::string_view text, std::string_view part);
// The last place at or before `from`.
size_t find_last_part(std::string_view text, std::string_view part, size_t from = kNoPlace);

// Every place, overlapping ones too, first to last. The part must not be empty.
class Places {
 public:
  Places(std::string_view text, std::string_view part);
  size_t next();  // kNoPlace when there are no more

 private:
  std::string_view text_;
  std::string_view part_;
  std::vector<uint32_t> borders_;  // how much of the part still matches when its next byte does not
  size_t at_ = 0;
  size_t matched_ = 0;
};

}  // namespace pawl::expr
