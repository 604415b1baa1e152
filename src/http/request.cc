#include "http/request.h"

#include <utility>

#include "http/parser.h"

namespace pawl::http {

// A small body lives inside the std::string itself, so its view has to follow the move.
Request::Request(Request&& other) noexcept { *this = std::move(other); }

Request& Request::operator=(Request&& other) noexcept {
  method = other.method;
  target = other.target;
  path = other.path;
  query = other.query;
  peer = other.peer;
  id = other.id;
  headers = other.headers;
  verdict = other.verdict;
  verdict_epoch = other.verdict_epoch;
  head_bytes = std::move(other.head_bytes);
  body_bytes = std::move(other.body_bytes);
  body = body_bytes;
  other.method = other.target = other.path = other.query = other.body = other.peer = other.id = {};
  other.headers = {};
  other.body_bytes.clear();
  return *this;
}

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (equals_ignoring_case(header.name, name)) return header.value;
  }
  return {};
}

bool Request::has_header(std::string_view name) const {
  for (const Header& header : headers) {
    if (equals_ignoring_case(header.name, name)) return true;
  }
  return false;
}

}  // namespace pawl::http
