#include "sim/cluster/serving.h"

#include <algorithm>

#include "sim/cluster/sim_node.h"

namespace pawl::sim {
namespace {

constexpr int kTicksInARowMax = 1'000;
constexpr int64_t kRestUsMax = 200'000;

}  // namespace

// A request on its way through this node: its answer leaves only while the node's lease holds.
class Serving::Gate : public Task {
 public:
  Gate(Serving& serving, std::shared_ptr<SimTask> task, uint64_t asked_head)
      : serving_(serving),
        books_(serving.books()),
        task_(std::move(task)),
        asked_head_(asked_head) {}

  std::optional<Parking> decide(Frame& frame, bool last_call) override {
    return task_->decide(frame, last_call);
  }
  void durable(Wakes& wakes) override {
    if (!serving_.node_.alive()) return;
    if (serving_.life_books_ != &books_ || !serving_.node_.may_answer()) {
      serving_.parts_.verdict.reach(Probe::AnswerWithoutLease);
      return task_->refuse({ErrorCode::Unavailable, "the lease is over"});
    }
    serving_.parts_.verdict.expect(task_->needs_record >= asked_head_, "I11 read",
                                   "an answer leaves out what was acknowledged before its request");
    task_->durable(wakes);
    if (!task_->reply_is_lost) books_.told(task_->needs_record);
  }
  void refuse(const Error& error) override {
    if (serving_.node_.alive()) task_->refuse(error);
  }

  const std::shared_ptr<SimTask>& task() const { return task_; }
  void pass_on_abandonment() {
    if (task_->abandoned()) abandon();
  }

 private:
  Serving& serving_;
  PartitionBooks& books_;
  const std::shared_ptr<SimTask> task_;
  const uint64_t asked_head_;
};

// Effects that leave after another life of the partition has begun are asked for again there.
class Serving::Effects : public EffectSink {
 public:
  explicit Effects(Serving& serving) : serving_(serving) {}

  std::unique_ptr<PreparedEffects> prepare(const State& state, std::deque<EffectNote>& notes,
                                           int64_t now_ms, Meter& meter) override {
    return std::make_unique<OfThisLife>(
        serving_, serving_.books().effects().prepare(state, notes, now_ms, meter));
  }
  static void may_leave_after(PreparedEffects* effects, uint64_t record) {
    if (effects != nullptr)
      EffectWorld::may_leave_after(static_cast<OfThisLife*>(effects)->effects.get(), record);
  }

 private:
  struct OfThisLife : public PreparedEffects {
    OfThisLife(Serving& served, std::unique_ptr<PreparedEffects> prepared)
        : serving(served), books(served.books()), effects(std::move(prepared)) {}
    void release() override {
      const bool current = serving.life_ == books.life() && serving.life_books_ == &books;
      if (current && serving.node_.alive()) effects->release();
    }
    Serving& serving;
    PartitionBooks& books;
    std::unique_ptr<PreparedEffects> effects;
  };

  Serving& serving_;
};

// The store as the core has it. Planted: while it recovers, the newest record is left out.
class Serving::CoreStore : public Store {
 public:
  explicit CoreStore(PostgresStore& store) : store_(store) {}

  Status commit(const Batch& batch) override { return store_.commit(batch); }
  Result<std::optional<std::string>> get(uint8_t space, std::string_view key) override {
    return store_.get(space, key);
  }
  Status scan(uint8_t space, std::string_view from, std::string_view to, bool reverse, size_t limit,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return store_.scan(space, from, to, reverse, limit, visit);
  }
  Status scan_keys(uint8_t space, std::string_view from, std::string_view to, size_t limit,
                   FunctionRef<bool(std::string_view)> visit) override {
    return store_.scan_keys(space, from, to, limit, visit);
  }
  Status read_journal(uint64_t from, size_t limit,
                      FunctionRef<bool(uint64_t, std::string_view)> visit) override {
    return store_.read_journal(from, limit, [&](uint64_t number, std::string_view record) {
      return number > journal_last() || visit(number, record);
    });
  }
  uint64_t journal_first() const override { return store_.journal_first(); }
  uint64_t journal_last() const override {
    const uint64_t last = store_.journal_last();
    return hides_newest && last > store_.journal_first() ? last - 1 : last;
  }
  Status backup(const std::string& path, FunctionRef<void(uint64_t, uint64_t)> progress) override {
    return store_.backup(path, progress);
  }
  StoreStats stats() const override { return store_.stats(); }
  Status reopen() override { return store_.reopen(); }

