#include "cluster/member.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/read_number.h"
#include "base/uuid.h"
#include "cluster/format_rise.h"
#include "cluster/postgres_node_table.h"
#include "store/postgres_schema.h"

namespace pawl::cluster {
namespace {

// Between two connections that are opened: many nodes may be at it, after a failure of one.
constexpr int64_t kOpeningPauseMs = 4;
constexpr uint64_t kOpeningJitterMs = 12;
constexpr std::chrono::milliseconds kUpkeepPause{10'000};

std::string incarnation_file(const MemberSetup& setup) { return setup.data_dir + "/incarnation"; }

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

std::shared_ptr<pg::Pool> readers_of(const MemberSetup& setup, const NodeIdentity& self) {
  return std::make_shared<pg::Pool>(access_of(setup, self), setup.readers);
}

// As many as the database has, which is made if there is none.
Result<uint16_t> settle_partitions(const MemberSetup& setup, const NodeIdentity& self) {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup, self)));
  auto found = settle_schema(database, setup.partitions);
  if (found.ok() || found.error().code != ErrorCode::NotFound) return found;
  return settle_schema(database, kPartitionsOfCluster);
}

Result<std::optional<uint64_t>> risen_in(pg::Connection& database, uint64_t in_force) {
  PAWL_TRY(const pg::Rows rows,
           database.run("SELECT formats::int8 FROM pawl_node"
                        " WHERE last_seen > clock_timestamp() - interval '10 minutes'"));
  std::vector<uint64_t> spoken;
  for (size_t i = 0; i < rows.size(); ++i) spoken.push_back(rows.number(i, 0));
  return risen_format(in_force, spoken);
}

}  // namespace

Result<std::unique_ptr<Member>> Member::join(MemberSetup setup) {
  PAWL_TRY(ClusterKey key, ClusterKey::read(setup.key_file));
  std::error_code failed;
  std::filesystem::create_directories(setup.data_dir, failed);
  PAWL_TRY(DirectoryLock lock, DirectoryLock::acquire(setup.data_dir));
  SystemClock clock;
  SystemRandom random;
  const std::string former = former_incarnation(incarnation_file(setup));
  const NodeIdentity self{setup.name,
                          Uuid::v7(clock.now_ms(), random.next(), random.next(), 0).text(),
                          setup.url, setup.version, setup.format};
  PAWL_TRY(setup.partitions, settle_partitions(setup, self));
  std::unique_ptr<Member> member(
      new Member(std::move(setup), std::move(lock), std::move(key), self, former));
  PAWL_TRY_DO(member->keeper_.start());
  // From now on the row in the database is this start's.
  PAWL_TRY_DO(note_incarnation(incarnation_file(member->setup_), self.incarnation));
  PAWL_TRY_DO(member->read_meta());
  PAWL_TRY_DO(member->vault());  // another key is told before this node serves
  return member;
}

Member::Member(MemberSetup setup, DirectoryLock lock, ClusterKey key, const NodeIdentity& self,
               std::string former)
    : setup_(std::move(setup)),
      lock_(std::move(lock)),
      key_(std::move(key)),
      readers_(readers_of(setup_, self)),
      keeper_(postgres_node_table(access_of(setup_, self), setup_.partitions), self,
              std::move(former), setup_.lost, setup_.times) {}

Member::~Member() { leave(); }

Status Member::read_meta() {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup_, self())));
  PAWL_TRY(cluster_id_, claim_meta(database, "cluster_id", ""));
  return read_format(database);
}

// Read after the node's row is there: whoever raises the format sees the row, or is seen here.
Status Member::read_format(pg::Connection& database) {
  PAWL_TRY(const std::string text, claim_meta(database, "format", std::to_string(setup_.format)));
  uint64_t in_force = 0;
  if (!read_number(text, in_force))
    return Error{ErrorCode::Corrupt, "pawl_meta: format is no number"};
  if (in_force > setup_.format)
    return Error{ErrorCode::Unsupported, "the database has journal format " + text +
                                             ", this Pawl knows up to " +
                                             std::to_string(setup_.format)};
  format_ = in_force;
  return ok_status();
}

