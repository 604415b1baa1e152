// pawl store migrate: everything of one store into another kind, offline.
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/read_number.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cluster/cluster_key.h"
#include "cluster/visit.h"
#include "engine/recovery.h"
#include "kernel/worlds/checked_row.h"
#include "main/local.h"
#include "store/copy_store.h"
#include "store/postgres_schema.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;
using cli::Invocation;

// One side of a migration, open; its data and the key of its vault.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::vector<Store*> stores() = 0;  // of all partitions
  // Nothing if there is no vault.
  virtual Result<std::optional<std::string>> vault_key() = 0;
  virtual Status keep_vault_key(const std::string& key) = 0;
  // Of a target: it is whole; or it goes away as if it had never been.
  virtual Status finish() = 0;
  virtual void undo() = 0;
};

std::optional<std::string> vault_passphrase() {
  const char* given = std::getenv("PAWL_VAULT_KEY");
  return given != nullptr ? std::optional<std::string>(given) : std::nullopt;
}

// A target is written beside its name, and gets it when it is whole.
class SqlitePlace : public Place {
 public:
  // `partitions`: of a target; 0 = a source.
  static Result<std::unique_ptr<Place>> open(const std::string& directory, uint16_t partitions) {
    const bool target = partitions != 0;
    auto place = std::make_unique<SqlitePlace>();
    place->directory_ = directory;
    std::error_code failed;
    if (target && fs::exists(directory) && !fs::is_empty(directory, failed))
      return Error{ErrorCode::Conflict, directory + " is not empty"};
    if (!target && !fs::exists(fs::path(directory) / "pawl.db"))
      return Error{ErrorCode::NotFound, directory + " holds no data (no pawl.db in it)"};
    place->written_ = target ? directory + ".partial" : directory;
    if (target && fs::exists(place->written_))
      return Error{ErrorCode::Conflict, place->written_ +
                                            " is left over from a migration that was"
                                            " cut off; remove it"};
    PAWL_TRY(place->stores_,
             open_sqlite_partitions(place->written_, partitions, {.self_checked = is_checked_row}));
    if (target) fs::permissions(place->written_, fs::perms::owner_all, failed);
    return std::unique_ptr<Place>(std::move(place));
  }

  std::vector<Store*> stores() override {
    std::vector<Store*> all;
    for (const auto& one : stores_) all.push_back(one.get());
    return all;
  }
  Result<std::optional<std::string>> vault_key() override {
    const std::string file = directory_ + "/vault.key";
    if (!fs::exists(file)) return std::optional<std::string>();
    const auto passphrase = vault_passphrase();
    PAWL_TRY(const actions::Vault vault,
             passphrase ? actions::Vault::open(file, *passphrase) : actions::Vault::open(file));
    return std::optional<std::string>(vault.key());
  }
  Status keep_vault_key(const std::string& key) override {
    return actions::Vault::keep(written_ + "/vault.key", key);
  }
  Status finish() override {
    stores_.clear();
    std::error_code failed;
    fs::remove(directory_, failed);  // an empty one
    fs::rename(written_, directory_, failed);
    if (!failed) return ok_status();
    return Error{ErrorCode::StoreFailed, "cannot name " + directory_ + ": " + failed.message()};
  }
  void undo() override {
    stores_.clear();
    std::error_code failed;
    fs::remove_all(written_, failed);
  }

 private:
  std::string directory_, written_;
  std::vector<std::unique_ptr<Store>> stores_;
};

class PostgresPlace : public Place {
 public:
  static Result<std::unique_ptr<Place>> open(const std::string& url, const std::string& key_file,
                                             uint16_t partitions) {
    PAWL_TRY(cluster::ClusterKey key, cluster::ClusterKey::read(key_file));
    auto place = std::make_unique<PostgresPlace>(std::move(key));
    PAWL_TRY(place->visit_, cluster::Visit::begin(url, "migrate", partitions));
    if (partitions != 0) PAWL_TRY_DO(place->claim());
    return std::unique_ptr<Place>(std::move(place));
  }
  explicit PostgresPlace(cluster::ClusterKey key) : key_(std::move(key)) {}

  std::vector<Store*> stores() override {
    std::vector<Store*> all;
    for (const auto& one : visit_->stores()) all.push_back(one.get());
    return all;
  }
  Result<std::optional<std::string>> vault_key() override {
    PAWL_TRY(pg::Connection database, pg::Connection::open(visit_->access()));
    PAWL_TRY(const actions::Vault vault,
             cluster::open_cluster_vault(database, key_, vault_passphrase()));
    return std::optional<std::string>(vault.key());
  }
  Status keep_vault_key(const std::string& key) override {
    PAWL_TRY(pg::Connection database, pg::Connection::open(visit_->access()));
    PAWL_TRY(const actions::Vault kept,
             cluster::keep_cluster_vault(database, key_, vault_passphrase(), key));
    if (kept.key() == key) return ok_status();
    return Error{ErrorCode::Conflict, "the database has a vault of its own"};
  }
  Status finish() override {
    PAWL_TRY(pg::Connection database, pg::Connection::open(visit_->access()));
    PAWL_TRY_DO(unmark_copying(database));
    visit_->end();
    return ok_status();
  }
  void undo() override {
    visit_->end();
    auto database = pg::Connection::open(visit_->access());
    const Status dropped = database.ok() ? drop_schema(*database) : Status(database.error());
    if (!dropped.ok()) cli::complain("the target was not cleared: " + dropped.error().message);
  }

