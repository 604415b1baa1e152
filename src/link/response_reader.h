// ResponseReader: the bytes of HTTP/1.1 responses, one after another → status, the link's header
// and the content of the body. Pure. Reads what our own server writes; anything else is a fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/chunked.h"

namespace pawl::link {

class ResponseReader {
 public:
  enum class State : unsigned char { Head, Body, Done, Bad };

  // Takes bytes from the front of `input` and appends content to `body`; returns how many bytes it
  // took. Stops behind the head and at the end of the body.
  size_t feed(std::string_view input, std::string& body);

  State state() const { return state_; }
  int status() const { return status_; }
  const std::string& link_header() const { return link_header_; }  // empty: there is none
  bool keep_alive() const { return keep_alive_; }

  void begin_next() { *this = ResponseReader{}; }

 private:
  bool read_head(std::string_view head);

  State state_ = State::Head;
  std::string head_;
  int status_ = 0;
  std::string link_header_;
  bool keep_alive_ = true;
  bool chunked_ = false;
  uint64_t left_ = 0;
  http::ChunkedDecoder decoder_;
};

}  // namespace pawl::link
