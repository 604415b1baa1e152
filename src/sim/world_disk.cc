// The world whose store is SQLite on a simulated disk: its commits fail because writes and syncs
// do, its crashes fall between any two operations of the disk, and the outcome of a failed commit
// is only known when the store is open again.
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr int kReopenTriesMax = 4;

SqliteOptions draw_sqlite(SimRandom& random) {
  constexpr uint64_t kPageBytes[] = {512, 1024, 4096};
  SqliteOptions options;
  options.page_bytes = kPageBytes[random.below(3)];
  // So small that a larger batch spills into the log before it is committed.
  options.cache_bytes = random.percent(50) ? 16u << 10 : 1u << 20;
  options.readers_kept = 1;
  options.checkpoint.start_bytes = (4u + random.below(random.percent(50) ? 12 : 120)) << 10;
  options.checkpoint.finish_bytes = 0;
  options.checkpoint.in_commit = true;
  if (options.page_bytes == 512) options.packed_bytes_min = 64;
  return options;
}

Survival draw_survival(SimRandom& random) {
  constexpr Survival kSurvivals[] = {Survival::Killed, Survival::None,   Survival::All,
                                     Survival::Prefix, Survival::Subset, Survival::Subset};
  return kSurvivals[random.below(std::size(kSurvivals))];
}

std::string_view name_of(Survival survival) {
  constexpr std::string_view kNames[] = {"the process only", "nothing unsynced is left",
                                         "all is left", "a prefix is left", "some is left"};
  return kNames[static_cast<size_t>(survival)];
}

std::string_view name_of(DiskTrouble trouble) {
  constexpr std::string_view kNames[] = {
      "nothing",        "a write fails", "a write is cut short", "the disk is full", "a sync fails",
      "a sync is slow", "a sync lies",   "a read fails",         "the power goes"};
  return kNames[static_cast<size_t>(trouble)];
}

}  // namespace

void World::make_disk() {
  disk_.files = std::make_unique<SimVfs>(random_.next(), verdict_, plants_,
                                         [this](int64_t ms) { clock_.move(ms); });
  disk_.sqlite = draw_sqlite(random_);
  disk_.sqlite.base_vfs = disk_.files->name();
  if (plants_.rot_believed) mix_.disk_rots = 5;
}

// --- a commit that fails, and one that only seems not to

void World::arm_quiet_trouble() {
  let_rot();
  DiskFaults& faults = disk_.files->faults();
  if (random_.percent(mix_.disk_slow)) faults.arm(DiskTrouble::SyncSlow, 1 + random_.below(2));
  if (random_.percent(mix_.disk_lies)) faults.arm(DiskTrouble::SyncLies, 1);
}

void World::fail_commit_on_disk() {
  constexpr DiskTrouble kTroubles[] = {DiskTrouble::WriteFails, DiskTrouble::ShortWrite,
                                       DiskTrouble::Full, DiskTrouble::SyncFails};
  const DiskTrouble trouble = kTroubles[random_.below(std::size(kTroubles))];
  const bool sync = trouble == DiskTrouble::SyncFails;
  disk_.files->faults().arm(trouble, 1 + random_.below(sync ? 3 : 30));
  verdict_.tell(told() + std::string(name_of(trouble)) + " soon");
  commit_and_see();
}

// A commit may fail only after a disk fault.
void World::commit_and_see() {
  DiskFaults& faults = disk_.files->faults();
  Status status = store_->commit(in_flight_->closed.batch);
  faults.disarm();
  verdict_.tell(told() + (status.ok() ? "commit" : "commit fails: " + status.error().message));
  if (status.ok()) {
    in_flight_->durable = true;
    return read_durable_record(in_flight_->closed);
  }
  if (damage_found(status.error())) {
    Core::refuse(in_flight_->closed, status.error());
    return in_flight_.reset();
  }
  if (!faults.fired() && !faults.full())
    return verdict_.fail("store", "a commit was refused without a fault");
  verdict_.reach(Probe::CommitFailedAndRefused);
  doubt(in_flight_->closed);
  if (plants_.ignore_failed_commit) {
    release();
  } else {
    Core::refuse(in_flight_->closed, status.error());
  }
  count_crash(false);
  in_flight_.reset();
  refuse_the_rest(status.error());
  come_back();
}

