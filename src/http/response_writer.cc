#include "http/response_writer.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/named.h"
#include "base/short_text.h"

namespace pawl::http {
namespace {

constexpr Named<int> kReasonPhrases[] = {{"OK", 200},
                                         {"Created", 201},
                                         {"Accepted", 202},
                                         {"No Content", 204},
                                         {"Not Modified", 304},
                                         {"Bad Request", 400},
                                         {"Unauthorized", 401},
                                         {"Forbidden", 403},
                                         {"Not Found", 404},
                                         {"Method Not Allowed", 405},
                                         {"Request Timeout", 408},
                                         {"Conflict", 409},
                                         {"Content Too Large", 413},
                                         {"URI Too Long", 414},
                                         {"Unsupported Media Type", 415},
                                         {"Expectation Failed", 417},
                                         {"Unprocessable Content", 422},
                                         {"Too Many Requests", 429},
                                         {"Request Header Fields Too Large", 431},
                                         {"Internal Server Error", 500},
                                         {"Not Implemented", 501},
                                         {"Service Unavailable", 503},
                                         {"HTTP Version Not Supported", 505}};

std::string_view reason_phrase(int status) {
  std::string_view phrase = name_of(kReasonPhrases, status);
  return phrase.empty() ? "Status" : phrase;  // clients ignore it; it must only be present
}

struct Digits {
  Digits(uint64_t number, int base)
      : size(static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, number, base).ptr -
                                 digits)) {}
  operator std::string_view() const { return {digits, size}; }

  char digits[20];
  size_t size;
};

bool fits_on_a_line(std::string_view value) {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool written_by_server(std::string_view name) {
  return equals_ignoring_case(name, "content-length") ||
         equals_ignoring_case(name, "transfer-encoding") ||
         equals_ignoring_case(name, "connection") || equals_ignoring_case(name, "x-request-id");
}

using Line = ShortText<256>;

void append_line(std::string_view name, std::string_view value, std::string& out) {
  if (Line::fits(name.size() + value.size() + 4))
    return Line().put(name).put(": ").put(value).put("\r\n").append_to(out);
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_framing(const HeadFacts& facts, std::string& out) {
  switch (facts.framing) {
    case Framing::Length:
      append_line("Content-Length", Digits(facts.body_bytes, 10), out);
      break;
    case Framing::Chunked:
      out.append("Transfer-Encoding: chunked\r\n");
      break;
    case Framing::Close:
    case Framing::None:
      break;
  }
}

}  // namespace

bool status_has_body(int status) { return status >= 200 && status != 204 && status != 304; }

void append_response_head(const Response& response, const HeadFacts& facts, std::string& out) {
  PAWL_CHECK(response.status >= 200 && response.status <= 599);
  Line()
      .put("HTTP/1.1 ")
      .put(Digits(static_cast<uint64_t>(response.status), 10))
      .put(' ')
      .put(reason_phrase(response.status))
      .put("\r\n")
      .append_to(out);
  if (!response.content_type.empty() && fits_on_a_line(response.content_type)) {
    append_line("Content-Type", response.content_type, out);
  }
  append_framing(facts, out);
  append_line("X-Request-Id", facts.request_id, out);
  for (const auto& [name, value] : response.headers) {
    const bool sound = !name.empty() && fits_on_a_line(name) && fits_on_a_line(value);
    if (sound && !written_by_server(name)) append_line(name, value, out);
  }
  if (facts.lines != nullptr) out.append(*facts.lines);
  if (facts.gzipped) out.append("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
  if (!facts.keep_alive) {
    out.append("Connection: close\r\n");
  } else if (facts.http10) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

void append_chunk(std::string_view chunk, std::string& out) {
  PAWL_CHECK(!chunk.empty());
  out.append(Digits(chunk.size(), 16)).append("\r\n").append(chunk).append("\r\n");
}

Response refusal_response(const Refusal& refusal) {
  Response response;
  response.status = refusal.status;
  response.content_type = "application/json";
  response.body.append(R"({"error":{"code":")")
      .append(refusal.code)
      .append(R"(","message":")")
      .append(refusal.message)
      .append("\"}}");
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  response.close = true;
  return response;
}

Response unanswered_response() {
  Response response = refusal_response({500, "internal_error", "the request was not answered"});
  response.close = false;
  return response;
}

}  // namespace pawl::http
