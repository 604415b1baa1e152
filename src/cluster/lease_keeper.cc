#include "cluster/lease_keeper.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/uuid.h"

namespace pawl::cluster {
namespace {

PartitionState state_of(PartitionStage stage) {
  switch (stage) {
    case PartitionStage::Serving:
      return PartitionState::Serving;
    case PartitionStage::HandingOver:
      return PartitionState::HandingOver;
    case PartitionStage::Taking:
    case PartitionStage::Recovering:
    case PartitionStage::Ending:
      return PartitionState::Recovering;
  }
  return PartitionState::Free;
}

PartitionStage shown_stage(const HeldPartition& held) {
  return held.announced && held.stage == PartitionStage::Serving ? PartitionStage::HandingOver
                                                                 : held.stage;
}

PartitionView view_of(const PartitionSeen& seen, const std::vector<NodeView>& nodes) {
  PartitionView view{seen};
  for (const NodeView& node : nodes) {
    if (node.name != seen.node || node.incarnation != seen.incarnation) continue;
    if (node.state == NodeState::Dead) continue;
    view.state = PartitionState::Recovering;  // taken, and not told of yet
    for (const PartitionReport& report : node.reports)
      if (report.id == seen.id) {
        view.state = state_of(report.stage);
        view.journal_head = report.journal_head;
      }
  }
  return view;
}

Error name_taken(const std::string& name) {
  return {ErrorCode::Conflict,
          "a node with the name " + name + " is alive; give this one another --node"};
}

}  // namespace

int64_t machine_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

LeaseKeeper::LeaseKeeper(std::unique_ptr<NodeTable> table, NodeIdentity self, std::string former,
                         Lost lost, LeaseTimes times)
    : table_(std::move(table)),
      former_(std::move(former)),
      lost_(std::move(lost)),
      times_(times),
      namesakes_(times.lease_ms, times.gap_ms),
      self_(std::move(self)),
      plan_(self_.name, self_.incarnation, former_, times) {}

LeaseKeeper::~LeaseKeeper() { stop(); }

// A row of this name that is not our former one belongs to a process that lives, or to one that
// died elsewhere: its beat tells. Or it is ours, and the answer was lost.
Result<bool> LeaseKeeper::enter(const NodeIdentity& as, const std::string& former, bool draining) {
  PAWL_TRY(const bool entered, table_->enter(as, former, draining));
  if (entered) return true;
  PAWL_TRY(const ClusterSeen seen, table_->beat(as, {}));
  if (seen.beaten) return true;
  namesakes_.observe(machine_ms(), seen);
  const auto row = std::find_if(seen.nodes.begin(), seen.nodes.end(),
                                [&](const NodeSeen& node) { return node.name == as.name; });
  if (row == seen.nodes.end()) return false;  // it left in between
  if (!namesakes_.is_dead(row->name, row->incarnation)) return false;
  return table_->enter(as, row->incarnation, draining);
}

Status LeaseKeeper::start(bool draining) {
  const NodeIdentity as = self();
  const int64_t begun = machine_ms();
  for (;;) {
    PAWL_TRY(const bool entered, enter(as, former_, draining));
    if (entered) break;
    // By then a dead one has been seen to be dead.
    if (machine_ms() - begun > times_.lease_ms + 2 * times_.gap_ms) return name_taken(as.name);
    Lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(times_.beat_ms));
  }
  thread_ = std::thread([this] { run(); });
  return ok_status();
}

void LeaseKeeper::begin_taking(PartitionOrders& orders) {
  {
    std::lock_guard lock(mutex_);
    orders_ = &orders;
  }
  look_now();
}

void LeaseKeeper::look_now() {
  {
    std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  changed_.notify_all();
}

void LeaseKeeper::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  lease_.end();
  if (Status left = table_->leave(self()); !left.ok())
    log::warning("the node's row stays until others remove it", {{"error", left.error().message}});
}

// First the others must know that this node takes part no more: they would leave to it what it
// gives up.
void LeaseKeeper::leave() {
  Lock lock(mutex_);
  leaving_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return leaving_told_ || !thread_.joinable(); });
  while (!held_.empty()) {
    for (auto& [id, held] : held_)
      if (held.stage == PartitionStage::Serving && !held.announced) announce_hand_over(held);
    changed_.notify_all();
    changed_.wait(lock);
  }
  lock.unlock();
  stop();
}

