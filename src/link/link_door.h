// LinkDoor: the end of a link at the node that serves a partition. It takes the batches that other
// nodes send to kLinkPath, hands their requests on, and answers each as it is ready.
//
// A batch is refused whole, and nothing of it was done, if its MAC is wrong (401, counted as a
// warning), its version is not spoken (426), it is meant for another process (412), it came before
// (409), or it cannot be read (400). API keys play no role here: the server's judge leaves
// kLinkPath to judge().
//
// The server needs ServerConfig::wrapping_bytes_max = kWrappingBytesMax. Answers may be as large as
// any (Stream::write_answer). A stream is cut when more than stream_bytes_max of it wait for a
// sender that reads too slowly.
//
// Thread: judge() and serve() on any; answers come from any. The door may be destroyed before its
// responders.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/request.h"
#include "http/responder.h"
#include "http/server.h"
#include "link/own_incarnation.h"
#include "link/replay_guard.h"
#include "link/seal.h"
#include "link/warnings.h"
#include "link/wire.h"

namespace pawl::link {

struct DoorConfig {
  std::string key;  // ClusterKey::derive(cluster_id, "link")
  OwnIncarnation incarnation;
  Versions versions = {};
  size_t stream_bytes_max = 1024 * 1024;
};

struct DoorStats {
  uint64_t batches = 0;   // taken
  uint64_t calls = 0;     // handed on
  uint64_t not_mine = 0;  // of them, those that nobody took
  uint64_t refused = 0;   // batches
};

class LinkDoor {
 public:
  // Hands a request on. False: this node does not serve the partition in that epoch, and the
  // request was not decided; the responder must then be where it was. Called in serve().
  using Deliver = std::function<bool(uint16_t partition, uint64_t epoch, uint8_t hops,
                                     http::Request&& request, http::Responder&& responder)>;

  LinkDoor(DoorConfig config, Deliver deliver);

  // Of a request's head: without the cluster's key no byte of its body is taken.
  http::Verdict judge(const http::Request& request);
  void serve(http::Request&& request, http::Responder responder);

  std::vector<std::string> warnings() const { return warnings_.list(); }
  DoorStats stats() const;

 private:
  struct Refusal {
    int status;
    const char* code;
    std::string message;
  };
  void take(const Batch& batch, http::Responder responder, std::string proof);
  http::Response refusal(const Refusal& reason, const std::string& proof);
  http::Response wrong_key(const http::Request& request);

  const DoorConfig config_;
  const Deliver deliver_;
  const Seal seal_;
  ReplayGuard guard_;
  Warnings warnings_;
  std::atomic<uint64_t> batches_{0};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> not_mine_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace pawl::link
