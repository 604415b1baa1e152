#include "cluster/member.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "cluster/postgres_node_table.h"
#include "store/postgres_schema.h"

namespace pawl::cluster {
namespace {

// The last start that had this directory. Whoever holds the directory's lock knows that it is over.
std::string former_incarnation(const std::string& file) {
  std::ifstream in(file);
  std::string text;
  in >> text;
  return Uuid::parse(text) ? text : std::string();
}

Status note_incarnation(const std::string& file, const std::string& incarnation) {
  std::ofstream out(file, std::ios::trunc);
  std::error_code failed;
  std::filesystem::permissions(
      file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, failed);
  out << incarnation << "\n";
  out.flush();
  if (!out) return Error{ErrorCode::StoreFailed, "cannot write " + file};
  return ok_status();
}

pg::Access access_of(const MemberSetup& setup, const NodeIdentity& self) {
  return {setup.database, PartitionOwner{self.name, self.incarnation}.application()};
}

}  // namespace

Result<std::unique_ptr<Member>> Member::join(MemberSetup setup) {
  PAWL_TRY(ClusterKey key, ClusterKey::read(setup.key_file));
  std::error_code failed;
  std::filesystem::create_directories(setup.data_dir, failed);
  PAWL_TRY(DirectoryLock lock, DirectoryLock::acquire(setup.data_dir));
  SystemClock clock;
  SystemRandom random;
  const std::string file = setup.data_dir + "/incarnation";
  const std::string former = former_incarnation(file);
  const NodeIdentity self{setup.name,
                          Uuid::v7(clock.now_ms(), random.next(), random.next(), 0).text(),
                          setup.url, setup.version};
  std::unique_ptr<Member> member(
      new Member(std::move(setup), std::move(lock), std::move(key), self, former));
  PAWL_TRY_DO(member->keeper_->start());
  // From now on the row in the database is this start's.
  PAWL_TRY_DO(note_incarnation(file, self.incarnation));
  PAWL_TRY_DO(member->vault());  // another key is told before this node waits
  return member;
}

Member::Member(MemberSetup setup, DirectoryLock lock, ClusterKey key, const NodeIdentity& self,
               std::string former)
    : setup_(std::move(setup)),
      lock_(std::move(lock)),
      key_(std::move(key)),
      keeper_(std::make_unique<LeaseKeeper>(
          postgres_node_table(access_of(setup_, self), setup_.partitions), self, std::move(former),
          setup_.lost)) {}

Member::~Member() { keeper_->stop(); }

ClusterView Member::view() const {
  ClusterView view = keeper_->view();
  view.cluster_id = cluster_id_;
  return view;
}

Status Member::read_cluster_id(pg::Connection& database) {
  PAWL_TRY(cluster_id_, claim_meta(database, "cluster_id", ""));
  return ok_status();
}

Result<actions::Vault> Member::vault() {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup_, keeper_->self())));
  if (cluster_id_.empty()) PAWL_TRY_DO(read_cluster_id(database));
  return open_cluster_vault(database, key_, setup_.passphrase);
}

Result<std::unique_ptr<Store>> Member::take(uint16_t partition) {
  PostgresOptions options;
  options.url = setup_.database;
  options.partition = partition;
  options.partitions = setup_.partitions;
  options.owner = {keeper_->self().name, keeper_->self().incarnation};
  options.readers_kept = setup_.readers;
  for (bool told = false;;) {
    PAWL_TRY(options.take, keeper_->wait_for(partition, setup_.go_on));
    auto store = open_postgres(options);
    if (store.ok()) {
      keeper_->hold(partition, (*store)->epoch());
      return std::unique_ptr<Store>(std::move(store).value());
    }
    // Somebody was quicker, or the database went away: both are reasons to go on waiting.
    const ErrorCode code = store.error().code;
    if (code != ErrorCode::Fenced && code != ErrorCode::Unavailable) return Error(store.error());
    if (!std::exchange(told, true))
      log::info("waiting for the partition", {{"why", store.error().message}});
  }
}

}  // namespace pawl::cluster
