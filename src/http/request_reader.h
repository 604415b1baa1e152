// RequestReader: a byte stream → Requests, one after another. Pure; fuzzed by parser_fuzz.cc.
//
// The outcome depends on the bytes only, not on the pieces they come in. After a refusal the stream
// has no known next request: the connection must be closed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "http/chunked.h"
#include "http/parser.h"
#include "http/request.h"

namespace pawl::http {

class RequestReader {
 public:
  enum class State : unsigned char { Idle, Head, Body, Done, Refused };

  RequestReader(const ParserLimits& limits, std::string_view peer)
      : limits_(&limits), peer_(peer), scanner_(limits) {}

  // Takes bytes from the front of `input` and returns how many. Bytes of an unfinished head are not
  // taken: give them again with more behind them. Done: take_request(); Refused: refusal().
  size_t feed(std::string_view input);

  State state() const { return state_; }
  const Refusal& refusal() const { return *refusal_; }
  const Head& head() const { return head_; }  // of the request in Body or Done; its flags only

  // The client waits for "100 Continue" before it sends the body. True once per request.
  bool take_continue_wish();

  Request take_request();

 private:
  size_t feed_head(std::string_view input);
  size_t feed_body(std::string_view input);
  void own_head(std::string_view head_bytes);
  void finish();
  void refuse(const Refusal& refusal);

  const ParserLimits* limits_;
  std::string_view peer_;
  HeadScanner scanner_;
  ChunkedDecoder chunked_;
  Head head_;
  Request request_;
  std::string made_id_;
  std::optional<Refusal> refusal_;
  State state_ = State::Idle;
  bool continue_wish_ = false;
  bool blank_line_skipped_ = false;
};

}  // namespace pawl::http
