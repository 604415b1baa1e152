// FetchDesk: brings jobs to workers from whichever partition has them.
//
// A fetch goes through the queues from left to right. For each it asks the partitions here that may
// have jobs (ReadyBoard), who was asked longest ago first, and then the other nodes, each as a
// whole; these come first when they had to stand back for kPeerPause. An answer without jobs means
// that every partition was asked or known to be empty; while one cannot be asked, the fetch tries
// again, kOwnerWait long, and then fails. A fetch that may wait then parks here, without a thread,
// until a queue becomes ready here or another node hints that it has; hints may be lost, so it also
// looks everywhere each kLookEverywhere, and once more at its end.
//
// With an Idempotency-Key the same jobs must be found again: then the partitions are asked in an
// order that follows from the key, each pass under a key of its own.
//
// Each part that a partition leases is durable when it answers; parts are never taken back. If one
// fails after another gave jobs, the jobs are the answer.
//
// Thread: any; the desk never blocks.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "front/fetch_answer.h"
#include "front/fetch_order.h"
#include "front/passing.h"
#include "front/ready_board.h"

namespace pawl::front {

inline constexpr std::chrono::milliseconds kPeerPause{1000};
inline constexpr std::chrono::milliseconds kLookEverywhere{5000};

// Where a node tells another one, over their link, that a queue has jobs; the body is its name.
inline constexpr std::string_view kHintPath = "/v1/internal/hint";
// The partition number of calls that are for a node and not for one of its partitions.
inline constexpr uint16_t kWholeNode = 0xffff;

class FetchDesk {
 public:
  FetchDesk(api::ServerParts& server, PartitionMap& map, Passing& passing, link::Links* links,
            Alarm& alarm, link::OwnPeer self);
  ~FetchDesk();

  struct Wish {
    FetchOrder order;
    http::RequestParts request;  // as it came; parts of it are asked with its headers
    const api::Route* route = nullptr;
    std::function<bool()> is_gone = {};         // the worker does not wait any more
    bool here_only = false;                     // another node asks: only what is here counts
    std::optional<link::Peer> interested = {};  // that node, if it goes on waiting
  };
  using Done = std::function<void(FetchedJobs)>;
  void fetch(Wish wish, Done done);

  // A queue of this partition has jobs. By its engine's thread.
  void became_ready(uint16_t partition, const std::string& queue);
  void partition_changed(uint16_t partition);  // it begins to be served here
  // Another node says that it has jobs in the queue.
  void hinted(const std::string& queue, const std::string& incarnation) {
    wake_one(queue, incarnation);
  }
  // Answers all that wait, with what they have.
  void stop();

 private:
  struct Visit;
  struct Interest {
    std::string queue;
    link::Peer peer;
  };

  void start_pass(const std::shared_ptr<Visit>& visit);
  void drive(const std::shared_ptr<Visit>& visit);
  bool step(const std::shared_ptr<Visit>& visit);
  void begin_queue(Visit& visit);
  bool ask_here(const std::shared_ptr<Visit>& visit);
  bool ask_peer(const std::shared_ptr<Visit>& visit);
  void ask(const std::shared_ptr<Visit>& visit, const ReadyBoard::Choice& choice);
  void take_part(const std::shared_ptr<Visit>& visit, http::Response&& answer, uint32_t asked,
                 const ReadyBoard::Choice& choice);
  void take(const std::shared_ptr<Visit>& visit, http::Response&& answer);
  void answered(const std::shared_ptr<Visit>& visit);
  void end_pass(const std::shared_ptr<Visit>& visit);
  bool is_complete(const Visit& visit) const;
  void try_again(const std::shared_ptr<Visit>& visit);
  void park(const std::shared_ptr<Visit>& visit);
  bool unpark(const std::shared_ptr<Visit>& visit);
  void finish(const std::shared_ptr<Visit>& visit);
  void wake_one(const std::string& queue, const std::string& incarnation);
  void wake_soon(const std::string& queue, const std::string& incarnation);
  void note_interest(const Visit& visit);
  void tell_interested(const std::string& queue);
  std::vector<uint16_t> partitions_here() const;

  api::ServerParts& server_;
  PartitionMap& map_;
  Passing& passing_;
  link::Links* const links_;
  Alarm& alarm_;
  const link::OwnPeer self_;
  ReadyBoard board_;

  std::mutex mutex_;
  std::list<std::shared_ptr<Visit>> parked_;  // guarded by mutex_
  std::vector<Interest> interests_;           // guarded by mutex_
  std::map<std::string, Alarm::Time, std::less<>>
      peers_asked_;        // guarded by mutex_: by incarnation
  bool stopping_ = false;  // guarded by mutex_
};

}  // namespace pawl::front
