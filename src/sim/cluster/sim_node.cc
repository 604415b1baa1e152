#include "sim/cluster/sim_node.h"

#include <algorithm>
#include <utility>

#include "cluster/postgres_node_table.h"

namespace pawl::sim {
namespace {

constexpr cluster::LeaseTimes kTimes{};

cluster::LeaseTimes times_of(const Plants& plants) {
  cluster::LeaseTimes times;
  if (plants.dead_by_outage) times.gap_ms = INT64_MAX / 4;
  return times;
}

}  // namespace

SimNode::SimNode(ClusterParts parts, Setup setup,
                 std::vector<std::unique_ptr<PartitionBooks>>& books)
    : parts_(parts),
      setup_(std::move(setup)),
      books_(books),
      identity_{setup_.name, setup_.incarnation, "http://" + setup_.name, "sim"},
      clock_(*this),
      plan_(setup_.name, setup_.incarnation, setup_.former, times_of(parts.plants)) {
  admit();
}

SimNode::~SimNode() { PAWL_CHECK(over()); }

// The database knows it by its incarnation.
void SimNode::admit() {
  application_ = PartitionOwner{identity_.name, identity_.incarnation}.application();
  parts_.database.admit(application_, client_);
  table_ = cluster::postgres_node_table(access(), parts_.partitions);
}

int64_t SimNode::steady_ms() const {
  return parts_.timeline.now_us() / 1000 * (1'000'000 + setup_.rate_ppm) / 1'000'000;
}

int64_t SimNode::WallClock::now_ms() {
  return kWallStartMs + node_.steady_ms() + node_.setup_.wall_offset_ms + node_.parts_.wall_jump_ms;
}

bool SimNode::may_answer() const { return alive() && steady_ms() < lease_until_ms_; }

void SimNode::start() {
  parts_.timeline.start(client_.group, [this] { keep(); });
}

void SimNode::freeze() {
  parts_.verdict.tell(setup_.name + " is frozen");
  client_.group.frozen = true;
}

void SimNode::kill(bool silent) {
  parts_.verdict.tell(setup_.name + " is killed" + (silent ? ", and its machine is gone" : ""));
  if (silent) parts_.database.forget_client(client_);
  parts_.timeline.end(client_.group);
}

Serving* SimNode::serving(uint16_t partition) {
  for (const auto& serving : servings_)
    if (serving->partition() == partition && !serving->over()) return serving.get();
  return nullptr;
}

std::string SimNode::owner_of(uint16_t partition) const {
  for (const cluster::PartitionSeen& seen : seen_.partitions)
    if (seen.id == partition) return seen.node;
  return "";
}

// --- the keeper of leases

bool SimNode::enter() {
  cluster::Liveness liveness(kTimes.lease_ms, kTimes.gap_ms);
  std::string former = setup_.former;
  while (alive()) {
    const auto entered = table_->enter(identity_, former, false);
    if (entered.ok() && *entered) return alive();
    if (entered.ok()) {
      // Somebody of this name: one that lives, or one that died elsewhere.
      const auto seen = table_->beat(identity_, {});
      if (seen.ok()) liveness.observe(steady_ms(), *seen);
      for (const cluster::NodeSeen& node : seen.ok() ? seen->nodes : seen_.nodes)
        if (node.name == setup_.name && liveness.is_dead(node.name, node.incarnation))
          former = node.incarnation;
    }
    parts_.verdict.tell(setup_.name + " has not joined yet" +
                        (entered.ok() ? "" : ": " + entered.error().message));
    parts_.timeline.sleep(kTimes.beat_ms * 1000);
  }
  return false;
}

void SimNode::keep() {
  if (!enter()) return;
  joined_ = true;
  parts_.verdict.tell(setup_.name + " has joined");
  while (alive()) {
    beat_once();
    sweep();
    if (leaving_ && servings_.empty()) {
      const Status left = table_->leave(identity_);
      parts_.verdict.tell(setup_.name + (left.ok() ? " has left" : " has left, but for its row"));
      gone_ = true;
    } else {
      parts_.timeline.sleep(kTimes.beat_ms * 1000);
    }
  }
}

void SimNode::beat_once() {
  if (leaving_ && !leaving_told_) {
    const auto told = table_->set_draining(setup_.name, true);
    leaving_told_ = told.ok();
  }
  std::vector<cluster::PartitionReport> reports;
  for (const auto& serving : servings_)
    if (!serving->over()) reports.push_back({serving->partition(), serving->held().stage, 0});
  const int64_t sent_ms = steady_ms();
  auto seen = table_->beat(identity_, reports);
  if (!seen.ok() || !alive()) return;
  seen_ = std::move(*seen);
  std::vector<cluster::HeldPartition> held;
  for (const auto& serving : servings_)
    if (!serving->over()) held.push_back(serving->held());
  act_on(plan_.decide({sent_ms, steady_ms(), seen_}, held, leaving_), sent_ms);
}

void SimNode::act_on(const cluster::LeaseDecision& decision, int64_t sent_ms) {
  if (decision.lease_goes_on) {
    lease_until_ms_ = sent_ms + kTimes.lease_ms - kTimes.margin_ms;
  } else {
    lease_until_ms_ = 0;
  }
  for (const uint16_t partition : decision.drop)
    if (Serving* held = serving(partition)) held->drop();
  for (const uint16_t partition : decision.hand_over)
    if (Serving* held = serving(partition)) held->hand_over();
  for (const auto& take : decision.take)
    if (serving(take.partition) == nullptr) begin(take);
  if (leaving_)
    for (const auto& serving : servings_) serving->hand_over();
  if (decision.enter_anew) enter_anew();
}

void SimNode::begin(const cluster::LeaseDecision::Take& take) {
  servings_.push_back(std::make_unique<Serving>(parts_, *this, books_, take.partition,
                                                mix64(setup_.seed ^ ++serial_)));
  parts_.timeline.start(
      client_.group, [serving = servings_.back().get(), seen = take.seen] { serving->run(seen); });
}

void SimNode::sweep() {
  for (const auto& serving : servings_) {
    if (serving->serves()) plan_.note_served(serving->partition());
    if (serving->over() && serving->failed()) plan_.note_failure(serving->partition(), steady_ms());
  }
  std::erase_if(servings_, [](const auto& serving) { return serving->over(); });
}

void SimNode::enter_anew() {
  while (alive() && !servings_.empty()) {
    parts_.timeline.sleep(20'000);
    sweep();
  }
  if (!alive()) return;
  identity_.incarnation = setup_.incarnation + "-" + std::to_string(++anew_);
  admit();
  plan_.begin_anew(identity_.incarnation);
  (void)enter();
}

}  // namespace pawl::sim
