// PeerLines: the lines to one process of a peer, and the calls that wait for one. Link thread only.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link/client_tls.h"
#include "link/line.h"
#include "link/target.h"

namespace pawl::link {

// What all peers share.
struct PeersContext : LineContext {
  uint64_t counter = 0;                             // of the last batch
  std::vector<PeerLines*> unsettled;                // have calls that may be sent now
  std::vector<Line*> more;                          // have more to read
  std::vector<std::unique_ptr<Line>> former_lines;  // destroyed at the end of the round
  bool any_paused = false;
  std::function<ClientTls*()> tls;  // null: it can not be set up
  // Answers by PeerLines::found(); false: it can not be asked.
  std::function<bool(const std::string& peer_key, const Target& target)> look_up;
};

class PeerLines {
 public:
  PeerLines(PeersContext& context, Peer peer, std::string key);
  PeerLines& operator=(PeerLines&&) = delete;
  ~PeerLines();

  void add(std::shared_ptr<OngoingCall> call);
  void send_queued();       // what free lines can carry, in batches
  void settle(Line& line);  // after something has happened on it
  void found(std::vector<sockaddr_storage> addresses);
  void drop();
  void check_times();
  void resume_paused();

  bool unused() const { return lines_.empty() && calm_.empty() && waiting_.empty(); }
  const Peer& peer() const { return peer_; }

 private:
  using Calls = std::deque<std::shared_ptr<OngoingCall>>;

  bool reachable();
  void fail_queued(LinkFailure failure);
  bool waited_too_long(const OngoingCall& call) const;
  std::shared_ptr<OngoingCall> next(Calls& calls);
  Load load_of(std::vector<std::shared_ptr<OngoingCall>> calls, bool waits);
  void carry(Load&& load);
  Line* open();
  void lost(Load&& load, Line::Loss loss);
  void remove(Line& line);
  void mark_unsettled();

  PeersContext& context_;
  const Peer peer_;
  const std::string key_;
  const std::optional<Target> target_;
  std::vector<sockaddr_storage> addresses_;
  size_t address_ = 0;  // the one in use
  bool looking_up_ = false;
  bool unsettled_ = false;
  uint32_t version_;
  Calls calm_;     // do not wait
  Calls waiting_;  // do
  size_t queued_bytes_ = 0;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<Line*> idle_;  // the last used at the end
  size_t busy_calm_ = 0;
  size_t busy_waiting_ = 0;
};

}  // namespace pawl::link
