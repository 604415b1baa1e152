#include "engine/skipped_events.h"

#include "base/codec.h"
#include "kernel/cold.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

struct SkippedRanges {
  std::vector<SkippedRange> ranges;

  static void fields(auto& self, auto&& visit) { visit(1, "ranges", self.ranges); }
};

}  // namespace

Uuid subject_of(const journal::EventBytes& event) {
  constexpr char kFirstIsId = 1 << 2 | static_cast<char>(codec::Wire::Id);
  if (event.bytes.size() < 17 || event.bytes[0] != kFirstIsId) return {};
  return *Uuid::from_bytes(event.bytes.substr(1, 16));
}

Result<SkippedEvents> SkippedEvents::read(Store& store) {
  SkippedEvents found;
  std::string low = doc_key(DocKind::Skipped, "");
  PAWL_TRY_DO(store.scan(static_cast<uint8_t>(Space::Doc), low, prefix_end(low), false, SIZE_MAX,
                         [&](std::string_view key, std::string_view value) {
                           Doc doc;
                           SkippedRanges ranges;
                           auto id = Uuid::from_bytes(key.substr(1));
                           bool good =
                               id && codec::decode(value, doc) && codec::decode(doc.value, ranges);
                           for (const SkippedRange& range : ranges.ranges)
                             if (good) found.add(*id, range);
                           return true;
                         }));
  return found;
}

void SkippedEvents::add(const SkippedEvents& others) {
  for (const auto& [id, ranges] : others.ranges_)
    for (const SkippedRange& range : ranges) add(id, range);
}

bool SkippedEvents::skips(const journal::EventBytes& event) const {
  if (ranges_.empty()) return false;
  auto at = ranges_.find(subject_of(event));
  if (at == ranges_.end()) return false;
  for (const SkippedRange& range : at->second)
    if (range.from <= event.sequence && event.sequence <= range.to) return true;
  return false;
}

void put_skipped(Frame& frame, const Uuid& id, const SkippedRange& range) {
  SkippedRanges ranges;
  if (const Doc* doc = frame.state().find_doc(DocKind::Skipped, id.bytes()))
    (void)codec::decode(doc->value, ranges);
  ranges.ranges.push_back(range);
  put_doc(frame, DocKind::Skipped, id.bytes(), codec::encoded(ranges));
}

}  // namespace pawl
