// Journal events as Open Job Spec events, for GET /events, streams and webhooks.
//
// A pure function of one journaled event: the same journal always gives the same events with the
// same ids, so a list, a stream and a delivery agree, and a reader may resume anywhere. One journal
// event may be two OJS events (failed, then retrying), told apart by `part`.
//
// A new kind of journal event is shown to users by adding one tell() overload in
// event_projection.cc; without one it stays internal.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "journal/record.h"

namespace pawl {

// A place between events: after this part of this journal event. As text, a cursor:
// "sequence.part", or "sequence" for "after all parts".
struct EventPosition {
  static constexpr uint32_t kAllParts = 3;  // more than any event has

  uint64_t sequence = 0;
  uint32_t part = kAllParts;

  auto operator<=>(const EventPosition&) const = default;
  std::string text() const;
  // A cursor, or an event's id.
  static std::optional<EventPosition> parse(std::string_view text);
};

struct OjsEvent {
  EventPosition position;
  int64_t time_ms = 0;
  std::string_view type;  // "job.completed": one of event_type_names()
  std::string queue;      // scoped; empty if no queue is concerned
  std::string tenant;
  std::string job_type;
  std::string subject;         // the job's or workflow's id, the queue's or the cron's name
  std::string data;            // JSON object text
  std::string step = {};       // of a definition's run: the step's full id
  std::string run = {};        // of a run's event: its UUID, even if the subject is another id
  bool of_definition = false;  // an event of the definition language, not of OJS

  std::string id() const;  // "evt_" and a UUIDv7 made of time and position
};

// Appends the OJS events of one journal event, in order; none for internal events.
void project(const journal::EventBytes& event, std::vector<OjsEvent>& out);

// {specversion, id, type, source, time, subject, data}
void render_event(json::Writer& w, const OjsEvent& event);

// Every type that project() can give, sorted.
const std::vector<std::string_view>& event_type_names();

// Which events a caller wants. Empty lists want everything.
struct EventFilter {
  std::vector<std::string> types;  // "job.completed", "job.*" or "*"
  std::vector<std::string> queues;
  std::vector<std::string> job_types;
  std::string tenant;         // only events of this tenant; empty = all
  std::string workflow = {};  // only events of the workflow with this UUID
  std::string run = {};       // only events about the run with this UUID, of any kind
  std::string job = {};       // only events about the job with this UUID
  bool definitions = true;    // also events of runs of definitions

  bool wants(const OjsEvent& event) const;
};

bool matches_event_type(std::string_view pattern, std::string_view type);

}  // namespace pawl