void LeaseKeeper::run() {
  Lock lock(mutex_);
  while (!ending_) {
    const bool tell = leaving_ && !leaving_told_;
    const bool entered = entered_;
    wanted_ = false;
    lock.unlock();
    if (tell) say_leaving();
    entered ? beat_once() : enter_again();
    for (const uint16_t id : announced()) orders_->give_up(id, false);
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(pause_ms()),
                      [this] { return ending_ || wanted_ || (leaving_ && !leaving_told_); });
  }
}

// The next beat says so. Nobody needs to hear it where nobody else lives.
void LeaseKeeper::announce_hand_over(HeldPartition& held) {
  const bool heard = std::any_of(seen_.nodes.begin(), seen_.nodes.end(), [&](const NodeSeen& node) {
    return node.name != self_.name && !plan_.liveness().is_dead(node.name, node.incarnation);
  });
  held.announced = true;
  announced_ms_[held.id] = heard ? machine_ms() : INT64_MIN / 2;
  wanted_ = true;
}

// Those that everybody has heard of.
std::vector<uint16_t> LeaseKeeper::announced() {
  std::lock_guard lock(mutex_);
  std::vector<uint16_t> due;
  const int64_t now_ms = machine_ms();
  std::erase_if(announced_ms_, [&](const auto& one) {
    if (now_ms - one.second < times_.announce_ms) return false;
    due.push_back(one.first);
    held_[one.first].stage = PartitionStage::HandingOver;
    return true;
  });
  return due;
}

int64_t LeaseKeeper::pause_ms() const {
  int64_t pause = soon_ ? times_.soon_ms : times_.beat_ms;
  for (const auto& [id, since_ms] : announced_ms_)
    pause = std::clamp(since_ms + times_.announce_ms - machine_ms(), int64_t{0}, pause);
  return pause;
}

void LeaseKeeper::say_leaving() {
  const auto told = table_->set_draining(self().name, true);
  if (!told.ok())
    log::warning("other nodes wait a second for what this one gives up",
                 {{"error", told.error().message}});
  {
    std::lock_guard lock(mutex_);
    leaving_told_ = true;
  }
  changed_.notify_all();
}

std::vector<PartitionReport> LeaseKeeper::make_reports() {
  std::vector<PartitionReport> reports;
  PartitionOrders* orders = nullptr;
  {
    std::lock_guard lock(mutex_);
    orders = orders_;
    for (const auto& [id, held] : held_)
      if (held.stage != PartitionStage::Taking) reports.push_back({id, shown_stage(held), 0});
  }
  for (PartitionReport& report : reports)
    if (report.stage == PartitionStage::Serving || report.stage == PartitionStage::HandingOver)
      report.journal_head = orders->journal_head(report.id);
  return reports;
}

void LeaseKeeper::beat_once() {
  const std::vector<PartitionReport> reports = make_reports();
  const int64_t sent_ms = machine_ms();
  auto seen = table_->beat(self(), reports);
  // Nothing is concluded from a read that failed: the lease ends by itself.
  if (!seen.ok()) return;
  note({sent_ms, machine_ms(), *std::move(seen)});
}

LeaseDecision LeaseKeeper::settle(const BeatRead& read) {
  std::lock_guard lock(mutex_);
  std::vector<HeldPartition> held;
  for (const auto& [id, one] : held_) held.push_back(one);
  LeaseDecision decision = plan_.decide(read, held, leaving_ || orders_ == nullptr);
  seen_ = read.seen;
  entered_ = !decision.enter_anew;
  if (decision.lease_goes_on) {
    lease_.extend(read.sent_ms + times_.lease_ms - times_.margin_ms);
  } else {
    lease_.end();
  }
  for (const uint16_t id : decision.hand_over) announce_hand_over(held_[id]);
  for (const uint16_t id : decision.drop) announced_ms_.erase(id);
  soon_ = decision.look_soon;
  for (const LeaseDecision::Take& take : decision.take)
    held_[take.partition] = {.id = take.partition};
  // One that is being recovered is closed by whoever recovers it: served() says that it is lost.
  std::erase_if(decision.drop, [&](uint16_t id) {
    return std::exchange(held_[id].stage, PartitionStage::Ending) == PartitionStage::Recovering;
  });
  return decision;
}

void LeaseKeeper::note(const BeatRead& read) {
  const LeaseDecision decision = settle(read);
  changed_.notify_all();
  for (const uint16_t id : decision.drop)
    log::warning("this node has lost a partition", {{"partition", std::to_string(id)}});
  order(decision);
}

void LeaseKeeper::order(const LeaseDecision& decision) {
  for (const uint16_t id : decision.drop) orders_->give_up(id, true);
  for (const LeaseDecision::Take& take : decision.take) orders_->take(take);
}