void World::doubt(const ClosedBatch& closed) {
  if (closed.batch.number == 0) return;
  doubt_.batch.number = closed.batch.number;
  doubt_.batch.journal = closed.batch.journal;
  doubt_.outgoing.answers = closed.outgoing.answers;
}

// A read failed during a decision: as in the engine, the commit in flight is finished, and later
// decisions are refused.
void World::give_up_reading() {
  const Error error = *core_->unreadable();
  verdict_.tell(told() + "reading fails: " + error.message);
  if (damage_found(error)) {  // decisions based on the missing row are still finished
    ClosedBatch open = core_->close_batch(false);
    return Core::refuse(open, error);
  }
  if (!disk_.files->faults().fired())
    return verdict_.fail("store", "a read was refused without a fault");
  const uint64_t life = life_;
  if (in_flight_ && !in_flight_->durable) commit();
  if (verdict_.failed() || life != life_) return;
  if (in_flight_ && !in_flight_->released) release();
  in_flight_.reset();
  refuse_the_rest(error);
  ++crashes_;
  come_back();
}

void World::check_reads() {
  if (!on_disk()) return;
  disk_.files->faults().disarm();
  if (core_->unreadable()) give_up_reading();
}

void World::arm_read_trouble() {
  if (on_disk() && random_.percent(mix_.disk_reads))
    disk_.files->faults().arm(DiskTrouble::ReadFails, 1 + random_.below(6));
}

// --- back again

// Reopens the store in place, as the engine does, or as a new process.
void World::come_back() {
  DiskFaults& faults = disk_.files->faults();
  const bool in_place = random_.percent(50);
  const uint64_t doubted = doubt_.batch.number;
  const std::string record = doubt_.batch.journal;
  for (int i = 0; in_place && i < kReopenTriesMax; ++i) {
    if (random_.percent(30)) faults.arm(DiskTrouble::SyncFails, 1 + random_.below(2));
    if (faults.full() && random_.percent(50)) give_room();
    Status back = store_->reopen();
    faults.disarm();
    verdict_.tell(told() + (back.ok() ? "the store is back" : "still: " + back.error().message));
    if (!back.ok() && damage_found(back.error())) return;
    if (!back.ok()) continue;
    verdict_.reach(Probe::DiskReopenedInPlace);
    fetches_.clear();
    if (!open_core()) return verdict_.fail("I1 recovery", "the reopened store cannot be read");
    check_recovered();
    // A batch that turns out to be there is told to those who follow the journal.
    if (modules_ && doubted != 0 && doubted == desk_.durable_head) modules_->follow(record);
    return;
  }
  if (random_.percent(50)) {
    if (modules_) modules_->process_is_gone();
    core_.reset();
    store_.reset();  // closes it in order, as far as possible
    if (faults.full()) give_room();
    faults.new_life();
    return reopen();
  }
  power_cut();
  reopen();
}

void World::give_room() {
  disk_.files->faults().room_again();
  verdict_.reach(Probe::DiskRoomAgain);
}

void World::crash_on_disk() {
  bool kept = in_flight_ && in_flight_->durable;
  if (in_flight_ && !kept && random_.percent(80)) {
    disk_.files->faults().arm(DiskTrouble::Stop, 1 + random_.below(random_.percent(50) ? 8 : 60));
    kept = store_->commit(in_flight_->closed.batch).ok();
    if (kept) {
      read_durable_record(in_flight_->closed);
    } else {
      verdict_.reach(Probe::CrashInCommit);
      doubt(in_flight_->closed);
    }
  }
  count_crash(kept);
  power_cut();
  in_flight_.reset();
  reopen();
}

void World::power_cut() {
  if (modules_) modules_->process_is_gone();
  disk_.files->faults().stop();
  core_.reset();
  store_.reset();
  const Survival survival = draw_survival(random_);
  verdict_.tell(told() + "crash, " + std::string(name_of(survival)));
  if (survival == Survival::Killed) verdict_.reach(Probe::CrashOfProcessOnly);
  lied_ |= disk_.files->power_cut(survival).lied;
  let_rot();
  if (disk_.files->faults().full()) give_room();
}

