// The report of a running simulation: its trace, the first broken invariant, and the rare paths it
// entered.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace pawl::sim {

enum class Probe : uint8_t {
#define PAWL_PROBE(name) name,
#include "sim/probes.def"
#undef PAWL_PROBE
  kCount,
};
constexpr size_t kProbeCount = static_cast<size_t>(Probe::kCount);
std::string_view probe_name(Probe probe);
using ProbeCounts = std::array<uint64_t, kProbeCount>;

class Verdict {
 public:
  explicit Verdict(bool print) : print_(print) {}

  // One line per step. The hash covers every line, so equal hashes mean equal traces.
  void tell(std::string line);
  // Only the first failure counts: later ones are consequences.
  void fail(std::string_view checker, std::string what);
  void expect(bool holds, std::string_view checker, std::string_view what) {
    if (!holds) fail(checker, std::string(what));
  }
  void reach(Probe probe) { ++probes_[static_cast<size_t>(probe)]; }

  // Ends the simulation although no invariant broke.
  void end(std::string_view why);

  bool failed() const { return ended_ || broken(); }  // or ended: do nothing more
  bool broken() const { return !checker_.empty(); }
  const std::string& checker() const { return checker_; }
  const std::string& what() const { return what_; }
  const ProbeCounts& probes() const { return probes_; }
  uint64_t hash() const { return hash_; }
  std::string last_lines() const;

 private:
  static constexpr size_t kLinesKept = 120;

  bool print_;
  uint64_t hash_ = 0;
  std::deque<std::string> lines_;
  bool ended_ = false;
  std::string checker_;
  std::string what_;
  ProbeCounts probes_{};
};

}  // namespace pawl::sim
