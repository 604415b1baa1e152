// Retrospect: one run as it was after a position of the journal, with everything below it.
//
// Events of the run, of its jobs and of the runs nested in it are folded into a separate state,
// from the run's creation up to the position; only whole frames, since no one ever saw a part of
// one. So it shows the live state of that time (I2), but nothing that the journal no longer keeps.
//
// Thread: any, one at a time; it reads the store and may take long, so not the engine thread.
#pragma once

#include <memory>
#include <set>

#include "engine/skipped_events.h"
#include "engine/store_cold.h"
#include "kernel/mutable_state.h"
#include "store/store.h"

namespace pawl {

struct RetrospectBounds {
  size_t scanned_bytes_max = size_t{512} << 20;
};

class Retrospect {
 public:
  struct Moment {
    uint64_t sequence = 0;  // the last event of the last folded frame, of any run
    int64_t time_ms = 0;
  };

  // As of the frame that holds `sequence`. `created_ms`: not later than the run's creation; 0 if
  // unknown, then the whole journal is read. NotFound if the run did not exist then or its
  // beginning is no longer kept, InvalidRequest for a position the journal has not reached,
  // TooLarge if more would have to be read than the bounds allow, Corrupt if it cannot be read.
  static Result<std::unique_ptr<Retrospect>> at_sequence(Store& store, const RunId& run,
                                                         int64_t created_ms, uint64_t sequence,
                                                         const RetrospectBounds& bounds = {});
  // As of the last frame that was not after `time_ms`.
  static Result<std::unique_ptr<Retrospect>> at_time(Store& store, const RunId& run,
                                                     int64_t created_ms, int64_t time_ms,
                                                     const RetrospectBounds& bounds = {});

  const State& state() const { return state_; }
  const Run& run() const { return *state_.find_run(id_); }
  const Moment& moment() const { return moment_; }

 private:
  // Definitions are read from their rows; everything else comes from the journal.
  class DefinitionsOnly : public Cold {
   public:
    explicit DefinitionsOnly(Store& store) : rows_(store) {}
    std::optional<std::string> get(Space space, std::string_view key) override;
    void scan(Space, std::string_view, std::string_view, bool, size_t,
              FunctionRef<bool(std::string_view, std::string_view)>) override {}

   private:
    StoreCold rows_;
  };
  struct Until {
    uint64_t sequence;
    int64_t time_ms;
  };

  Retrospect(Store& store, const RunId& run) : id_(run), definitions_(store) {}
  static Result<std::unique_ptr<Retrospect>> fold(Store& store, const RunId& run,
                                                  int64_t created_ms, const Until& until,
                                                  const RetrospectBounds& bounds);
  Status fold_definitions(Store& store, uint64_t before);
  // False when the position is reached.
  Result<bool> fold_record(uint64_t number, std::string_view bytes, const Until& until);
  Status fold_frame(const journal::EventBytes* begin, const journal::EventBytes* end);
  bool concerns(const journal::EventBytes& event);

  const RunId id_;
  DefinitionsOnly definitions_;
  MutableState state_{definitions_, StateConfig{}};
  SkippedEvents skipped_;
  std::set<Uuid> subjects_;  // the run, its jobs, the runs nested in it and theirs
  Moment moment_;
};

// The first record that holds an event of `time_ms` or later; one past the last if none does.
Result<uint64_t> record_at_time(Store& store, int64_t time_ms);

}  // namespace pawl