// Crashes and failing reads while the store is opened and the state recovered.
bool World::recovery_fails_on_disk() {
  DiskFaults& faults = disk_.files->faults();
  const bool read = random_.percent(50);
  faults.arm(read ? DiskTrouble::ReadFails : DiskTrouble::Stop, 1 + random_.below(read ? 40 : 12));
  const bool opened = try_open();
  if (verdict_.failed()) return false;
  if (opened && !faults.stopped()) {
    faults.disarm();
    return false;
  }
  power_cut();
  return true;
}

// --- a disk that changes what was safe

void World::let_rot() {
  if (!random_.percent(mix_.disk_rots)) return;
  const std::string where = disk_.files->rot("sim/pawl.db");
  if (where.empty()) return;
  verdict_.tell(told() + "a bit rots, " + where);
  verdict_.reach(Probe::DiskRotted);
  rotten_ = true;
}

// The store may report damage only when there is some; then the world ends, as an engine would stay
// down. Until then every read must be correct.
bool World::damage_found(const Error& error) {
  if (error.code != ErrorCode::Corrupt || !(rotten_ || lied_)) return false;
  if (rotten_) verdict_.reach(Probe::RotFound);
  verdict_.end("the store says that it is damaged: " + error.message);
  return true;
}

// Checkers treat unreadable rows as missing: false if there are any, which ends the world.
bool World::all_is_readable() {
  if (!rotten_ || verdict_.failed()) return !verdict_.failed();
  const auto nothing = [](std::string_view, std::string_view) { return true; };
  Status read = ok_status();
  for (int space = 0; space < 256 && read.ok(); ++space)
    read = store_->scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX, nothing);
  // A nested walk uses a second connection, which reads the layout of the database again.
  Status within = ok_status();
  if (read.ok())
    read = store_->scan(1, "", "", false, 1, [&](std::string_view, std::string_view) {
      within = store_->scan(1, "", "", false, 1, nothing);
      return false;
    });
  if (read.ok()) read = within;
  if (read.ok()) read = store_->read_journal(0, SIZE_MAX, [](auto, auto) { return true; });
  if (read.ok()) return true;
  if (!damage_found(read.error()))
    verdict_.fail("store", "a read was refused: " + read.error().message);
  return false;
}

// --- what must hold of what is there

void World::settle_doubt() {
  const uint64_t promised = store_->durable_head();
  const uint64_t last = store_->journal_last();
  if (doubt_.batch.number != 0 && last == doubt_.batch.number && last == promised + 1) {
    verdict_.reach(Probe::FailedCommitWasThere);
    store_->promise(doubt_.batch);
    read_durable_record(doubt_);
  }
  doubt_ = {};
  if (last < promised && lied_) return judge_prefix(last);
  lied_ = false;
  if (last != store_->durable_head())
    verdict_.fail("I1 durable", "the journal ends with record " + std::to_string(last) +
                                    ", promised was " + std::to_string(store_->durable_head()));
  check_journal();
}

void World::check_journal() {
  Status read = store_->read_journal(1, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    auto promised = disk_.archive.find(number);
    if (promised == disk_.archive.end() || promised->second != record)
      verdict_.fail("I1 durable", "record " + std::to_string(number) + " is another one");
    return !verdict_.failed();
  });
  if (!read.ok() && damage_found(read.error())) return;
  if (!read.ok() && !disk_.files->faults().fired())
    verdict_.fail("I1 durable", "the journal cannot be read: " + read.error().message);
}

// The disk lost synced data. The rest must still be an earlier state; then the world ends, since
// clients know more than the store.
void World::judge_prefix(uint64_t last) {
  GenesisFold prefix;
  for (const auto& [number, record] : disk_.archive)
    if (number <= last) prefix.fold(number, record, verdict_);
  auto core = Core::open(*store_, config_, clock_, core_random_);
  std::string left;
  const bool read = core.ok() && reading([&] { left = (*core)->state().digest(); }).ok();
  verdict_.expect(!read || left == prefix.digest(), "I1 prefix",
                  "a lying disk left a state that never was");
  verdict_.reach(Probe::LieCutTheLog);
  verdict_.end("the disk lied, a prefix is left");
}

}  // namespace pawl::sim
