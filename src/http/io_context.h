// IoContext: data shared by the connections of one I/O thread. Used by that thread only, except the
// counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "http/deadlines.h"
#include "http/in_budget.h"
#include "http/mailbox.h"
#include "http/out_budget.h"
#include "http/parser.h"
#include "http/request_id.h"
#include "http/server.h"

namespace pawl::http {

class Connection;

// Written by one thread, read by any.
class Counter {
 public:
  void add(uint64_t amount) { value_.store(get() + amount, std::memory_order_relaxed); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct Counters {
  Counter accepted;
  Counter refused;
  Counter requests;
  Counter requests_bad;
  Counter requests_no_room;
  Counter judged_out;
  Counter timeouts;
  Counter slow_readers_cut;
  Counter hoarders_cut;
  Counter streams_overrun;
  Counter unanswered;
  Counter bytes_in;
  Counter bytes_out;
};

struct IoContext {
  const ServerConfig* config;
  const Handler* handler;
  OutBudget* out_budget;  // the server's
  std::shared_ptr<InBudget> in_budget;
  ParserLimits limits;
  std::shared_ptr<Mailbox> mailbox;
  Deadlines deadlines;
  Counters counters;
  RequestIds request_ids;
  std::vector<char> scratch;  // buffer of recv; unfinished heads are copied to their connection

  // Work for the rest of this round; a connection is in each list at most once.
  std::vector<Connection*> dirty;   // has answers to write
  std::vector<Connection*> unread;  // may have input left: continue next round
  std::vector<Connection*> ended;   // to be destroyed at the end of the round

  // Sampled once per round: wants_input() must not change while a connection reads.
  bool over_budget = false;
  size_t holders = 0;      // connections with unsent bytes
  uint64_t out_looks = 0;  // counts checks for hoarders

  uint64_t now_us = 0;  // monotonic, read once or twice per round
  uint64_t handed = 0;  // requests given to the handler since end_round
  bool draining = false;

  int64_t now_ms() const { return static_cast<int64_t>(now_us / 1000); }
};

}  // namespace pawl::http
