// Connection: one client. Reads requests, passes them to the handler, sends the answers in request
// order.
//
// I/O thread only; other threads reach it by its Link. Nothing here destroys the object: end()
// closes the socket and leaves the rest to the I/O thread at the end of its round, so callbacks may
// run anywhere. Edge-triggered: `readable_` records that input was left in the socket on purpose.
//
// Bounds: unanswered requests (pipeline_max, and fewer the larger its answers are: no more requests
// are read from a slow reader of large answers), unparsed input (one head and one recv), unsent
// bytes (out_bytes_max and one answer; a stream has its own bound; all connections together:
// OutBudget), request bytes (InBudget), and time for each step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/deadlines.h"
#include "http/io_context.h"
#include "http/mailbox.h"
#include "http/out_queue.h"
#include "http/request_reader.h"
#include "http/slots.h"
#include "http/transport.h"

namespace pawl::http {

class Connection {
 public:
  // Owns fd and tls (null: plain).
  Connection(IoContext& context, int fd, ssl_st* tls, std::string peer);
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  void on_events(uint32_t events);
  void continue_reading();
  void resume_input();  // if input was paused and may continue
  void flush();
  void on_deadline(Deadline& deadline);
  void apply(uint64_t sequence, Message::Content&& content);

  void begin();        // once the socket is watched
  void refuse_busy();  // over connections_max
  void begin_drain();
  void end();

  // Whether it holds more than `share` and read too little of it since the last check.
  bool hoards(size_t share);
  void cut_hoarder();
  size_t unsent() const { return out_.size() + held_bytes_; }

  int fd() const { return transport_.fd(); }
  size_t registry_index = 0;

 private:
  // The bytes that a client must read in time.
  struct Due {
    uint64_t taken_before = 0;
    uint64_t bytes = 0;
  };

  bool wants_input() const;
  void read_input();
  void discard_input();
  void consume(std::string_view data);
  void judge_head();
  void read_body(size_t bytes_max);
  void unpack();
  void unpack_aside(size_t bytes_max);
  void take_inflated(message::Inflated&& inflated);
  bool charge_input();
  void hand_over();
  void open_request_slot(const Request& request, size_t in_bytes);
  void refuse(const Refusal& refusal);
  bool late_body();
  Slot& open_slot(std::string_view id);
  void input_ended();
  void client_left();
  void fire_watches();

  Slot* find(uint64_t sequence);
  void apply_to(Slot& slot, message::Answer&& answer);
  void apply_to(Slot& slot, message::Unanswered&& unanswered);
  void apply_to(Slot& slot, message::StreamStart&& start);
  void apply_to(Slot& slot, message::StreamChunk&& chunk);
  void apply_to(Slot& slot, message::StreamEnd&& stream_end);
  void apply_to(Slot& slot, message::StreamOverflow&& overflow);
  void apply_to(Slot& slot, message::Watch&& watch);

  void hold(Slot& slot, size_t bytes);
  void charge(size_t bytes);

  void queue_answers();
  void queue_answer(Slot& slot);
  bool queue_stream(Slot& slot);  // true when the stream has ended
  void close_front();
  void drop_slots();
  void send_queued();
  void settle_stream();
  void finish();
  void log_access(const Slot& slot, int status, uint64_t body_bytes);

  void mark_dirty();
  void mark_unread();
  void update_deadlines();
  DeadlineKind wanted_read_deadline() const;
  void expect_answers_of(size_t bytes);
  Due due_of(const TakenBytes& now, size_t unsent) const;
  void begin_stall_watch();
  void end_stall_watch();

  IoContext& context_;
  Transport transport_;
  const std::string peer_;
  const std::shared_ptr<Link> link_;
  RequestReader reader_;
  std::string in_;  // unparsed input
  Slots slots_;
  uint64_t first_sequence_ = 0;  // of slots_.front()
  OutQueue out_;
  size_t stream_queued_ = 0;            // bytes of the current stream at the end of out_
  size_t streams_ = 0;                  // slots that are streaming
  size_t in_bytes_ = 0;                 // of the requests in slots_
  const std::string* lines_ = nullptr;  // of the request being read
  int64_t body_began_ms_ = 0;
  size_t body_seen_ = 0;    // when read_deadline_ was armed for it
  size_t held_bytes_ = 0;   // of the answers in slots_
  size_t charged_ = 0;      // to the server's budget
  size_t answer_bytes_;     // estimated size of one more answer
  Due write_due_;           // when write_deadline_ has passed
  Due share_due_;           // at the next check for hoarders
  uint64_t seen_look_ = 0;  // when share_due_ was set
  Deadline read_deadline_{this};
  Deadline write_deadline_{this};
  uint64_t deadline_sequence_ = 0;  // which request read_deadline_ was armed for

  bool readable_ = false;
  bool half_closed_ = false;   // the client said that it sends no more
  bool paused_ = false;        // input waits for wants_input()
  bool closing_ = false;       // no further request will be read
  bool input_ended_ = false;   // EOF was read
  bool client_left_ = false;   // watches were fired
  bool continue_due_ = false;  // "100 Continue" must be sent
  bool inflating_ = false;     // on another thread; the next request waits for it
  bool lingering_ = false;     // all is sent; wait for the client to close
  bool ended_ = false;
  bool dirty_ = false;
  bool unread_ = false;
};

}  // namespace pawl::http
