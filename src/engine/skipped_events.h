// SkippedEvents: events of a run or job that every fold skips, since applying one of them killed
// the process. They are listed in a document (DocKind::Skipped), so a restart, verify() and
// Retrospect skip the same ones and reach the same state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "journal/record.h"
#include "store/store.h"

namespace pawl {

class Frame;

struct SkippedRange {
  uint64_t from = 0;  // sequences, both included
  uint64_t to = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "from", self.from);
    visit(2, "to", self.to);
  }
};

class SkippedEvents {
 public:
  // The ranges stored in the documents.
  static Result<SkippedEvents> read(Store& store);

  void add(const Uuid& id, const SkippedRange& range) { ranges_[id].push_back(range); }
  void add(const SkippedEvents& others);
  bool empty() const { return ranges_.empty(); }
  bool skips(const journal::EventBytes& event) const;

 private:
  std::map<Uuid, std::vector<SkippedRange>> ranges_;
};

// The run or job that the event is about; nil if it is about neither.
Uuid subject_of(const journal::EventBytes& event);

// Stores a range, in addition to existing ones.
void put_skipped(Frame& frame, const Uuid& id, const SkippedRange& range);

}  // namespace pawl
