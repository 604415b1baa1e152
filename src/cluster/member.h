// Member: this process as a node of a cluster: its lease, the partitions that it has, the vault
// that all nodes share.
//
// Partitions are taken by a few threads of its own, so that one that takes long to recover does not
// hold up the others, and given up by others, so that this waits for no recovery. Connections:
// one for each partition, `readers` shared by all, and one for the beats; opened one after another.
//
// Thread: join() to start() and leave() one at a time; everything else by any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/work_pool.h"
#include "cluster/cluster_key.h"
#include "cluster/lease_keeper.h"
#include "cluster/partition_host.h"
#include "store/directory_lock.h"

namespace pawl::cluster {

// Of a new database, unless said otherwise.
inline constexpr uint16_t kPartitionsOfCluster = 16;

struct MemberSetup {
  std::string database;     // a URL
  uint16_t partitions = 0;  // 0: as many as it has
  size_t readers = 4;
  std::string key_file;
  std::optional<std::string> passphrase = {};
  std::string data_dir;  // held by this process alone; it also says who this node was before
  std::string name;
  std::string url;
  std::string version;
  uint64_t format = 1;       // the newest format of the journal that this node speaks
  bool hold_format = false;  // keep_format() does not raise the one in force
  // Another process lives under this node's name: it can serve nothing any more.
  LeaseKeeper::Lost lost = [](const Error&) {};
  LeaseTimes times = {};
};

struct MemberCounts {
  uint64_t takeovers = 0;  // partitions taken from a dead owner
  uint64_t fenced = 0;     // partitions lost
};

class Member : private PartitionOrders {
 public:
  // InvalidRequest: see ClusterKey and settle_schema, also if the database has another number of
  // partitions. Conflict, Unavailable: see LeaseKeeper. Unsupported: its format is too new.
  static Result<std::unique_ptr<Member>> join(MemberSetup setup);
  ~Member() override;  // leaves

  // From now on partitions are taken, as leases and balance allow. `host` outlives leave().
  void start(PartitionHost& host);
  // Gives all up and leaves the cluster. Waits for both.
  void leave();

  // Beats and decides at once: for whoever hears from another node that a partition is free.
  void look_now() { keeper_.look_now(); }
  // Of any node; it sees it at its next beat. False: there is none of that name.
  Result<bool> set_draining(const std::string& node, bool draining);
  Status drain();
  Status undrain();

  // Learns the journal format in force; `raise`: and raises it once all nodes speak the next one
  // (cluster/format_rise.h). For now and then; by the owner of partition 0 alone. Waits for the
  // database.
  Status keep_format(bool raise);

  Result<actions::Vault> vault();
  const Lease& lease() const { return keeper_.lease(); }
  ClusterView view() const;
  uint16_t partitions() const { return setup_.partitions; }
  NodeIdentity self() const { return keeper_.self(); }  // another one once it has entered anew
  const ClusterKey& key() const { return key_; }
  const std::string& cluster_id() const { return cluster_id_; }
  MemberCounts counts() const { return {takeovers_, fenced_}; }

 private:
  Member(MemberSetup setup, DirectoryLock lock, ClusterKey key, const NodeIdentity& self,
         std::string former);

  Status read_meta();
  Status read_format(pg::Connection& database);
  void take(const LeaseDecision::Take& order) override;
  void give_up(uint16_t partition, bool lost) override;
  uint64_t journal_head(uint16_t partition) override { return host_->journal_head(partition); }
  void entered(const NodeIdentity& self) override;
  void serve(const LeaseDecision::Take& order);
  Result<std::unique_ptr<PostgresStore>> open_store(const LeaseDecision::Take& order);
  void wait_to_open();

  const MemberSetup setup_;
  const DirectoryLock lock_;
  const ClusterKey key_;
  std::string cluster_id_;  // since join(), as the next
  std::atomic<uint64_t> format_{0};
  PartitionHost* host_ = nullptr;  // since start()
  std::atomic<uint64_t> takeovers_{0};
  std::atomic<uint64_t> fenced_{0};

  std::mutex mutex_;
  std::shared_ptr<pg::Pool> readers_;  // guarded by mutex_, as what follows
  SystemRandom random_;
  int64_t next_opening_ms_ = 0;

  LeaseKeeper keeper_;
  // Last, so that their work ends before what it uses.
  WorkPool takers_{{.threads = 4, .waiting_max = SIZE_MAX, .name = "partitions to take"}};
  WorkPool enders_{{.threads = 4, .waiting_max = SIZE_MAX, .name = "partitions to give up"}};
};

}  // namespace pawl::cluster
