// StreamMerge: the event streams of all partitions as one stream to a client.
//
// Each partition's stream is cut at the ends of its events; the events are passed on whole, in
// turns, with a place in all partitions as their id (front/event_cursor.h). Those of one partition
// keep their order; between partitions there is none. When the stream of a partition ends, because
// its owner does, it is asked for again from behind its last whole event, for as long as the client
// stays: nothing is missed or doubled.
//
// The client's stream begins when those of all partitions have; if one of them refuses before, that
// is the answer. A client that reads slowly gets at most kStreamPieceBytes ahead of what it has
// read; meanwhile each partition may put by as much, and waits then (AnswerSink::unsent).
//
// Threads: any. It keeps itself alive while the client's stream is open.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "front/alarm.h"
#include "front/event_cursor.h"
#include "http/answer_sink.h"

namespace pawl::front {

inline constexpr size_t kStreamPieceBytes = 256u << 10;

class StreamMerge : public std::enable_shared_from_this<StreamMerge> {
 public:
  // Asks a partition for its stream, from behind a position or from now on.
  using AskPart = std::function<void(uint16_t partition, const std::optional<EventPosition>& after,
                                     std::shared_ptr<http::AnswerSink> sink)>;
  // `goes_on`: whether a partition whose stream has ended is asked again.
  StreamMerge(Alarm& alarm, std::shared_ptr<http::AnswerSink> client, uint16_t partitions,
              const std::optional<EventCursor>& after, AskPart ask, std::function<bool()> goes_on);

  void start();
  // Ends the client's stream.
  void stop();

 private:
  class PartSink;
  struct Frame {
    std::string text;  // without its id; "": only the position
    std::optional<EventPosition> position;
  };
  struct OnePart {
    uint64_t turn = 0;  // of asking; what earlier sinks bring does not count
    bool begun = false;
    bool asked_again = false;            // an alarm will ask
    std::optional<EventPosition> heard;  // behind the last whole event that has arrived
    std::string begun_event;             // what has arrived of the next one
    size_t looked_through = 0;           // of begun_event
    std::deque<Frame> waiting;           // to be written
    size_t waiting_bytes = 0;
    std::function<void()> on_disconnect;  // of whoever sends it
  };

  // --- of the parts
  void ask(uint16_t k);
  void part_begun(uint16_t k, uint64_t turn, http::Response&& head);
  void part_refused(uint16_t k, uint64_t turn, http::Response&& refusal);
  bool part_wrote(uint16_t k, uint64_t turn, std::string_view chunk);
  void part_ended(uint16_t k, uint64_t turn);
  size_t unsent_of(uint16_t k, uint64_t turn) const;
  bool is_over() const;
  void watch(uint16_t k, uint64_t turn, std::function<void()> callback);
  // --- under the lock
  bool is_current(uint16_t k, uint64_t turn) const { return !over_ && parts_[k].turn == turn; }
  void hear(uint16_t k, std::string_view chunk);
  void hear_frame(uint16_t k, std::string_view text);
  void ask_again_later(uint16_t k);
  void begin_if_all_have();
  void pump();
  void fill();
  // What is left to do without the lock.
  using Rest = std::vector<std::function<void()>>;
  Rest finish();

  void keep_alive();
  void end(bool answer_with_end);

  Alarm& alarm_;
  const std::shared_ptr<http::AnswerSink> client_;
  const AskPart ask_;
  const std::function<bool()> goes_on_;

  mutable std::mutex mutex_;
  std::vector<OnePart> parts_;  // guarded by mutex_, as all below
  EventCursor sent_;            // behind what was written, or 0 where it is not known yet
  bool begun_ = false;          // the client's stream
  bool gone_ = false;           // the client does not read any more
  bool over_ = false;
  bool pump_waits_ = false;  // an alarm will pump
  bool wrote_ = false;       // since the last keep-alive
  uint16_t next_ = 0;        // whose turn it is to be written
  std::string out_;          // being written
  size_t out_written_ = 0;
};

}  // namespace pawl::front
