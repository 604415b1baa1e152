// Answers: the response to one batch, in which the answer of each call leaves when it is ready.
//
// Answers that are there when the batch has been handed on leave together; if these are all, as a
// plain response, else as a stream that ends with the last one.
//
// Thread: any. Each call's sink holds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/answer_sink.h"
#include "http/responder.h"
#include "link/link_door.h"
#include "link/wire.h"

namespace pawl::link {

class Answers : public std::enable_shared_from_this<Answers> {
 public:
  // `header`: the value of kLinkHeader.
  Answers(const DoorConfig& config, http::Responder responder, std::string header, size_t calls);

  void watch();        // once, at first
  void handed_over();  // once, when all calls were handed on
  std::shared_ptr<http::AnswerSink> sink(uint32_t number);

  void not_mine(uint32_t number);
  void answer(uint32_t number, http::Response&& response);
  void begin_stream(uint32_t number, http::Response&& head);
  bool write(uint32_t number, std::string_view chunk);
  void end_stream(uint32_t number);
  size_t unsent() const;
  bool gone() const { return gone_.load(std::memory_order_acquire); }
  void on_gone(uint32_t number, std::function<void()> callback);

 private:
  struct Call {
    bool over = false;
    std::function<void()> watch;
  };

  bool end_call(uint32_t number, std::function<void()>& watch);
  void put(std::string&& head, std::string&& body);
  void flush();
  std::function<void()> tell_gone();
  http::Response head() const;

  const std::string header_;
  const size_t stream_bytes_max_;
  std::atomic<bool> gone_{false};
  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  http::Responder responder_;  // until the response begins
  http::Stream stream_;        // then, if it is one
  bool handing_over_ = true;
  bool streaming_ = false;
  size_t waiting_;    // calls that are not over
  std::string held_;  // frames, until the response begins
  std::vector<Call> calls_;
};

}  // namespace pawl::link
