// Member: this process as a node of a cluster: its lease, the partition it serves, the vault that
// all nodes share. Thread: one at a time; lease() by any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/cluster_key.h"
#include "cluster/lease_keeper.h"
#include "store/directory_lock.h"
#include "store/store.h"

namespace pawl::cluster {

struct MemberSetup {
  std::string database;  // a URL
  uint16_t partitions = 1;
  size_t readers = 4;
  std::string key_file;
  std::optional<std::string> passphrase = {};
  std::string data_dir;  // held by this process alone; it also says who this node was before
  std::string name;
  std::string url;
  std::string version;
  std::function<bool()> go_on = [] { return true; };  // asked while it waits for a partition
  LeaseKeeper::Lost lost = [](const Error&) {};
};

class Member {
 public:
  // InvalidRequest, Conflict, Unavailable: see ClusterKey, settle_schema and LeaseKeeper.
  static Result<std::unique_ptr<Member>> join(MemberSetup setup);
  // After the store is closed, so that its partition is free before this node is gone.
  ~Member();

  // Waits until the partition can be taken, however long that is.
  Result<std::unique_ptr<Store>> take(uint16_t partition);
  Result<actions::Vault> vault();
  const Lease& lease() const { return keeper_->lease(); }
  ClusterView view() const;

 private:
  Member(MemberSetup setup, DirectoryLock lock, ClusterKey key, const NodeIdentity& self,
         std::string former);

  Status read_cluster_id(pg::Connection& database);

  const MemberSetup setup_;
  const DirectoryLock lock_;
  const ClusterKey key_;
  std::string cluster_id_;  // since join()
  const std::unique_ptr<LeaseKeeper> keeper_;
};

}  // namespace pawl::cluster