 private:
  // Nothing may be there that undo() would take away.
  Status claim() {
    for (Store* store : stores()) {
      PAWL_TRY(const bool empty, is_empty(*store));
      if (!empty) return Error{ErrorCode::Conflict, "the database holds data already"};
    }
    PAWL_TRY(pg::Connection database, pg::Connection::open(visit_->access()));
    return mark_copying(database);
  }

  const cluster::ClusterKey key_;
  std::unique_ptr<cluster::Visit> visit_;
};

Result<std::unique_ptr<Place>> open_place(const Invocation& given, const std::string& option,
                                          uint16_t partitions) {
  const std::string where = given.text(option);
  if (where.starts_with("sqlite:")) return SqlitePlace::open(where.substr(7), partitions);
  if (!where.starts_with("postgres://") && !where.starts_with("postgresql://"))
    return Error{ErrorCode::InvalidRequest, option + " takes sqlite:DIR or a postgres:// URL"};
  if (!given.has("--cluster-key"))
    return Error{ErrorCode::InvalidRequest, "a PostgreSQL store needs --cluster-key FILE"};
  return PostgresPlace::open(where, given.text("--cluster-key"), partitions);
}

Result<std::string> digest_of(Store& store, size_t id, size_t partitions) {
  StoreCold cold(store);
  StateConfig config;
  config.partition = static_cast<uint16_t>(id);
  config.partitions = static_cast<uint16_t>(partitions);
  MutableState state(cold, config);
  Recovery recovery;
  PAWL_TRY_DO(recover(store, state, {}, recovery, [](uint64_t, size_t, int64_t) {}));
  std::string digest;
  PAWL_TRY_DO(reading([&] { digest = state.digest(); }));
  return digest;
}

Result<Copied> copy_partition(Store& from, Store& to, size_t id, size_t partitions) {
  PAWL_TRY(const Copied copied, [&] {
    cli::ProgressBar bar("migrate");
    const uint64_t total = from.journal_last() - from.journal_first() + 1;
    return copy_store(from, to, [&](const Copied& so_far) { bar.show(so_far.records, total); });
  }());
  PAWL_TRY(const std::string before, digest_of(from, id, partitions));
  PAWL_TRY(const std::string after, digest_of(to, id, partitions));
  if (before == after) return copied;
  return Error{ErrorCode::Corrupt, "the copy of partition " + std::to_string(id) +
                                       " differs: digest " + after + " of " + before};
}

Result<Copied> copy_all(Place& from, Place& to) {
  Copied all;
  const std::vector<Store*> sources = from.stores();
  const std::vector<Store*> targets = to.stores();
  for (size_t id = 0; id < sources.size(); ++id) {
    PAWL_TRY(const Copied one, copy_partition(*sources[id], *targets[id], id, sources.size()));
    all.rows += one.rows;
    all.records += one.records;
  }
  PAWL_TRY(const auto key, from.vault_key());
  if (key) PAWL_TRY_DO(to.keep_vault_key(*key));
  PAWL_TRY_DO(to.finish());
  return all;
}

int fail_migration(const Error& error) {
  cli::complain(error.message);
  return error.code == ErrorCode::InvalidRequest ? cli::kUsage : cli::kRefused;
}

// With another number most ids and names would have another home than the partition they are in.
Status check_number(const Invocation& given, uint16_t partitions) {
  uint16_t wanted = partitions;
  if (given.has("--partitions") && !read_number(given.text("--partitions"), wanted))
    return Error{ErrorCode::InvalidRequest, "--partitions takes a number"};
  if (wanted == partitions) return ok_status();
  return Error{ErrorCode::Conflict,
               "the source has " + std::to_string(partitions) +
                   (partitions == 1 ? " partition" : " partitions") +
                   ", and a migration keeps that number: ids and names say where things are. For " +
                   std::to_string(wanted) + ", begin with an empty store"};
}

int migrate(const Invocation& given) {
  auto from = open_place(given, "--from", 0);
  if (!from.ok()) return fail_migration(from.error());
  const auto partitions = static_cast<uint16_t>((*from)->stores().size());
  if (Status same = check_number(given, partitions); !same.ok())
    return fail_migration(same.error());
  auto to = open_place(given, "--to", partitions);
  if (!to.ok()) return fail_migration(to.error());
  const auto copied = copy_all(**from, **to);
  if (!copied.ok()) {
    (*to)->undo();
    return fail_migration(copied.error());
  }
  cli::print_text("migrated " + std::to_string(copied->rows) + " rows and " +
                  std::to_string(copied->records) + " journal records; the digests are equal\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> store_commands() {
  return {{"store migrate",
           "move everything to another kind of store",
           {},
           {{"--from", "STORE", "sqlite:DIR or a postgres:// URL"},
            {"--to", "STORE", "the same; empty"},
            {"--cluster-key", "FILE", "of the PostgreSQL side"},
            {"--partitions", "N", "refused unless the source has as many: the number stays"}},
           "Offline: no server may use either. Ids, numbers, partitions and sealed secrets stay as "
           "they "
           "are, and the source stays as it was.\nPAWL_VAULT_KEY, if the vault has a passphrase, "
           "is that of "
           "both "
           "sides; into a directory the key itself is written.\n\n"
           "Example:\n  pawl store migrate --from sqlite:./pawl-data --to "
           "postgres://pawl@db/pawl --cluster-key cluster.key",
           migrate}};
}

}  // namespace pawl
