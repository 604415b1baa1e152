// Response → the bytes of its head.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/parser.h"
#include "http/responder.h"

namespace pawl::http {

enum class Framing : unsigned char {
  Length,   // Content-Length: body_bytes
  Chunked,  // Transfer-Encoding: chunked
  Close,    // an HTTP/1.0 client: the end of the connection ends the body
  None,     // 204, 304: no body and no framing header
};

struct HeadFacts {
  std::string_view request_id;
  const std::string* lines = nullptr;  // further header lines, whole
  Framing framing = Framing::Length;
  uint64_t body_bytes = 0;
  bool gzipped = false;
  bool keep_alive = true;
  bool http10 = false;  // needs a keep-alive header
};

void append_response_head(const Response& response, const HeadFacts& facts, std::string& out);

// Whether a status allows a body at all.
bool status_has_body(int status);

// One chunk with its framing. Must not be called with an empty chunk, which would end the body.
void append_chunk(std::string_view chunk, std::string& out);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
// The most that append_chunk adds to a chunk: 16 hex digits and two CRLF.
inline constexpr size_t kChunkFramingBytesMax = 20;

// The server's own answer to a request it refuses; it closes the connection.
Response refusal_response(const Refusal& refusal);
// In the place of an answer that a handler did not give.
Response unanswered_response();

}  // namespace pawl::http
