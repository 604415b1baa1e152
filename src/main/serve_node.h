// A server as a node of a cluster: where its store comes from if that is PostgreSQL, and its name.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "cluster/member.h"
#include "main/serve.h"
#include "runtime/store_source.h"

namespace pawl {

std::string node_name(const ServeOptions& options);
std::string node_url(const ServeOptions& options);
// Stays the same for a data directory, which it makes if needed; "" = there is none.
std::string server_id(const std::string& data_dir);

// True once a signal that ends serving waits to be taken.
bool stop_was_asked();

// Serves one partition. When it is lost, the process ends like on a signal, but with a failure, so
// that whoever started it starts it again.
class ServeNode : public StoreSource, private cluster::PartitionHost {
 public:
  // InvalidRequest without a cluster key.
  static Result<std::unique_ptr<ServeNode>> of(const ServeOptions& options);

  Result<std::unique_ptr<Store>> open() override;
  Result<actions::Vault> vault() override { return member_->vault(); }
  void close() override;

  // Whether what this process remembers may still be told.
  bool may_answer() const { return member_ != nullptr && member_->lease().holds(); }
  cluster::Member& member() const { return *member_; }
  std::optional<Error> lost() const;

 private:
  Status serve(uint16_t partition, std::unique_ptr<PostgresStore> store) override;
  void give_up(uint16_t partition, bool lost) override;
  void end_with(const Error& why);

  cluster::MemberSetup setup_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<PostgresStore> taken_;  // guarded by mutex_, as what follows
  bool in_use_ = false;                   // by the runtime
  std::optional<Error> lost_;
  std::unique_ptr<cluster::Member> member_;  // last: it still gives up when it ends
};

}  // namespace pawl
