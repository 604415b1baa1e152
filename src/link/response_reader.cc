#include "link/response_reader.h"

#include <algorithm>

#include "base/read_number.h"
#include "http/parser.h"
#include "link/wire.h"

namespace pawl::link {
namespace {

constexpr size_t kHeadBytesMax = 64 * 1024;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

}  // namespace

size_t ResponseReader::feed(std::string_view input, std::string& body) {
  if (state_ == State::Head) {
    const size_t before = head_.size();
    head_.append(input.substr(0, kHeadBytesMax - before));
    const size_t end = head_.find(kEndOfHead, before < 3 ? 0 : before - 3);
    if (end == std::string::npos) {
      if (head_.size() == kHeadBytesMax) state_ = State::Bad;
      return head_.size() - before;
    }
    head_.resize(end + 2);
    state_ = State::Body;
    if (!read_head(head_)) state_ = State::Bad;
    if (state_ == State::Body && !chunked_ && left_ == 0) state_ = State::Done;
    return end + kEndOfHead.size() - before;
  }
  if (state_ != State::Body) return 0;
  if (!chunked_) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(left_, input.size()));
    body.append(input.substr(0, count));
    left_ -= count;
    if (left_ == 0) state_ = State::Done;
    return count;
  }
  const size_t taken = decoder_.feed(input, body, SIZE_MAX);
  if (decoder_.refusal()) state_ = State::Bad;
  if (decoder_.done()) state_ = State::Done;
  return taken;
}

bool ResponseReader::read_head(std::string_view head) {
  const size_t end = head.find("\r\n");
  const std::string_view line = head.substr(0, end);
  if (line.size() < 12 || !line.starts_with("HTTP/1.1 ")) return false;
  if (!read_number(line.substr(9, 3), status_) || status_ < 200) return false;
  head.remove_prefix(end + 2);
  bool sized = false;
  while (!head.empty()) {
    const size_t next = head.find("\r\n");
    const auto field = http::parse_field(head.substr(0, next));
    if (!field) return false;
    head.remove_prefix(next + 2);
    if (http::equals_ignoring_case(field->name, "content-length")) {
      if (sized || !read_number(field->value, left_)) return false;
      sized = true;
    } else if (http::equals_ignoring_case(field->name, "transfer-encoding")) {
      if (chunked_ || field->value != "chunked") return false;
      chunked_ = true;
    } else if (http::equals_ignoring_case(field->name, "connection")) {
      keep_alive_ = !http::equals_ignoring_case(field->value, "close");
    } else if (http::equals_ignoring_case(field->name, kLinkHeader)) {
      link_header_ = field->value;
    }
  }
  return sized != chunked_;
}

}  // namespace pawl::link