  bool hides_newest = false;

 private:
  PostgresStore& store_;
};

Serving::Serving(ClusterParts parts, SimNode& node, const AllBooks& books, uint16_t partition,
                 uint64_t seed)
    : parts_(parts), node_(node), all_books_(books), partition_(partition), random_(seed) {}

Serving::~Serving() = default;

cluster::HeldPartition Serving::held() const {
  using cluster::PartitionStage;
  constexpr PartitionStage kStages[] = {PartitionStage::Taking,  PartitionStage::Recovering,
                                        PartitionStage::Serving, PartitionStage::HandingOver,
                                        PartitionStage::Ending,  PartitionStage::Ending};
  return {partition_, epoch(), kStages[static_cast<size_t>(stage_)], taken_ms_};
}

int64_t Serving::now_ms() const { return node_.clock().now_ms(); }

void Serving::submit(const std::shared_ptr<SimTask>& task, uint64_t asked_head) {
  if (stage_ != Stage::Serving)
    return task->refuse({ErrorCode::Unavailable, "the partition is not served here"});
  inbox_.push_back(std::make_shared<Gate>(*this, task, asked_head));
  if (ticket_) parts_.timeline.wake(*ticket_);
}

void Serving::drop() {
  dropped_ = true;
  if (ticket_) parts_.timeline.wake(*ticket_);
}

void Serving::hand_over() {
  hand_over_ = true;
  if (ticket_) parts_.timeline.wake(*ticket_);
}

// --- its life

void Serving::run(const FreePartition& seen) {
  if (take(seen)) {
    stage_ = Stage::Recovering;
    if (open_core()) {
      serve();
    } else {
      failed_ = true;
    }
    while (in_flight_ && !in_flight_->done) parts_.timeline.sleep(1'000);
    in_flight_.reset();
    refuse_all({ErrorCode::Unavailable, "the partition has moved"});
    if (stage_ != Stage::HandingOver) stage_ = Stage::Ending;
    core_.reset();
    store_.reset();
  }
  stage_ = Stage::Over;
}

bool Serving::goes_on() const {
  return node_.alive() && !dropped_ && !hand_over_ && !parts_.verdict.failed();
}

// Not simulated: what a node that remembers lost commits reads and decides before its next commit,
// which must fail.
bool Serving::may_read() const {
  if (parts_.database.answers_at_once()) return true;
  return losses_ == parts_.losses && node_.may_answer();
}

bool Serving::take(const FreePartition& seen) {
  PostgresOptions options;
  options.partition = partition_;
  options.partitions = parts_.partitions;
  options.owner = {node_.name(), node_.incarnation()};
  options.take = seen;
  options.readers_kept = 1;
  options.keep_up_pause = std::chrono::milliseconds(0);
  options.segment_age = std::chrono::seconds(random_.between(1, 20));
  options.segment_bytes = random_.percent(50) ? 1'000 + random_.below(20'000) : uint64_t{1} << 30;
  options.lease_holds = [this] { return may_read(); };
  options.server = &parts_.database;
  losses_ = parts_.losses;
  auto store = open_postgres(options);
  if (!store.ok()) {
    failed_ = store.error().code != ErrorCode::Fenced;
    parts_.verdict.tell("  " + node_.name() + " does not get partition " +
                        std::to_string(partition_) + ": " + store.error().message);
    return false;
  }
  store_ = std::move(*store);
  core_store_ = std::make_unique<CoreStore>(*store_);
  effects_ = std::make_unique<Effects>(*this);
  taken_ms_ = node_.steady_ms();
  check_begins_from_all();
  return true;
}

// I10: what is read after the partition was taken is all that any former owner wrote.
void Serving::check_begins_from_all() {
  const OwnerRow& row = parts_.database.tables().partitions.at(partition_);
  if (row.epoch != store_->epoch() || !node_.alive() || losses_ != parts_.losses) return;
  const uint64_t last = parts_.database.tables().last_record(partition_);
  if (store_->journal_last() != last)
    parts_.verdict.fail("I10 begin", "partition " + std::to_string(partition_) +
                                         ": an epoch begins from record " +
                                         std::to_string(store_->journal_last()) +
                                         ", the former ones wrote up to " + std::to_string(last));
}

bool Serving::open_core() {
  CoreConfig config = books().config();
  config.effects = effects_.get();
  core_store_->hides_newest = parts_.plants.served_before_recovered && random_.percent(30);
  auto core = Core::open(*core_store_, config, node_.clock(), random_);
  core_store_->hides_newest = false;
  if (!node_.alive()) return false;
  if (!core.ok()) {
    parts_.verdict.tell("  " + node_.name() + " cannot read partition " +
                        std::to_string(partition_) + ": " + core.error().message);
    parts_.verdict.expect(core.error().code != ErrorCode::Corrupt || !is_current(), "I10 corrupt",
                          core.error().message);
    return false;
  }
  core_ = std::move(*core);
  begin_life();
  return true;
}

bool Serving::is_current() const {
  return parts_.database.tables().partitions.at(partition_).epoch == store_->epoch();
}

// Compares with the journal what was recovered, if nobody else has the partition meanwhile.
void Serving::begin_life() {
  life_ = 0;
  life_books_ = nullptr;
  if (!is_current()) return;
  parts_.database.answer_at_once(true);
  books().recovered(*core_);
  parts_.database.answer_at_once(false);
  life_ = books().life();
  life_books_ = &books();
  parts_.verdict.tell("  " + node_.name() + " serves partition " + std::to_string(partition_) +
                      " in epoch " + std::to_string(store_->epoch()) + " from record " +
                      std::to_string(store_->journal_last()));
}

void Serving::serve() {
  stage_ = Stage::Serving;
  while (goes_on()) {
    take_commit_end();
    const bool remembers_lost = losses_ != parts_.losses;
    if (core_ && !remembers_lost) decide_inputs();
    if (core_ && !in_flight_) keep_up();
    if (core_ && !in_flight_) close_batch();
    if (core_ && !in_flight_ && remembers_lost)
      go_down({ErrorCode::Unavailable, "the database has lost commits"});
    if (core_ && core_->unreadable()) go_down(*core_->unreadable());
    if (!core_ && !come_back()) parts_.timeline.sleep(random_.between(50'000, 300'000));
    if (goes_on()) rest();
  }
  if (!hand_over_ || dropped_ || !node_.alive()) return;
  stage_ = Stage::HandingOver;
  while (in_flight_ && !in_flight_->done) parts_.timeline.sleep(1'000);
  take_commit_end();
  if (!core_ || !node_.alive()) return;
  close_batch();
  while (in_flight_ && !in_flight_->done) parts_.timeline.sleep(1'000);
  take_commit_end();
}

void Serving::rest() {
  if (!core_ || (in_flight_ && in_flight_->done)) return;
  const int64_t due_ms = core_->next_tick_ms() - node_.clock().now_ms();
  const bool busy = !inbox_.empty() || (core_->wants_commit() && !in_flight_);
  const int64_t us = busy || due_ms <= 0 ? 1'000 : std::min(due_ms * 1'000, kRestUsMax);
  ticket_ = parts_.timeline.ticket();
  parts_.timeline.wait(*ticket_, us);
  ticket_.reset();
}

bool Serving::at_rest() {
  // Else its fiber may be in the middle of the core.
  return stage_ == Stage::Serving && ticket_ && core_ && !in_flight_ && inbox_.empty() &&
         !core_->wants_commit() && core_->next_tick_ms() > node_.clock().now_ms();
}

// --- what it does

void Serving::decide_inputs() {
  std::erase_if(waiting_, [](const auto& gate) { return gate.expired(); });
  for (const auto& gate : waiting_)
    if (const auto held = gate.lock()) held->pass_on_abandonment();
  while (!inbox_.empty() && !core_->unreadable()) {
    const auto gate = inbox_.front();
    inbox_.pop_front();
    gate->pass_on_abandonment();
    waiting_.push_back(gate);
    core_->decide(gate);
    if (!node_.alive()) return;
  }
  for (int ticks = 0; ticks < kTicksInARowMax && node_.alive() && core_->tick();) ++ticks;
}

void Serving::close_batch() {
  const bool idle = hand_over_ || random_.percent(20);
  if (!core_->wants_commit() && !(idle && core_->has_dirty())) return;
  auto flight = std::make_shared<InFlight>();
  flight->closed = core_->close_batch(idle);
  if (core_->unreadable()) return Core::refuse(flight->closed, *core_->unreadable());
  const uint64_t head = core_->journal_head();
  PartitionBooks::Tasks tasks;
  for (const TaskPtr& task : flight->closed.outgoing.answers) {
    tasks.push_back(static_cast<Gate&>(*task).task());
    tasks.back()->needs_record = head;
  }
  Effects::may_leave_after(flight->closed.outgoing.effects.get(), head);
  if (flight->closed.empty()) return release(flight->closed);
  if (flight->closed.batch.number != 0)
    books().sent(store_->epoch(), flight->closed.batch.number, std::move(tasks));
  in_flight_ = flight;
  parts_.timeline.start(node_.client().group, [this, flight] {
    flight->status = store_->commit(flight->closed.batch);
    flight->done = true;
    if (ticket_) parts_.timeline.wake(*ticket_);
  });
}

void Serving::take_commit_end() {
  if (!in_flight_ || !in_flight_->done) return;
  const auto flight = std::exchange(in_flight_, nullptr);
  if (!node_.alive()) return;
  if (flight->status.ok()) {
    const bool answers_first = random_.percent(50);
    if (answers_first) release(flight->closed);
    core_->committed(flight->closed);
    if (!answers_first) release(flight->closed);
    return;
  }
  const Error error(flight->status.error());
  parts_.verdict.tell("  " + node_.name() + " commits in partition " + std::to_string(partition_) +
                      ": " + error.message);
  Core::refuse(flight->closed, error);
  go_down(error);
}

void Serving::release(ClosedBatch& closed) { Core::release(closed); }

void Serving::keep_up() {
  if (parts_.timeline.now_us() < keep_up_at_us_) return;
  keep_up_at_us_ = parts_.timeline.now_us() + random_.between(300'000, 4'000'000);
  const Status kept = store_->keep_up();
  if (kept.ok() || !node_.alive()) return;
  parts_.verdict.tell("  " + node_.name() + " looks after partition " + std::to_string(partition_) +
                      ": " + kept.error().message);
}

// --- when a commit failed, or a read

void Serving::go_down(const Error& error) {
  while (in_flight_ && !in_flight_->done) parts_.timeline.sleep(1'000);
  if (in_flight_ && node_.alive()) {
    const auto flight = std::exchange(in_flight_, nullptr);
    if (flight->status.ok()) {
      release(flight->closed);
    } else {
      Core::refuse(flight->closed, flight->status.error());
    }
  }
  refuse_all(error);
  core_.reset();
  if (error.code == ErrorCode::Fenced) dropped_ = true;
}

bool Serving::come_back() {
  if (!goes_on()) return false;
  losses_ = parts_.losses;
  const Status back = store_->reopen();
  if (!node_.alive()) return false;
  if (!back.ok()) {
    if (back.error().code == ErrorCode::Fenced) dropped_ = true;
    return false;
  }
  check_begins_from_all();
  return open_core();
}

void Serving::refuse_all(const Error& error) {
  for (const auto& gate : std::exchange(inbox_, {})) gate->refuse(error);
  if (!core_) return;
  ClosedBatch open = core_->close_batch(false);
  Core::refuse(open, error);
  for (const TaskPtr& task : core_->take_parked()) task->refuse(error);
}

}  // namespace pawl::sim
