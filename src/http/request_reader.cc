#include "http/request_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "http/gzip.h"
#include "http/request_id.h"

namespace pawl::http {
namespace {

constexpr size_t kBodyReserveMax = 64 * 1024;  // a promised length is believed only so far

constexpr Refusal kCorruptGzip{400, "bad_gzip", "the request body is not valid gzip"};
constexpr Refusal kBodyTooLarge{413, "body_too_large", "the request body is too large"};

}  // namespace

size_t RequestReader::feed(std::string_view input) {
  size_t taken = 0;
  if (state_ == State::Idle) {
    // RFC 9112, 2.2: a server ignores an empty line where it expects a request line.
    if (!blank_line_skipped_ && input.starts_with("\r\n")) {
      blank_line_skipped_ = true;
      taken = 2;
    }
    if (input.size() == taken || (!blank_line_skipped_ && input == "\r")) return taken;
    state_ = State::Head;
  }
  if (state_ == State::Head) taken += feed_head(input.substr(taken));
  if (state_ == State::Body) taken += feed_body(input.substr(taken));
  return taken;
}

bool RequestReader::take_continue_wish() { return std::exchange(continue_wish_, false); }

Request RequestReader::take_request() {
  PAWL_CHECK(state_ == State::Done);
  state_ = State::Idle;
  blank_line_skipped_ = false;
  scanner_.reset();
  Request taken = std::move(request_);
  request_ = Request{};
  return taken;
}

void RequestReader::refuse(const Refusal& refusal) {
  refusal_ = refusal;
  request_ = Request{};
  state_ = State::Refused;
}

size_t RequestReader::feed_head(std::string_view input) {
  const size_t size = scanner_.scan(input);
  if (scanner_.refusal()) {
    refuse(*scanner_.refusal());
    return 0;
  }
  if (size == 0) return 0;
  if (auto refusal = parse_head(input.substr(0, size), *limits_, head_)) {
    refuse(*refusal);
    return size;
  }
  own_head(input.substr(0, size));
  state_ = State::Body;
  if (head_.chunked) {
    chunked_.reset();
    continue_wish_ = head_.expects_continue;
  } else if (head_.content_length == 0) {
    finish();
  } else {
    request_.body_bytes.reserve(
        static_cast<size_t>(std::min<uint64_t>(head_.content_length, kBodyReserveMax)));
    continue_wish_ = head_.expects_continue;
  }
  return size;
}

size_t RequestReader::feed_body(std::string_view input) {
  size_t taken = 0;
  if (head_.chunked) {
    taken = chunked_.feed(input, request_.body_bytes, limits_->body_bytes_max);
    if (chunked_.refusal()) {
      refuse(*chunked_.refusal());
    } else if (chunked_.done()) {
      finish();
    }
  } else {
    const uint64_t missing = head_.content_length - request_.body_bytes.size();
    taken = static_cast<size_t>(std::min<uint64_t>(missing, input.size()));
    request_.body_bytes.append(input.substr(0, taken));
    if (taken == missing) finish();
  }
  if (taken > 0) continue_wish_ = false;  // it did not wait
  return taken;
}

void RequestReader::finish() {
  continue_wish_ = false;
  if (head_.coding == BodyCoding::Gzip && !request_.body_bytes.empty()) {
    std::string plain;
    const InflateFault fault = gunzip(request_.body_bytes, limits_->body_bytes_max, plain);
    if (fault != InflateFault::None) {
      refuse(fault == InflateFault::TooLarge ? kBodyTooLarge : kCorruptGzip);
      return;
    }
    request_.body_bytes = std::move(plain);
  }
  request_.body = request_.body_bytes;
  state_ = State::Done;
}

// One allocation holds the header table, the head, the peer and the id.
void RequestReader::own_head(std::string_view head_bytes) {
  const size_t table_bytes = head_.headers.size() * sizeof(Header);
  request_.head_bytes = std::make_unique_for_overwrite<std::byte[]>(
      table_bytes + head_bytes.size() + peer_.size() + kRequestIdBytes);
  char* text = reinterpret_cast<char*>(request_.head_bytes.get() + table_bytes);
  std::memcpy(text, head_bytes.data(), head_bytes.size());
  const auto moved = [&](std::string_view view) {
    if (view.empty()) return std::string_view{};
    return std::string_view(text + (view.data() - head_bytes.data()), view.size());
  };
  auto* table = reinterpret_cast<Header*>(request_.head_bytes.get());
  for (size_t i = 0; i < head_.headers.size(); ++i) {
    new (table + i) Header{moved(head_.headers[i].name), moved(head_.headers[i].value)};
  }
  request_.headers = {table, head_.headers.size()};
  request_.method = moved(head_.method);
  request_.target = moved(head_.target);
  request_.path = moved(head_.path);
  request_.query = moved(head_.query);
  char* end = text + head_bytes.size();
  peer_.copy(end, peer_.size());
  request_.peer = {end, peer_.size()};
  if (!head_.request_id.empty()) {
    request_.id = moved(head_.request_id);
  } else {
    made_id_.clear();
    append_request_id(made_id_);
    PAWL_CHECK(made_id_.size() == kRequestIdBytes);
    made_id_.copy(end + peer_.size(), kRequestIdBytes);
    request_.id = {end + peer_.size(), kRequestIdBytes};
  }
  // The views in head_ point into the caller's buffer, which it may now reuse; its flags stay.
  head_.method = head_.target = head_.path = head_.query = head_.request_id = {};
  head_.headers.clear();
}

}  // namespace pawl::http