// What was taken or served while the row was already gone is of the former incarnation as well.
bool LeaseKeeper::has_dropped_all() {
  std::vector<uint16_t> serving;
  bool none = false;
  {
    std::lock_guard lock(mutex_);
    none = held_.empty();
    for (auto& [id, held] : held_) {
      if (held.stage == PartitionStage::Serving) serving.push_back(id);
      announced_ms_.erase(id);
      if (held.stage == PartitionStage::Serving || held.stage == PartitionStage::Recovering)
        held.stage = PartitionStage::Ending;
    }
  }
  for (const uint16_t id : serving) orders_->give_up(id, true);
  return none;
}

void LeaseKeeper::enter_again() {
  if (!has_dropped_all()) return;
  const NodeIdentity before = self();
  bool draining = false;
  {
    std::lock_guard lock(mutex_);
    for (const NodeSeen& node : seen_.nodes)
      if (node.name == before.name) draining = node.draining;
  }
  if (!next_self_) {
    SystemClock clock;
    SystemRandom random;
    next_self_ = before;
    next_self_->incarnation = Uuid::v7(clock.now_ms(), random.next(), random.next(), 0).text();
    shut_out_since_ms_ = machine_ms();
  }
  const auto entered = enter(*next_self_, before.incarnation, draining);
  if (!entered.ok()) return;
  if (!*entered) {
    if (shut_out_since_ms_ != INT64_MAX &&
        machine_ms() - shut_out_since_ms_ > times_.lease_ms + 2 * times_.gap_ms) {
      shut_out_since_ms_ = INT64_MAX;
      lost_(name_taken(before.name));
    }
    return;
  }
  const NodeIdentity now = *std::exchange(next_self_, std::nullopt);
  PartitionOrders* orders = nullptr;
  {
    std::lock_guard lock(mutex_);
    self_ = now;
    plan_.begin_anew(now.incarnation);
    entered_ = true;
    wanted_ = true;
    orders = orders_;
  }
  log::warning("the node's row was gone; it has entered anew", {{"node", now.name}});
  if (orders != nullptr) orders->entered(now);
}

void LeaseKeeper::taken(uint16_t partition, uint64_t epoch) {
  std::lock_guard lock(mutex_);
  held_[partition] = {partition, epoch, PartitionStage::Recovering, machine_ms()};
}

bool LeaseKeeper::served(uint16_t partition) {
  bool ours = false;
  {
    std::lock_guard lock(mutex_);
    plan_.note_served(partition);
    HeldPartition& held = held_[partition];
    ours = held.stage == PartitionStage::Recovering;
    if (ours) held.stage = PartitionStage::Serving;
  }
  changed_.notify_all();
  return ours;
}

void LeaseKeeper::gone(uint16_t partition) {
  {
    std::lock_guard lock(mutex_);
    held_.erase(partition);
  }
  changed_.notify_all();
}

void LeaseKeeper::failed(uint16_t partition) {
  {
    std::lock_guard lock(mutex_);
    held_.erase(partition);
    plan_.note_failure(partition, machine_ms());
  }
  changed_.notify_all();
}

bool LeaseKeeper::leaving() const {
  std::lock_guard lock(mutex_);
  return leaving_;
}

NodeIdentity LeaseKeeper::self() const {
  std::lock_guard lock(mutex_);
  return self_;
}

ClusterView LeaseKeeper::view() const {
  std::lock_guard lock(mutex_);
  ClusterView view;
  for (const NodeSeen& node : seen_.nodes) {
    const bool dead = plan_.liveness().is_dead(node.name, node.incarnation);
    view.nodes.push_back({node, dead            ? NodeState::Dead
                                : node.draining ? NodeState::Draining
                                                : NodeState::Live});
  }
  for (NodeView& node : view.nodes) {
    if (node.name != self_.name || node.incarnation != self_.incarnation) continue;
    // Its own it knows better than its last beat told.
    std::vector<PartitionReport> reports;
    for (const auto& [id, held] : held_) {
      const auto told =
          std::find_if(node.reports.begin(), node.reports.end(),
                       [id = id](const PartitionReport& one) { return one.id == id; });
      reports.push_back(
          {id, shown_stage(held), told == node.reports.end() ? 0 : told->journal_head});
    }
    node.reports = std::move(reports);
  }
  for (const PartitionSeen& partition : seen_.partitions)
    view.partitions.push_back(view_of(partition, view.nodes));
  if (!lease_.holds()) view.warnings.push_back("the database does not answer this node");
  return view;
}

}  // namespace pawl::cluster