Status Member::keep_format(bool raise) {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup_, self())));
  PAWL_TRY_DO(read_format(database));
  if (!raise || setup_.hold_format) return ok_status();
  PAWL_TRY(auto risen, risen_in(database, format_));
  if (!risen) return ok_status();
  // Once more while nobody enters. A transaction that ends with its connection is undone.
  PAWL_TRY_DO(database.run("BEGIN"));
  PAWL_TRY_DO(database.run("SET LOCAL idle_in_transaction_session_timeout = '2s'"));
  PAWL_TRY_DO(database.run("LOCK TABLE pawl_node IN SHARE MODE"));
  PAWL_TRY(risen, risen_in(database, format_));
  if (!risen) return ok_status();
  PAWL_TRY_DO(database.run(
      "UPDATE pawl_meta SET value = $2::text WHERE name = 'format' AND value = $1::text",
      pg::Params().bytes(std::to_string(format_)).bytes(std::to_string(*risen))));
  PAWL_TRY_DO(database.run("COMMIT"));
  log::info("every node speaks the next journal format: it is in force now",
            {{"format", std::to_string(*risen)}});
  format_ = *risen;
  return ok_status();
}

void Member::start(PartitionHost& host) {
  host_ = &host;
  keeper_.begin_taking(*this);
}

void Member::leave() { keeper_.leave(); }

ClusterView Member::view() const {
  ClusterView view = keeper_.view();
  view.cluster_id = cluster_id_;
  view.format = format_;
  return view;
}

Result<actions::Vault> Member::vault() {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup_, self())));
  return open_cluster_vault(database, key_, setup_.passphrase);
}

Result<bool> Member::set_draining(const std::string& node, bool draining) {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_of(setup_, self())));
  PAWL_TRY(const bool found, mark_draining(database, node, draining));
  look_now();
  return found;
}

Status Member::drain() {
  PAWL_TRY_DO(set_draining(setup_.name, true));
  return ok_status();
}

Status Member::undrain() {
  PAWL_TRY_DO(set_draining(setup_.name, false));
  return ok_status();
}

void Member::entered(const NodeIdentity& self) {
  if (Status noted = note_incarnation(incarnation_file(setup_), self.incarnation); !noted.ok())
    log::warning("a next start will wait for this one's lease", {{"error", noted.error().message}});
  {
    std::lock_guard lock(mutex_);
    readers_ = readers_of(setup_, self);
  }
  host_->entered_anew(self);
}

// --- partitions

void Member::take(const LeaseDecision::Take& order) {
  std::function<void()> work = [this, order] { serve(order); };
  if (!takers_.run(work).ok()) keeper_.gone(order.partition);
}

void Member::give_up(uint16_t partition, bool lost) {
  if (lost) ++fenced_;
  std::function<void()> work = [this, partition, lost] {
    host_->give_up(partition, lost);
    keeper_.gone(partition);
  };
  const bool taken = enders_.run(work).ok();
  PAWL_CHECK(taken);  // they end after the keeper, and any number may wait
}

void Member::wait_to_open() {
  int64_t pause_ms = 0;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ms = machine_ms();
    next_opening_ms_ = std::max(next_opening_ms_, now_ms);
    pause_ms = next_opening_ms_ - now_ms;
    next_opening_ms_ += kOpeningPauseMs + static_cast<int64_t>(random_.next() % kOpeningJitterMs);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
}

Result<std::unique_ptr<PostgresStore>> Member::open_store(const LeaseDecision::Take& order) {
  const NodeIdentity self = keeper_.self();
  PostgresOptions options;
  options.url = setup_.database;
  options.partition = order.partition;
  options.partitions = setup_.partitions;
  options.owner = {self.name, self.incarnation};
  options.take = order.seen;
  options.lease_holds = [this] { return keeper_.lease().holds(); };
  // What one partition looks after is there for all: together as often as one alone.
  options.keep_up_pause = kUpkeepPause * setup_.partitions;
  {
    std::lock_guard lock(mutex_);
    options.readers = readers_;
  }
  return open_postgres(std::move(options));
}

void Member::serve(const LeaseDecision::Take& order) {
  const uint16_t partition = order.partition;
  if (keeper_.leaving()) return keeper_.gone(partition);
  wait_to_open();
  auto store = open_store(order);
  if (!store.ok()) {
    // Somebody was quicker, or the database went away: the next beat tells.
    const ErrorCode code = store.error().code;
    if (code == ErrorCode::Fenced || code == ErrorCode::Unavailable) return keeper_.gone(partition);
    log::error(store.error().message, {{"partition", std::to_string(partition)}});
    return keeper_.failed(partition);
  }
  if (order.seen.owner_beat) ++takeovers_;
  keeper_.taken(partition, (*store)->epoch());
  if (Status served = host_->serve(partition, std::move(store).value()); !served.ok()) {
    log::error(served.error().message, {{"partition", std::to_string(partition)}});
    return keeper_.failed(partition);
  }
  if (keeper_.served(partition)) return;
  ++fenced_;
  host_->give_up(partition, true);
  keeper_.gone(partition);
}

}  // namespace pawl::cluster
