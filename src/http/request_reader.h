// RequestReader: a byte stream → Requests, one after another. Pure; fuzzed by parser_fuzz.cc.
//
// The outcome depends on the bytes only, not on the pieces they come in. After a refusal the stream
// has no known next request: the connection must be closed.
//
// It stops after the head, so that the request can be checked before any byte of the body is kept,
// and after a compressed body, so that another thread can inflate it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/chunked.h"
#include "http/gzip.h"
#include "http/parser.h"
#include "http/request.h"
#include "http/request_id.h"

namespace pawl::http {

class RequestReader {
 public:
  // HeadRead: read_body() or drop_body(). Packed: inflate() or take_packed() and give_plain().
  // Done: take_request(). Refused: refusal().
  enum class State : unsigned char { Idle, Head, HeadRead, Body, Dropping, Packed, Done, Refused };

  RequestReader(const ParserLimits& limits, std::string_view peer, RequestIds& ids)
      : limits_(&limits), peer_(peer), ids_(&ids), scanner_(limits) {}

  // Takes bytes from the front of `input` and returns how many. Bytes of an unfinished head are not
  // taken: give them again with more behind them. Without input it does nothing.
  size_t feed(std::string_view input);

  const Request& head_request() const { return request_; }  // HeadRead: all but the body
  Request& head_request() { return request_; }
  void read_body(size_t bytes_max);  // maximum length of the body, plain or compressed
  void drop_body(size_t bytes_max);  // ends in Idle, or Refused if it is longer

  // Ends in Done or Refused. The output is at most bytes_max, and inflate() asks before each piece.
  void inflate(size_t bytes_max);
  InflateFault try_inflate(size_t bytes_max);  // stays in Packed if that does not suffice
  std::string take_packed();
  void give_plain(InflateFault fault, std::string plain);

  State state() const { return state_; }
  const Refusal& refusal() const { return *refusal_; }
  const Head& head() const { return head_; }  // of the request from HeadRead on; its flags only

  // The bytes it holds or will hold: the head and the announced body.
  size_t held_bytes() const;
  size_t body_bytes_max() const { return body_bytes_max_; }
  size_t body_bytes() const { return request_.body_bytes.size(); }

  void refuse(const Refusal& refusal);

  // The client waits for "100 Continue" before it sends the body. True once per request.
  bool take_continue_wish();

  Request take_request();

 private:
  size_t feed_head(std::string_view input);
  size_t feed_body(std::string_view input);
  size_t drop(std::string_view input);
  void own_head(std::string_view head_bytes);
  void finish();
  void end_request();

  const ParserLimits* limits_;
  std::string_view peer_;
  RequestIds* ids_;
  HeadScanner scanner_;
  ChunkedDecoder chunked_;
  Head head_;
  Request request_;
  std::string made_id_;
  std::optional<Refusal> refusal_;
  State state_ = State::Idle;
  size_t head_bytes_ = 0;
  size_t body_bytes_max_ = 0;
  uint64_t dropped_ = 0;
  std::string drop_scratch_;
  bool continue_wish_ = false;
  bool blank_line_skipped_ = false;
};

}  // namespace pawl::http
