// ChunkedDecoder: removes the framing of a chunked body that arrives piece by piece. Pure.
//
// Strict: sizes are 1 to 15 hex digits, every line ends in CRLF, extensions and trailers are
// checked, bounded and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/parser.h"

namespace pawl::http {

class ChunkedDecoder {
 public:
  // Takes bytes from the front of `input`, appends content to `body` and returns how many it took.
  // It stops at the end of the body, at a refusal, or when `input` is used up.
  size_t feed(std::string_view input, std::string& body, size_t body_bytes_max);

  bool done() const { return state_ == State::Done; }
  const std::optional<Refusal>& refusal() const { return refusal_; }
  void reset() { *this = ChunkedDecoder{}; }

 private:
  enum class State : unsigned char { SizeLine, Data, DataEnd, Trailer, Done };

  bool take_byte(char c);
  bool end_line();
  bool end_size_line();
  bool refuse();

  State state_ = State::SizeLine;
  uint64_t left_ = 0;      // of the current chunk
  size_t line_bytes_ = 0;  // of lines since the last content, so that empty framing is bounded
  std::string line_;
  std::optional<Refusal> refusal_;
};

}  // namespace pawl::http
