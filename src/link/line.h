// Line: one connection to a peer. It carries a batch, takes its answers, and then the next batch.
//
// Link thread only. Whoever calls send(), on_events() or read_on() looks at state() afterwards: an
// Idle line is free, a Broken one is closed, and take_load() and loss() say what to do with what it
// carried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/out_queue.h"
#include "http/transport.h"
#include "link/ongoing_call.h"
#include "link/response_reader.h"
#include "link/seal.h"
#include "link/warnings.h"

namespace pawl::link {

class PeerLines;

// What all lines share.
struct LineContext {
  int epoll_fd = -1;
  uint64_t now_us = 0;
  const LinksConfig* config = nullptr;
  const Seal* seal = nullptr;
  LinkCounters* counters = nullptr;
  Warnings* warnings = nullptr;
  std::vector<char> scratch = std::vector<char>(64 * 1024);
};

// A batch as it travels.
struct Load {
  std::string head;  // of the HTTP request
  std::string body;
  std::string mac;
  std::vector<std::shared_ptr<OngoingCall>> calls;
  bool waits = false;
  bool resent = false;  // a former line may have delivered it
  size_t addresses_tried = 0;
};

class Line {
 public:
  enum class State : unsigned char { Connecting, Handshaking, Busy, Idle, Broken };
  // What a Broken line means for the calls of its load. Again: it is not known whether the peer has
  // the batch, and sending the same bytes again is safe, since it takes no counter twice.
  enum class Loss : unsigned char { NotConnected, NotSent, Again, Unknown };

  // `fd` is connecting or connected. Owns it and `tls` (null: plain).
  Line(LineContext& context, int fd, ssl_st* tls, std::string peer_name);
  Line& operator=(Line&&) = delete;
  ~Line();

  void send(Load&& load);  // once, or when Idle
  void on_events(uint32_t events);
  void read_on();      // there was more to read, or the reader of a stream has caught up
  void break_off();    // the answers are not wanted any more
  void check_times();  // every now and then

  State state() const { return state_; }
  bool over() const { return state_ == State::Idle || state_ == State::Broken; }
  bool has_more() const { return has_more_; }
  bool paused() const { return paused_; }
  bool ready_to_resume() const;
  uint32_t peer_version() const { return peer_version_; }  // 0: unknown

  Load take_load() { return std::move(load_); }
  Loss loss() const { return loss_; }

  PeerLines* owner = nullptr;
  size_t place = 0;    // among its lines
  bool waits = false;  // what it carries does

 private:
  void watch(uint32_t events);
  void connected();
  void start_writing();
  void flush();
  void read();
  void take(std::string_view bytes);
  bool judge_head();
  bool take_content();
  void take_frame(Frame&& frame);
  void end_response();
  void refused();
  void broken();

  LineContext& context_;
  http::Transport transport_;
  const std::string peer_name_;
  State state_ = State::Connecting;
  Loss loss_ = Loss::NotConnected;
  uint32_t events_ = 0;  // that are watched
  uint64_t heard_us_;    // of the peer, or written to it
  Load load_;
  http::OutQueue out_;
  bool used_before_ = false;  // a former batch was answered on it
  bool head_judged_ = false;
  bool any_answer_ = false;  // a byte of the response has come
  bool has_more_ = false;
  bool paused_ = false;
  uint32_t peer_version_ = 0;
  ResponseReader response_;
  FrameReader frames_;
  std::string content_;
};

}  // namespace pawl::link
