// The journal record: one batch of frames, as bytes.
//
//   record := 'P' 'J' version(1 byte = 1) frame* crc32c(4 bytes, little-endian, over all before it)
//   frame  := varint(body length) body
//   body   := varint(time, Unix ms) varint(number of events) event*
//   event  := varint(type) varint(length) bytes(base/codec.h)
//
// A record is written whole or not at all (the store's commit is atomic), and the checksum says so
// independently of the store. An event's sequence number is record number << 20 | its index in the
// record: the order of all facts, and the version of an entity row. Unknown event types are skipped
// by the fold only when the record's version allows it; version 1 does not, so an older program
// refuses a newer journal instead of misreading it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/event_type.h"

namespace pawl::journal {

constexpr int kRecordVersion = 1;
constexpr int kIndexBits = 20;
constexpr uint64_t kEventsPerRecordMax = (1ULL << kIndexBits) - 1;

inline uint64_t sequence(uint64_t record_number, uint64_t index) {
  return record_number << kIndexBits | index;
}
inline uint64_t record_of(uint64_t sequence) { return sequence >> kIndexBits; }
inline uint64_t index_of(uint64_t sequence) { return sequence & kEventsPerRecordMax; }

// Builds one record. Frames that emitted nothing leave no trace.
class RecordWriter {
 public:
  explicit RecordWriter(uint64_t number) : number_(number) { reset(number); }

  void reset(uint64_t number);
  uint64_t number() const { return number_; }
  uint64_t next_sequence() const { return sequence(number_, events_); }
  uint64_t event_count() const { return events_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return events_ == 0; }

  void begin_frame(int64_t time_ms);
  // Each returns the event's sequence.
#define PAWL_EVENT(number, name) uint64_t add(const name& event);
#include "journal/event_types.def"
#undef PAWL_EVENT
  void end_frame();
  std::string finish();  // the record's bytes; reset() before the next use

 private:
  template <class Event>
  uint64_t add_event(const Event& event);

  uint64_t number_;
  std::string bytes_;
  size_t frame_at_ = 0;  // where the open frame begins, without its head
  int64_t time_ms_ = 0;
  uint64_t frame_events_ = 0;
  uint64_t events_ = 0;
};

struct EventBytes {
  uint64_t sequence;
  int64_t time_ms;
  EventType type;
  std::string_view bytes;
  bool first_of_frame;
};

// Checks and splits a record. Corrupt when the checksum, the framing or the version is wrong.
Result<std::vector<EventBytes>> read_record(uint64_t number, std::string_view record);

}  // namespace pawl::journal
