// A server as a node of a cluster: where its store comes from if that is PostgreSQL, and its name.
#pragma once

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

// When the partition is lost, the process ends like on a signal, but with a failure, so that
// whoever started it starts it again.
class ServeNode : public StoreSource {
 public:
  // InvalidRequest without a cluster key.
  static Result<std::unique_ptr<ServeNode>> of(const ServeOptions& options);

  Result<std::unique_ptr<Store>> open() override;
  Result<actions::Vault> vault() override { return member_->vault(); }
  void close() override { member_.reset(); }

  // Whether what this process remembers may still be told.
  bool may_answer() const { return member_ != nullptr && member_->lease().holds(); }
  cluster::ClusterView view() const { return member_->view(); }
  std::optional<Error> lost() const;

 private:
  cluster::MemberSetup setup_;
  std::unique_ptr<cluster::Member> member_;
  mutable std::mutex mutex_;
  std::optional<Error> lost_;  // guarded by mutex_
};

}  // namespace pawl
