#include "http/request_reader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "http/request_id.h"

namespace pawl::http {
namespace {

constexpr size_t kBodyReserveMax = 64 * 1024;  // an announced length is trusted only up to here

constexpr Refusal kCorruptGzip{400, "bad_gzip", "the request body is not valid gzip"};

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
  if (state_ == State::Dropping) taken += drop(input.substr(taken));
  return taken;
}

bool RequestReader::take_continue_wish() { return std::exchange(continue_wish_, false); }

void RequestReader::end_request() {
  state_ = State::Idle;
  blank_line_skipped_ = false;
  continue_wish_ = false;
  scanner_.reset();
  head_bytes_ = 0;
}

Request RequestReader::take_request() {
  PAWL_CHECK(state_ == State::Done);
  end_request();
  Request taken = std::move(request_);
  request_ = Request{};
  return taken;
}

void RequestReader::refuse(const Refusal& refusal) {
  refusal_ = refusal;
  request_ = Request{};
  head_bytes_ = 0;
  continue_wish_ = false;
  state_ = State::Refused;
}

size_t RequestReader::held_bytes() const {
  const bool announced = state_ == State::Body && !head_.chunked;
  return head_bytes_ +
         (announced ? static_cast<size_t>(head_.content_length) : request_.body_bytes.size());
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
  head_bytes_ = size;
  state_ = State::HeadRead;
  return size;
}

void RequestReader::read_body(size_t bytes_max) {
  PAWL_CHECK(state_ == State::HeadRead);
  body_bytes_max_ = std::min(bytes_max, limits_->body_bytes_max);
  if (head_.chunked) {
    chunked_.reset();
  } else if (head_.content_length == 0) {
    state_ = State::Done;
    return;
  } else if (head_.content_length > body_bytes_max_) {
    refuse(kBodyTooLarge);
    return;
  } else {
    request_.body_bytes.reserve(
        static_cast<size_t>(std::min<uint64_t>(head_.content_length, kBodyReserveMax)));
  }
  state_ = State::Body;
  continue_wish_ = head_.expects_continue;
}

void RequestReader::drop_body(size_t bytes_max) {
  PAWL_CHECK(state_ == State::HeadRead);
  request_ = Request{};
  head_bytes_ = 0;
  if (!head_.chunked && head_.content_length == 0) return end_request();
  body_bytes_max_ = bytes_max;
  dropped_ = 0;
  chunked_.reset();
  state_ = State::Dropping;
  // A client that waits for "100 Continue" may send the body or the next request: that cannot be
  // known.
  if (head_.expects_continue || (!head_.chunked && head_.content_length > bytes_max)) {
    refuse(kBodyTooLarge);
  }
}

size_t RequestReader::drop(std::string_view input) {
  size_t taken = 0;
  if (head_.chunked) {
    drop_scratch_.clear();
    taken = chunked_.feed(input, drop_scratch_, body_bytes_max_);
    dropped_ += taken;
    if (chunked_.refusal() || dropped_ > body_bytes_max_) {
      refuse(kBodyTooLarge);
    } else if (chunked_.done()) {
      end_request();
    }
  } else {
    taken = static_cast<size_t>(std::min<uint64_t>(head_.content_length - dropped_, input.size()));
    dropped_ += taken;
    if (dropped_ == head_.content_length) end_request();
  }
  return taken;
}

size_t RequestReader::feed_body(std::string_view input) {
  size_t taken = 0;
  if (head_.chunked) {
    taken = chunked_.feed(input, request_.body_bytes, body_bytes_max_);
    if (chunked_.refusal()) {
      refuse(*chunked_.refusal());
    } else if (chunked_.done()) {
      finish();
    }
  } else {
    std::string& body = request_.body_bytes;
    const auto length = static_cast<size_t>(head_.content_length);
    const size_t missing = length - body.size();
    taken = std::min(missing, input.size());
    // Once the initial reserve is full, the announced length is trusted: one allocation for the
    // rest.
    if (body.size() + taken > body.capacity()) body.reserve(length);
    body.append(input.substr(0, taken));
    if (taken == missing) finish();
  }
  if (taken > 0) continue_wish_ = false;  // it did not wait
  return taken;
}

void RequestReader::finish() {
  continue_wish_ = false;
  request_.body = request_.body_bytes;
  const bool packed = head_.coding == BodyCoding::Gzip && !request_.body_bytes.empty();
  state_ = packed ? State::Packed : State::Done;
}

InflateFault RequestReader::try_inflate(size_t bytes_max) {
  PAWL_CHECK(state_ == State::Packed);
  std::string plain;
  const InflateFault fault = gunzip(request_.body_bytes, bytes_max, plain);
  if (fault != InflateFault::TooLarge) give_plain(fault, std::move(plain));
  return fault;
}

void RequestReader::inflate(size_t bytes_max) {
  if (try_inflate(bytes_max) == InflateFault::TooLarge) refuse(kBodyTooLarge);
}

std::string RequestReader::take_packed() {
  PAWL_CHECK(state_ == State::Packed);
  request_.body = {};
  return std::exchange(request_.body_bytes, {});
}

void RequestReader::give_plain(InflateFault fault, std::string plain) {
  PAWL_CHECK(state_ == State::Packed);
  switch (fault) {
    case InflateFault::None:
      request_.body_bytes = std::move(plain);
      request_.body = request_.body_bytes;
      state_ = State::Done;
      return;
    case InflateFault::Corrupt:
      return refuse(kCorruptGzip);
    case InflateFault::TooLarge:
      return refuse(kBodyTooLarge);
    case InflateFault::NoRoom:
      return refuse(kNoRoom);
  }
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
    ids_->append_to(made_id_);
    PAWL_CHECK(made_id_.size() == kRequestIdBytes);
    made_id_.copy(end + peer_.size(), kRequestIdBytes);
    request_.id = {end + peer_.size(), kRequestIdBytes};
  }
  // The views in head_ point into the caller's buffer, which it may now reuse; its flags stay.
  head_.method = head_.target = head_.path = head_.query = head_.request_id = {};
  head_.headers.clear();
}

}  // namespace pawl::http
