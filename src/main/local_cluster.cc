// pawl cluster rekey: the secret of a cluster is replaced, offline.
#include <cstdlib>

#include "cli/session.h"
#include "cli/terminal.h"
#include "cluster/cluster_key.h"
#include "cluster/visit.h"
#include "main/local.h"

namespace pawl {
namespace {

using cli::Invocation;

// Nodes that run would go on with the key that they know, and refuse those that start with the new
// one: so all partitions are held meanwhile, which no node has.
Status rekey_database(const std::string& url, const std::string& from_file,
                      const std::string& to_file) {
  PAWL_TRY(const cluster::ClusterKey from, cluster::ClusterKey::read(from_file));
  PAWL_TRY(const cluster::ClusterKey to, cluster::ClusterKey::read(to_file));
  PAWL_TRY(const auto visit, cluster::Visit::begin(url, "rekey", 0));
  PAWL_TRY(pg::Connection database, pg::Connection::open(visit->access()));
  const char* passphrase = std::getenv("PAWL_VAULT_KEY");
  return cluster::rekey_cluster(
      database, from, to,
      passphrase != nullptr ? std::optional<std::string>(passphrase) : std::nullopt);
}

int rekey(const Invocation& given) {
  for (const char* option : {"--store", "--cluster-key", "--to"})
    if (!given.has(option)) {
      cli::complain(std::string("cluster rekey needs ") + option);
      return cli::kUsage;
    }
  const Status done =
      rekey_database(given.text("--store"), given.text("--cluster-key"), given.text("--to"));
  if (!done.ok()) {
    cli::complain(done.error().message +
                  (done.error().code == ErrorCode::Unavailable ? "; stop all nodes first" : ""));
    return cli::kRefused;
  }
  cli::print_text("the cluster has the key in " + given.text("--to") + " from now on\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> cluster_key_commands() {
  return {{"cluster rekey",
           "replace the cluster key of a PostgreSQL database",
           {},
           {{"--store", "URL", "the database, that no node serves"},
            {"--cluster-key", "FILE", "the key that it has"},
            {"--to", "FILE", "the new one: 32 bytes or more, 0600"}},
           "Offline: stop all nodes, rekey, give all nodes the new file, start them. Secrets stay "
           "as they are;\nthe key that they are sealed with is sealed anew. PAWL_VAULT_KEY, if the "
           "vault has a passphrase, stays.\n\n"
           "Example:\n  (umask 077; head -c 32 /dev/urandom > new.key)\n  pawl cluster rekey "
           "--store postgres://pawl@db/pawl --cluster-key cluster.key --to new.key",
           rekey}};
}

}  // namespace pawl
