#include "link/wire.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/codec.h"

namespace pawl::link {
namespace {

constexpr size_t kFrameHeadBytesMax = 1024 * 1024;
constexpr size_t kTrustedBytes = 64 * 1024 * 1024;  // of an announced length, when room is made

void append_sized(std::string& out, std::string_view bytes) {
  codec::put_varint(out, bytes.size());
  out.append(bytes);
}

template <class T>
void append_record(std::string& out, const T& record) {
  const size_t at = out.size();
  codec::encode(out, record);
  codec::put_length_before(out, at);
}

bool fit_for_a_response(const AnswerHead& head) { return head.status >= 200 && head.status <= 599; }

}  // namespace

void append_batch_head(std::string& out, const BatchHead& head) { append_record(out, head); }

void append_call(std::string& out, const Passed& call) {
  CallHead head{.partition = call.partition,
                .hops = call.hops,
                .epoch = call.epoch,
                .method = call.request.method,
                .target = call.request.target,
                .peer = call.request.peer,
                .id = call.request.id,
                .headers = {}};
  head.headers.reserve(call.request.headers.size());
  for (const auto& [name, value] : call.request.headers) head.headers.push_back({name, value});
  append_record(out, head);
  append_sized(out, call.request.body);
}

size_t bytes_of(const Passed& call) {
  constexpr size_t kNumbersBytesMax = 128;  // and tags and lengths
  constexpr size_t kHeaderBytesMax = 24;
  const http::RequestParts& request = call.request;
  size_t bytes = kNumbersBytesMax + request.method.size() + request.target.size() +
                 request.peer.size() + request.id.size() + request.body.size();
  for (const auto& [name, value] : request.headers)
    bytes += kHeaderBytesMax + name.size() + value.size();
  return bytes;
}

std::optional<Batch> read_batch(std::string_view bytes) {
  codec::Reader reader(bytes);
  Batch batch;
  if (!codec::decode(reader.bytes(), batch.head) || reader.failed()) return std::nullopt;
  while (!reader.done()) {
    BatchedCall call;
    const std::string_view head = reader.bytes();
    call.body = reader.bytes();
    if (reader.failed() || batch.calls.size() == kBatchCallsMax) return std::nullopt;
    if (!codec::decode(head, call.head) || call.head.target.empty()) return std::nullopt;
    batch.calls.push_back(std::move(call));
  }
  if (reader.failed() || batch.calls.empty()) return std::nullopt;
  return batch;
}

http::RequestParts parts_of(const BatchedCall& call) {
  http::RequestParts parts{.method = std::string(call.head.method),
                           .target = std::string(call.head.target),
                           .headers = {},
                           .body = std::string(call.body),
                           .peer = std::string(call.head.peer),
                           .id = std::string(call.head.id)};
  parts.headers.reserve(call.head.headers.size());
  for (const NamedText& header : call.head.headers)
    parts.headers.emplace_back(header.name, header.value);
  return parts;
}

std::string frame_head(FrameKind kind, uint32_t number, size_t body_bytes) {
  std::string out(1, static_cast<char>(kind));
  codec::put_varints(out, number, body_bytes);
  codec::put_varint(out, 0);
  return out;
}

std::string frame_head(FrameKind kind, uint32_t number, const http::Response& response) {
  AnswerHead head{.status = static_cast<uint16_t>(response.status),
                  .content_type = response.content_type,
                  .close = response.close,
                  .headers = {}};
  head.headers.reserve(response.headers.size());
  for (const auto& [name, value] : response.headers) head.headers.push_back({name, value});
  std::string out(1, static_cast<char>(kind));
  codec::put_varints(out, number, response.body.size());
  append_record(out, head);
  return out;
}

// Short: too few bytes, or a number that is none; the caller bounds how many it waits for.
FrameReader::Head FrameReader::read_head(std::string_view bytes, size_t& used) {
  codec::Reader reader(bytes);
  const std::string_view kind = reader.raw(1);
  const uint64_t number = reader.varint();
  const uint64_t body_bytes = reader.varint();
  const std::string_view head_bytes = reader.bytes();
  if (reader.failed()) return Head::Short;
  const auto code = static_cast<uint8_t>(kind.front());
  if (code < static_cast<uint8_t>(FrameKind::Answer) ||
      code > static_cast<uint8_t>(FrameKind::NotMine))
    return Head::Bad;
  if (number >= kBatchCallsMax || body_bytes > kAnswerBytesMax) return Head::Bad;
  frame_ = Frame{.kind = static_cast<FrameKind>(code), .number = static_cast<uint32_t>(number)};
  if (frame_.kind == FrameKind::Answer || frame_.kind == FrameKind::StreamHead) {
    AnswerHead head;
    if (!codec::decode(head_bytes, head) || !fit_for_a_response(head)) return Head::Bad;
    frame_.response.status = head.status;
    frame_.response.content_type = head.content_type;
    frame_.response.close = head.close;
    for (const NamedText& header : head.headers)
      frame_.response.headers.emplace_back(header.name, header.value);
  }
  frame_.response.body.reserve(static_cast<size_t>(std::min<uint64_t>(body_bytes, kTrustedBytes)));
  left_ = static_cast<size_t>(body_bytes);
  used = static_cast<size_t>(head_bytes.data() + head_bytes.size() - bytes.data());
  return Head::Complete;
}

// Takes the head of the next frame from the front of `bytes`, or all of them if it goes on behind.
FrameReader::Head FrameReader::begin_frame(std::string_view& bytes) {
  const size_t before = pending_.size();
  if (before > 0) pending_.append(bytes.substr(0, kFrameHeadBytesMax - before));
  const std::string_view at_hand = before > 0 ? std::string_view(pending_) : bytes;
  size_t used = 0;
  const Head head = read_head(at_hand, used);
  if (head == Head::Short) {
    if (at_hand.size() >= kFrameHeadBytesMax) return Head::Bad;
    if (before == 0) pending_.assign(bytes);
    bytes = {};
  }
  if (head != Head::Complete) return head;
  bytes.remove_prefix(used - before);
  pending_.clear();
  in_body_ = true;
  return head;
}

bool FrameReader::feed(std::string_view bytes, const std::function<void(Frame&&)>& take) {
  while (!bytes.empty()) {
    if (!in_body_ && begin_frame(bytes) == Head::Bad) return false;
    if (!in_body_) return true;
    const size_t count = std::min(left_, bytes.size());
    frame_.response.body.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    left_ -= count;
    if (left_ > 0) return true;
    in_body_ = false;
    take(std::exchange(frame_, Frame{}));
  }
  return true;
}

}  // namespace pawl::link
