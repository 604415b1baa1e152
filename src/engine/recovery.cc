#include "engine/recovery.h"

#include <algorithm>

#include "base/codec.h"
#include "base/plant.h"
#include "base/working_on.h"

namespace pawl {
namespace {

constexpr std::string_view kTailKey = "tail";

Error corrupt(std::string message) { return Error{ErrorCode::Corrupt, std::move(message)}; }

void note_skipped(const journal::EventBytes& event, Recovery& recovery) {
  ScriptCreated created;
  if (event.type == event_type<ScriptCreated>() && codec::decode(event.bytes, created))
    recovery.skipped_runs.push_back(std::move(created));
}

}  // namespace

Write tail_write(const TailRow& tail) {
  return {static_cast<uint8_t>(Space::Meta), std::string(kTailKey), codec::encoded(tail)};
}

Result<TailRow> read_tail(Store& store) {
  TailRow tail;
  PAWL_TRY(auto row, store.get(static_cast<uint8_t>(Space::Meta), kTailKey));
  if (row && !codec::decode(*row, tail)) return corrupt("the tail marker cannot be read");
  return tail;
}

Result<Recovery> fold_journal(Store& store, MutableState& state, uint64_t from,
                              const SkippedEvents& skipped, OnRecord on_record) {
  Recovery recovery;
  std::optional<Error> bad;
  uint64_t expected = std::max(from, store.journal_first());
  auto fold = [&](uint64_t number, std::string_view bytes) -> Status {
    if (number != expected)
      return corrupt("journal record " + std::to_string(expected) + " is missing");
    ++expected;
    PAWL_TRY(auto events, journal::read_record(number, bytes));
    for (const journal::EventBytes& event : events) {
      if (skipped.skips(event)) {
        note_skipped(event, recovery);
        continue;
      }
      WorkingOn working(WorkKind::Fold, subject_of(event), event.sequence);
      abort_if_planted(Plant::Apply, event.bytes);
      PAWL_TRY_DO(state.fold(event));
    }
    ++recovery.records;
    recovery.events += events.size();
    on_record(number, bytes.size(), events.empty() ? 0 : events.back().time_ms);
    return ok_status();
  };
  PAWL_TRY_DO(store.read_journal(from, SIZE_MAX, [&](uint64_t number, std::string_view bytes) {
    Status folded = fold(number, bytes);
    if (!folded.ok()) bad = folded.error();
    return folded.ok();
  }));
  if (bad) return *bad;
  uint64_t last = store.journal_last();
  if (last != 0 && last >= from && expected != last + 1)
    return corrupt("journal record " + std::to_string(expected) + " is missing");
  return recovery;
}

Result<TailRow> recover(Store& store, MutableState& state, SkippedEvents skipped,
                        Recovery& recovery, OnRecord on_record) {
  PAWL_TRY(SkippedEvents written, SkippedEvents::read(store));
  skipped.add(written);
  PAWL_TRY_DO(state.load());
  PAWL_TRY(TailRow tail, read_tail(store));
  uint64_t first = store.journal_first();
  uint64_t last = store.journal_last();
  uint64_t from = tail.sequence == 0 ? first : journal::record_of(tail.sequence);
  if (first > from && last >= from)
    return corrupt("the journal begins at record " + std::to_string(first) +
                   " but is needed from " + std::to_string(from));
  if (from > last + 1)
    return corrupt("the journal ends at record " + std::to_string(last) +
                   " but rows were written up to " + std::to_string(from - 1));
  PAWL_TRY(recovery, fold_journal(store, state, from, skipped, on_record));
  return tail;
}

}  // namespace pawl
