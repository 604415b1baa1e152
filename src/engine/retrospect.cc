#include "engine/retrospect.h"

#include <algorithm>

#include "base/codec.h"
#include "engine/recovery.h"
#include "kernel/keys.h"
#include "kernel/settings/doc.h"

namespace pawl {
namespace {

Error not_there(const RunId& run, const std::string& why) {
  return Error{ErrorCode::NotFound, "run " + run.text() + " " + why};
}

// The one record of this number, split.
Result<std::vector<journal::EventBytes>> events_of(Store& store, uint64_t number,
                                                   std::string& bytes) {
  PAWL_TRY_DO(store.read_journal(number, 1, [&](uint64_t, std::string_view record) {
    bytes = record;
    return true;
  }));
  return journal::read_record(number, bytes);
}

template <class Event>
bool decoded(const journal::EventBytes& event, Event& out) {
  return event.type == event_type<Event>() && codec::decode(event.bytes, out);
}

// The id that nearly every event about a job or a run begins with.
struct Subject {
  Uuid id;

  static void fields(auto& self, auto&& visit) { visit(1, "id", self.id); }
};

// Queues, limits, documents, crons: their event numbers are adjacent.
bool is_about_settings(EventType type) {
  return type >= EventType::QueueConfigured && type <= EventType::CronSkipped;
}

}  // namespace

std::optional<std::string> Retrospect::DefinitionsOnly::get(Space space, std::string_view key) {
  std::string definitions = doc_key(DocKind::Definition, "");
  if (space != Space::Doc || key.substr(0, definitions.size()) != definitions) return std::nullopt;
  return rows_.get(space, key);
}

Result<uint64_t> record_at_time(Store& store, int64_t time_ms) {
  uint64_t low = store.journal_first();
  uint64_t high = store.journal_last() + 1;
  std::string bytes;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    PAWL_TRY(auto events, events_of(store, middle, bytes));
    if (!events.empty() && events.back().time_ms >= time_ms) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Result<std::unique_ptr<Retrospect>> Retrospect::at_sequence(Store& store, const RunId& run,
                                                            int64_t created_ms, uint64_t sequence,
                                                            const RetrospectBounds& bounds) {
  uint64_t last = store.journal_last();
  if (journal::record_of(sequence) > last)
    return Error{ErrorCode::InvalidRequest, "at: the journal ends with record " +
                                                std::to_string(last) + ", before position " +
                                                std::to_string(sequence)};
  return fold(store, run, created_ms, {sequence, INT64_MAX}, bounds);
}

Result<std::unique_ptr<Retrospect>> Retrospect::at_time(Store& store, const RunId& run,
                                                        int64_t created_ms, int64_t time_ms,
                                                        const RetrospectBounds& bounds) {
  return fold(store, run, created_ms, {UINT64_MAX, time_ms}, bounds);
}

Result<std::unique_ptr<Retrospect>> Retrospect::fold(Store& store, const RunId& run,
                                                     int64_t created_ms, const Until& until,
                                                     const RetrospectBounds& bounds) {
  std::unique_ptr<Retrospect> past(new Retrospect(store, run));
  uint64_t from = store.journal_first();
  if (created_ms != 0) {
    PAWL_TRY(from, record_at_time(store, created_ms));
  }
  PAWL_TRY(past->skipped_, SkippedEvents::read(store));
  PAWL_TRY_DO(past->fold_definitions(store, from));
  size_t scanned = 0;
  Status folded = ok_status();
  auto visit = [&](uint64_t number, std::string_view bytes) {
    scanned += bytes.size();
    if (scanned > bounds.scanned_bytes_max) {
      folded = Error{ErrorCode::TooLarge,
                     "at: too much has happened since the run began; ask for an earlier moment"};
      return false;
    }
    Result<bool> more = past->fold_record(number, bytes, until);
    if (!more.ok()) folded = more.error();
    return more.ok() && *more;
  };
  PAWL_TRY_DO(store.read_journal(from, SIZE_MAX, visit));
  PAWL_TRY_DO(folded);
  if (past->state_.find_run(run) != nullptr) return past;
  bool cut = store.journal_first() > 1 && from <= store.journal_first();
  return not_there(run, cut ? "began before what the journal still keeps (record " +
                                  std::to_string(store.journal_first()) + " on)"
                            : "was not there at that moment");
}

// A definition that was registered a moment ago may not have its row yet: the rows lag behind the
// journal by its tail.
Status Retrospect::fold_definitions(Store& store, uint64_t before) {
  PAWL_TRY(TailRow tail, read_tail(store));
  uint64_t from = std::max(journal::record_of(tail.sequence), store.journal_first());
  if (from >= before) return ok_status();
  Status folded = ok_status();
  PAWL_TRY_DO(store.read_journal(from, before - from, [&](uint64_t number, std::string_view bytes) {
    auto events = journal::read_record(number, bytes);
    if (!events.ok()) folded = events.error();
    for (size_t i = 0; folded.ok() && i < events->size(); ++i) {
      DocPut put;
      if (decoded((*events)[i], put) && put.kind == DocKind::Definition)
        folded = state_.fold((*events)[i]);
    }
    return folded.ok();
  }));
  return folded;
}

Result<bool> Retrospect::fold_record(uint64_t number, std::string_view bytes, const Until& until) {
  PAWL_TRY(auto events, journal::read_record(number, bytes));
  for (size_t i = 0; i < events.size();) {
    if (events[i].sequence > until.sequence || events[i].time_ms > until.time_ms) return false;
    size_t end = i + 1;
    while (end < events.size() && !events[end].first_of_frame) ++end;
    PAWL_TRY_DO(fold_frame(&events[i], &events[end - 1] + 1));
    moment_ = {events[end - 1].sequence, events[end - 1].time_ms};
    i = end;
  }
  return true;
}

Status Retrospect::fold_frame(const journal::EventBytes* begin, const journal::EventBytes* end) {
  bool ours = false;
  for (const journal::EventBytes* event = begin; event != end; ++event) {
    if (!concerns(*event) || skipped_.skips(*event)) continue;
    ours = true;
    PAWL_TRY_DO(state_.fold(*event));
  }
  // The questions of a run and their answers are documents in the frames that ask and answer.
  for (const journal::EventBytes* event = begin; event != end; ++event) {
    DocPut put;
    bool question = ours && decoded(*event, put) && put.kind == DocKind::Decision;
    if (question) PAWL_TRY_DO(state_.fold(*event));
  }
  return ok_status();
}

bool Retrospect::concerns(const journal::EventBytes& event) {
  if (JobCreated job; decoded(event, job)) {
    if (subjects_.count(job.parent.run) == 0) return false;
    subjects_.insert(job.job);
    return true;
  }
  auto joins = [&](const RunId& run, const RunId& around) {
    if (run != id_ && subjects_.count(around) == 0) return false;
    subjects_.insert(run);
    return true;
  };
  if (RunCreated run; decoded(event, run)) return joins(run.run, run.parent.run);
  if (ScriptCreated run; decoded(event, run)) return joins(run.run, run.parent.run);
  if (JobsForgotten gone; decoded(event, gone))
    return std::any_of(gone.jobs.begin(), gone.jobs.end(),
                       [&](const JobId& job) { return subjects_.count(job) != 0; });
  if (DocPut put; decoded(event, put)) return put.kind == DocKind::Definition;
  if (is_about_settings(event.type)) return false;
  Subject subject;
  return codec::decode(event.bytes, subject) && subjects_.count(subject.id) != 0;
}

}  // namespace pawl
