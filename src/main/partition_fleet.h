// PartitionFleet: the partitions that this process serves, and the front that brings requests to
// them: all of a directory, or those of a cluster that it has at the time.
//
// Threads: begin…(), begin_drain() and stop() by one; serve() and give_up() as PartitionHost says;
// the rest by any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cluster/member.h"
#include "front/front.h"
#include "link/link_door.h"
#include "link/links.h"
#include "main/served_partition.h"

namespace pawl {

class PartitionFleet : public cluster::PartitionHost {
 public:
  // `vault`: as in PartitionSurroundings. `member`: null = this server is alone.
  PartitionFleet(const ServeOptions& options, api::ServerParts& server, const actions::Vault* vault,
                 cluster::Member* member);
  ~PartitionFleet() override;

  // The partitions of a server that is alone; a single null is the store of the options.
  Status serve_all(std::vector<std::unique_ptr<Store>> stores);
  // Takes partitions as the cluster allows, from now on.
  Status join_cluster();

  http::Verdict judge(http::Request& request);
  http::RoundHandler round_handler();

  bool serves_any() const { return map_.any_here().has_value(); }

  // Lets other nodes take the partitions while this one still answers: what they pass on until they
  // know of it is refused undecided. Returns when nothing is served here, or when nobody takes
  // more.
  void hand_over();
  void begin_drain();
  // Ends all: commits what was decided.
  void stop();
  // Why a partition of a server that is alone has failed, if one has.
  std::optional<Error> failed() const;

  Status serve(uint16_t partition, std::unique_ptr<PostgresStore> store) override;
  void give_up(uint16_t partition, bool lost) override;
  void entered_anew(const cluster::NodeIdentity& self) override;
  uint64_t journal_head(uint16_t partition) override;

  const front::PartitionMap& map() const { return map_; }
  // Of a node of a cluster, with what its links warn of.
  cluster::ClusterView view() const;
  api::NodeFigures figures() const;

 private:
  Result<std::unique_ptr<ServedPartition>> recover(uint16_t partition,
                                                   std::unique_ptr<Store> store);
  void note_view();
  void keep_format();
  bool others_live() const;
  PartitionSurroundings around();

  const ServeOptions& options_;
  api::ServerParts& server_;
  const actions::Vault* const vault_;
  cluster::Member* const member_;
  CourierDesk desk_;
  actions::HttpClient outgoing_;
  front::PartitionMap map_;
  link::OwnIncarnation incarnation_;  // of links, door and front
  std::unique_ptr<link::Links> links_;
  std::unique_ptr<front::Front> front_;  // null: there is one partition, and no other node
  std::unique_ptr<link::LinkDoor> door_;
  std::atomic<uint64_t> recoveries_{0};
  std::atomic<uint64_t> recovery_us_{0};
  mutable std::mutex mutex_;
  std::condition_variable given_up_;
  std::map<uint16_t, std::unique_ptr<ServedPartition>> served_;  // guarded by mutex_
};

}  // namespace pawl
