// Shared by all diagrams: the sections of a step, a one-line description, and the status of a
// place, combined over the iterations of the enclosing loops.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/diagram.h"
#include "plan/script.h"

namespace pawl::plan {

// A list inside a step.
struct Section {
  std::string caption;     // true, branch 1, body, undo
  std::string namespace_;  // the part of the full id between the step and the steps in the list
  uint32_t list = kNoList;
  bool undo = false;
};

std::vector<Section> sections_of(const Step& step);

// What the step does, in a few words: http.get, wait 5s, for each inputs.items, …
std::string detail_of(const Step& step);

// Positions of a list so that every step comes after its dependencies, and otherwise as written.
std::vector<uint32_t> running_order(const Script& script, uint32_t list);

// At most `max` characters on one line; what is cut ends in "…" (or "..." in ASCII).
std::string shortened(std::string_view text, size_t max, bool ascii = false);
size_t character_count(std::string_view text);

struct Mark {
  std::string_view status;  // "" if there are no statuses at all
  std::string note;         // "3 of 5": iterations that ended, of all that began
};

std::string_view tag_of(std::string_view status);  // OK FAIL RUN WAIT PEND SKIP RETRY

// The place of a step: its full id, with iter_* for each enclosing loop.
struct Place {
  std::string path;
  bool in_loop = false;
  bool over = false;  // the enclosing step has ended

  Place step(const Step& step) const;
  Place section(const Section& section, const Mark& around) const;
};

class Marks {
 public:
  explicit Marks(const StepStatuses* statuses);
  Mark of(const Place& place) const;

 private:
  struct Tally {
    uint32_t total = 0;
    uint32_t done = 0;
    size_t loudest = 0;  // the most important status among them
  };

  const StepStatuses* statuses_;
  std::map<std::string, Tally, std::less<>> tallies_;
};

std::string draw_ascii(const Script& script, const Marks& marks);
std::string draw_mermaid(const Script& script, const Marks& marks);
std::string draw_svg(const Script& script, const Marks& marks);

std::string title_of(const Script& script);

}  // namespace pawl::plan
