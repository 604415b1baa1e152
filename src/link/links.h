// Links: requests passed on to the nodes that serve their partitions, and their answers.
//
// call() hands a request to a peer. Its answer goes to the sink exactly as a local handler would
// give it: answer(), or begin_stream(), chunks, end_stream(). If no answer can come, `failed` is
// called instead. Exactly one of the two happens, once. A stream that breaks on the way just ends.
//
// All calls to a peer that wait when a connection (Line) is free travel as one batch (wire.h), and
// each answer returns when it is ready. A line is busy until its batch is answered; there are at
// most lines_max to a peer, so under load batches grow. A call that waits (a long poll, a stream)
// has a line for itself: so it holds nothing up, closing the line tells the peer that the client is
// gone, and a slow reader slows down only its own stream. Streams belong into such calls; in others
// they hold up the rest of their batch.
//
// Bounds: lines and waiting calls of a peer, time (below), chunks of a stream that the sink has not
// passed on (sink_bytes_max: then the line is not read until the sink has passed on half of it). An
// answer is held until it is complete, as a local one is.
//
// Thread: any. Sinks and `failed` are called on the link thread, which they must not block; they
// may call call(). After stop() `failed` is called inside of call().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/answer_sink.h"
#include "link/own_incarnation.h"
#include "link/wire.h"

namespace pawl::link {

struct Peer {
  std::string name;
  std::string incarnation;
  std::string url;  // http://host:port or https://host:port
};

// This process, as the others reach it.
struct OwnPeer {
  std::string name;
  OwnIncarnation incarnation;
  std::string url;
};

// NotSent: the peer never had the whole request, or refused it before anything was done.
// NotMine: the peer does not serve the partition in that epoch, or is another process by now.
// Unknown: the request was sent and no answer came: it may have happened.
// Refused: the peer has another cluster key, or speaks no common link version. Nothing was done.
enum class LinkFailure : uint8_t { NotSent, NotMine, Unknown, Refused };

struct LinkCall {
  Peer peer;
  Passed passed;
  std::shared_ptr<http::AnswerSink> sink;
  std::function<void(LinkFailure)> failed;
};

struct LinksConfig {
  std::string key;   // ClusterKey::derive(cluster_id, "link")
  std::string name;  // of this node
  OwnIncarnation incarnation;
  Versions versions = {};

  size_t lines_max = 32;             // to one peer, for calls that do not wait
  size_t waiting_lines_max = 1024;   // to one peer, for those that do
  size_t queued_calls_max = 16'384;  // to one peer, before they are sent; more: NotSent
  size_t queued_bytes_max = 256 * 1024 * 1024;
  size_t sink_bytes_max = 256 * 1024;

  int connect_ms_max = 2'000;
  // For calls that do not wait, without a byte from the peer: Unknown. Before a call is sent:
  // NotSent.
  int answer_ms_max = 15'000;
  int idle_ms_max = 20'000;  // of an unused line; less than the peer's ServerConfig::idle_ms

  std::string tls_ca_file;  // PEM; for https:// peers. Empty: the system's authorities
};

struct LinkStats {
  uint64_t passed_on = 0;  // calls that were sent
  uint64_t batches = 0;
  uint64_t not_sent = 0;
  uint64_t not_mine = 0;
  uint64_t unknown = 0;
  uint64_t refused = 0;
  uint64_t streams_broken = 0;
  uint64_t lines = 0;  // open now

  // From call() to the answer, of calls that do not wait.
  static constexpr std::array<uint32_t, 10> kBoundsUs = {
      250, 500, 1'000, 2'500, 5'000, 10'000, 50'000, 250'000, 1'000'000, 5'000'000};
  std::array<uint64_t, kBoundsUs.size() + 1> forwards = {};  // up to each bound, and beyond
  uint64_t forward_us = 0;                                   // their sum
};

class Links {
 public:
  static Result<std::unique_ptr<Links>> start(LinksConfig config);
  Links& operator=(Links&&) = delete;
  ~Links();  // stop()

  void call(LinkCall call);
  // Those to the same peer travel together, as far as they fit into a batch: for the requests of
  // one poll round.
  void call_many(std::vector<LinkCall> calls);

  // The process is gone, as others have found out: its calls fail now.
  void drop(const std::string& incarnation);

  // What is under way fails. Not from the link thread.
  void stop();

  LinkStats stats() const;
  std::vector<std::string> warnings() const;

 private:
  class Loop;
  explicit Links(std::unique_ptr<Loop> loop);
  const std::unique_ptr<Loop> loop_;
};

}  // namespace pawl::link
