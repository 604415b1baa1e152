// The bytes of a link: how requests and their answers travel between two nodes. Pure.
//
// A batch is the body of one POST to kLinkPath:
//   length, BatchHead; then for each call: length, CallHead; length, body.
// Its calls are numbered from 0 in their order. The request's header kLinkHeader is
// "VERSION MAC", see seal.h.
//
// The body of the response is a sequence of frames, each with the number of its call:
//   kind, number, length of the body, length, AnswerHead (Answer and StreamHead only), body.
// A call has one Answer or NotMine, or a StreamHead, Chunks and a StreamEnd. Frames of
// several calls mix. Lengths and numbers are varints; the heads are records of base/codec.h, whose
// unknown fields are skipped.
//
// Versions: a sender begins with the lowest version that it speaks and goes on with the highest
// that both speak, as the peer's answers tell it. A node that does not speak a batch's version
// refuses it whole (426).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/answer_sink.h"
#include "http/responder.h"

namespace pawl::link {

inline constexpr std::string_view kLinkPath = "/v1/internal/link";
inline constexpr std::string_view kLinkHeader = "Pawl-Link";

struct Versions {
  uint32_t lowest = 1;
  uint32_t highest = 1;

  bool speak(uint32_t version) const { return lowest <= version && version <= highest; }
};

// Bytes of a batch beyond the bodies of its calls: what ServerConfig::wrapping_bytes_max must
// allow.
inline constexpr size_t kWrappingBytesMax = 1024 * 1024;
// // A batch of more than one call holds at most these, so that it fits into kWrappingBytesMax.
inline constexpr size_t kBatchCallsMax = 256;
inline constexpr size_t kBatchBytesMax = 512 * 1024;
// What a node accepts of an answer; more is a fault of the peer.
inline constexpr size_t kAnswerBytesMax = size_t{1} << 31;

struct NamedText {
  std::string_view name;
  std::string_view value;
  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "value", self.value);
  }
};

struct BatchHead {
  std::string_view sender;                // the node's name
  std::string_view sender_incarnation;    // its process
  std::string_view receiver_incarnation;  // the process that the batch is meant for
  uint64_t counter = 0;                   // only grows in one incarnation of the sender
  static void fields(auto& self, auto&& visit) {
    visit(1, "sender", self.sender);
    visit(2, "sender_incarnation", self.sender_incarnation);
    visit(3, "receiver_incarnation", self.receiver_incarnation);
    visit(4, "counter", self.counter);
  }
};

struct CallHead {
  uint16_t partition = 0;
  uint8_t hops = 0;
  uint64_t epoch = 0;
  std::string_view method;
  std::string_view target;
  std::string_view peer;
  std::string_view id;
  std::vector<NamedText> headers;
  static void fields(auto& self, auto&& visit) {
    visit(1, "partition", self.partition);
    visit(2, "hops", self.hops);
    visit(3, "epoch", self.epoch);
    visit(4, "method", self.method);
    visit(5, "target", self.target);
    visit(6, "peer", self.peer);
    visit(7, "id", self.id);
    visit(8, "headers", self.headers);
  }
};

struct AnswerHead {
  uint16_t status = 0;
  std::string_view content_type;
  bool close = false;
  std::vector<NamedText> headers;
  static void fields(auto& self, auto&& visit) {
    visit(1, "status", self.status);
    visit(2, "content_type", self.content_type);
    visit(3, "close", self.close);
    visit(4, "headers", self.headers);
  }
};

// One request on its way to the node that serves its partition.
struct Passed {
  uint16_t partition = 0;
  uint64_t epoch = 0;  // in which the sender believes the peer to own it
  uint8_t hops = 0;    // links that it has passed before this one
  http::RequestParts request = {};
  bool waits = false;  // a long poll or a stream: travels alone, see links.h
};

void append_batch_head(std::string& out, const BatchHead& head);
void append_call(std::string& out, const Passed& call);
size_t bytes_of(const Passed& call);  // at most, as append_call() writes it

// Views into the decoded bytes.
struct BatchedCall {
  CallHead head;
  std::string_view body;
};
struct Batch {
  BatchHead head;
  std::vector<BatchedCall> calls;
};
// Nothing if the bytes are no batch; 1 to kBatchCallsMax calls.
std::optional<Batch> read_batch(std::string_view bytes);
http::RequestParts parts_of(const BatchedCall& call);

enum class FrameKind : uint8_t {
  Answer = 1,
  StreamHead = 2,
  Chunk = 3,
  StreamEnd = 4,
  NotMine = 5
};

// A frame without the bytes of its body, which follow.
std::string frame_head(FrameKind kind, uint32_t number, size_t body_bytes);
std::string frame_head(FrameKind kind, uint32_t number, const http::Response& response);

struct Frame {
  FrameKind kind = FrameKind::NotMine;
  uint32_t number = 0;
  http::Response response = {};  // Answer, StreamHead; of a Chunk only the body
};

// Bytes in pieces → frames.
class FrameReader {
 public:
  // Calls `take` for each frame that is complete. False: these are no frames; the rest of the
  // stream has no meaning.
  bool feed(std::string_view bytes, const std::function<void(Frame&&)>& take);
  bool between_frames() const { return pending_.empty() && !in_body_; }

 private:
  enum class Head : unsigned char { Complete, Short, Bad };
  Head read_head(std::string_view bytes, size_t& used);
  Head begin_frame(std::string_view& bytes);

  std::string pending_;  // the beginning of a frame's head
  Frame frame_;
  bool in_body_ = false;
  size_t left_ = 0;  // of its body
};

}  // namespace pawl::link
