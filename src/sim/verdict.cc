#include "sim/verdict.h"

#include <cstdio>

#include "base/hash.h"

namespace pawl::sim {

std::string_view probe_name(Probe probe) {
  static constexpr std::string_view kNames[] = {
#define PAWL_PROBE(name) #name,
#include "sim/probes.def"
#undef PAWL_PROBE
  };
  return kNames[static_cast<size_t>(probe)];
}

void Verdict::tell(std::string line) {
  hash_ = hash64(line, hash_);
  if (print_) std::printf("%s\n", line.c_str());
  lines_.push_back(std::move(line));
  if (lines_.size() > kLinesKept) lines_.pop_front();
}

void Verdict::fail(std::string_view checker, std::string what) {
  if (failed()) return;
  checker_ = checker;
  what_ = std::move(what);
  tell("BROKEN " + checker_ + ": " + what_);
}

void Verdict::end(std::string_view why) {
  if (failed()) return;
  tell("THE END: " + std::string(why));
  ended_ = true;
}

std::string Verdict::last_lines() const {
  std::string text;
  for (const std::string& line : lines_) text += "  " + line + "\n";
  return text;
}

}  // namespace pawl::sim
