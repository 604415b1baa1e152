// The secret that all nodes of a cluster share: a file of 32 bytes or more that only its owner may
// read. It never reaches the database. What stands there is a check, which tells another key, and
// the key of the vault, sealed under one that is derived from this one or from the vault's
// passphrase.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actions/vault.h"
#include "base/result.h"
#include "store/postgres_connection.h"

namespace pawl::cluster {

class ClusterKey {
 public:
  // InvalidRequest: there is no such file, it is too short, or others may read it.
  static Result<ClusterKey> read(const std::string& file);
  explicit ClusterKey(std::string secret) : secret_(std::move(secret)) {}
  ClusterKey(ClusterKey&&) = default;
  ClusterKey& operator=(ClusterKey&&) = default;
  ~ClusterKey();

  // 32 bytes for one purpose (HKDF with SHA-256).
  std::string derive(std::string_view cluster_id, std::string_view purpose) const;

 private:
  std::string secret_;
};

// The vault of the database's cluster, made by the first node. InvalidRequest if the database was
// begun with another cluster key; Unauthenticated if the vault does not open with this passphrase.
Result<actions::Vault> open_cluster_vault(pg::Connection& database, const ClusterKey& key,
                                          const std::optional<std::string>& passphrase);
// The same in a database without a vault, of a key that comes from elsewhere.
Result<actions::Vault> keep_cluster_vault(pg::Connection& database, const ClusterKey& key,
                                          const std::optional<std::string>& passphrase,
                                          std::string vault_key);

// Seals the vault under another cluster key, which is the database's from then on. A node that runs
// keeps the key that it was started with.
Status rekey_cluster(pg::Connection& database, const ClusterKey& from, const ClusterKey& to,
                     const std::optional<std::string>& passphrase);

}  // namespace pawl::cluster
