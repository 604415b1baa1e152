#include "sim/cluster/cluster_world.h"

#include <algorithm>

#include "kernel/settings/doc.h"
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kServedAgainUs = 10 * kSecondUs;
constexpr int64_t kJoinedUs = 8 * kSecondUs;
constexpr int64_t kLeaseUs = 3 * kSecondUs;
constexpr int kRoundsMax = 20'000;
constexpr int kSettleTurnsMax = 5'000;
constexpr uint64_t kManyPartitions = 100;

void vary_fault(uint64_t& fault, SimRandom& random) {
  const uint64_t how = random.below(10);
  if (how < 3) fault = 0;
  if (how >= 8) fault *= 4;
}

}  // namespace

ClusterFaults ClusterFaults::draw(SimRandom& random, const Plants& plants) {
  ClusterFaults faults;
  for (auto fault : {&ClusterFaults::kill, &ClusterFaults::freeze, &ClusterFaults::join,
                     &ClusterFaults::drain, &ClusterFaults::outage, &ClusterFaults::fail_over,
                     &ClusterFaults::cut, &ClusterFaults::end_sessions})
    vary_fault(faults.*fault, random);
  if (random.percent(10) || plants.gap_unnoticed) faults.loss = 12;
  if (plants.dead_by_outage) faults.outage = 24;
  return faults;
}

ClusterWorld::ClusterWorld(SimRandom& random, uint64_t seed, Verdict& verdict, const Plants& plants)
    : random_(random),
      verdict_(verdict),
      plants_(plants),
      timeline_(0),
      database_(timeline_, ~seed, plants, verdict),
      faults_(ClusterFaults::draw(random, plants)),
      mix_(FaultMix::draw(random)) {
  const bool many = random.percent(3);
  partitions_ =
      static_cast<uint16_t>(many ? 20 + random.below(kManyPartitions - 19) : 1 + random.below(6));
  DatabaseFaults& faults = database_.faults();
  for (auto fault :
       {&DatabaseFaults::conflict, &DatabaseFaults::lost_before, &DatabaseFaults::lost_after,
        &DatabaseFaults::late, &DatabaseFaults::slow, &DatabaseFaults::read_lost})
    vary_fault(faults.*fault, random);
  // As distributed databases do it.
  if (random.percent(15)) faults.conflict = 50 + random.below(250);
  for (uint16_t id = 0; id < partitions_; ++id) {
    // To its kernel each is the only one: names have their homes where they are used, and no
    // messages go between partitions.
    configs_.push_back(draw_config(random));
    books_.push_back(new_books(id));
  }
  records_.resize(partitions_);
  database_.watch(this);
  const uint64_t nodes = 1 + random.below(4);
  for (uint64_t i = 1; i <= nodes; ++i) start_node("n" + std::to_string(i), true);
  verdict_.tell(std::to_string(nodes) + " nodes, " + std::to_string(partitions_) + " partitions");
  advance(2 * kSecondUs);
}

ClusterWorld::~ClusterWorld() {
  for (const auto& each : nodes_)
    if (!each->over()) timeline_.end(each->client().group);
  advance(kSecondUs);
  database_.shut_down();
  advance(kSecondUs);
}

std::unique_ptr<PartitionBooks> ClusterWorld::new_books(uint16_t id) {
  return std::make_unique<PartitionBooks>(
      id, configs_[id], random_, verdict_, plants_, mix_,
      PartitionBooks::Ways{
          [this](uint16_t partition, const auto& task) { submit(partition, task); },
          [this] { settle(); }, [this] { return now_ms(); }});
}

int64_t ClusterWorld::now_ms() const {
  return SimNode::kWallStartMs + timeline_.now_ms() + wall_jump_ms_;
}

std::string ClusterWorld::told() const { return "+" + std::to_string(timeline_.now_ms()) + "ms "; }

// --- nodes

void ClusterWorld::start_node(const std::string& name, bool knows_former) {
  SimNode::Setup setup;
  setup.name = name;
  setup.incarnation = name + "." + std::to_string(++serial_);
  for (const auto& each : nodes_)
    if (each->name() == name && knows_former) setup.former = each->incarnation();
  setup.rate_ppm = random_.between(-50'000, 50'000);
  setup.wall_offset_ms = random_.percent(50) ? 0 : random_.between(-1'500, 1'500);
  setup.seed = random_.next();
  nodes_.push_back(std::make_unique<SimNode>(
      ClusterParts{timeline_, database_, verdict_, plants_, partitions_, wall_jump_ms_, losses_},
      setup, books_));
  verdict_.tell(told() + setup.incarnation + " starts");
  nodes_.back()->start();
}

SimNode* ClusterWorld::node(const std::string& name) {
  for (const auto& each : nodes_)
    if (each->name() == name && each->alive()) return each.get();
  return nullptr;
}

size_t ClusterWorld::living() const {
  return static_cast<size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& each) { return each->alive(); }));
}

SimNode* ClusterWorld::any_node() {
  std::vector<SimNode*> living;
  for (const auto& each : nodes_)
    if (each->alive()) living.push_back(each.get());
  return living.empty() ? nullptr : random_.pick(living);
}

Serving* ClusterWorld::served_by(uint16_t partition) {
  const auto found = database_.tables().partitions.find(partition);
  if (found == database_.tables().partitions.end()) return nullptr;
  const OwnerRow& row = found->second;
  SimNode* owner = node(row.node);
  Serving* serving = owner == nullptr ? nullptr : owner->serving(partition);
  return serving != nullptr && serving->serves() && serving->epoch() == row.epoch ? serving
                                                                                  : nullptr;
}

// --- clients

// A client asks any node, which passes it on to whom it believes to have the partition.
void ClusterWorld::submit(uint16_t partition, const std::shared_ptr<SimTask>& task) {
  const Error nobody{ErrorCode::Unavailable, "nobody serves the partition"};
  SimNode* asked = calm_ ? nullptr : any_node();
  Serving* serving = calm_ ? served_by(partition) : nullptr;
  if (asked != nullptr) {
    serving = asked->serving(partition);
    SimNode* owner = serving != nullptr ? nullptr : node(asked->owner_of(partition));
    if (owner != nullptr) serving = owner->serving(partition);
  }
  if (serving == nullptr) return task->refuse(nobody);
  serving->submit(task, books_[partition]->told_head());
}

// A read that goes to one who believes to have the partition, whether it has it or not.
void ClusterWorld::read_somewhere() {
  const auto partition = static_cast<uint16_t>(random_.below(partitions_));
  for (const auto& each : nodes_) {
    if (!each->alive()) continue;
    Serving* serving = each->serving(partition);
    if (serving == nullptr || !serving->serves()) continue;
    serving->submit(std::make_shared<CallTask>(books_[partition]->desk(), [](Frame&) {}),
                    books_[partition]->told_head());
  }
}

void ClusterWorld::clients_act() {
  for (uint64_t left = 1 + random_.below(4); left > 0 && !verdict_.failed(); --left) {
    Crowd& crowd = random_.pick(books_)->crowd();
    if (random_.percent(45)) {
      crowd.client_acts();
    } else {
      crowd.worker_acts();
    }
  }
  if (random_.percent(30)) read_somewhere();
  if (random_.percent(3)) wall_jump_ms_ += random_.between(1'000, 60'000);
}

// --- faults

void ClusterWorld::maybe_fault() {
  uint64_t drawn = random_.below(1000);
  SimNode* chosen = any_node();
  if (chosen == nullptr) {
    if (drawn < 100) start_node("n1", random_.percent(70));
    return;
  }
  auto is = [&](uint64_t often) {
    if (drawn < often) return drawn = UINT64_MAX, true;
    drawn -= often;
    return false;
  };
  if (is(faults_.kill)) return kill(*chosen);
  if (is(faults_.freeze)) return freeze(*chosen);
  if (is(faults_.join) && living() < 4) return join();
  if (is(faults_.drain)) {
    verdict_.tell(told() + chosen->name() + " is drained");
    return chosen->drain();
  }
  if (is(faults_.outage)) return outage();
  if (is(faults_.fail_over)) {
    verdict_.tell(told() + "another server of the database takes over");
    verdict_.reach(Probe::DatabaseFailover);
    return database_.fail_over();
  }
  if (is(faults_.cut)) return cut(*chosen);
  if (is(faults_.end_sessions)) {
    verdict_.tell(told() + "the sessions of " + chosen->name() + " are ended");
    return database_.end_sessions_of(chosen->application());
  }
  const bool made = database_.tables().partitions.size() == partitions_;
  if (faults_.loss != 0 && made && random_.percent(20)) {
    database_.keep();
    for (size_t id = 0; id < partitions_; ++id) kept_heads_[id] = books_[id]->head();
  }
  if (is(faults_.loss) && !kept_heads_.empty()) lose_records();
}

void ClusterWorld::join() {
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (node(name) != nullptr) continue;
    verdict_.reach(Probe::NodeJoined);
    return start_node(name, random_.percent(70));
  }
}

// It is started again after a while, mostly with its data.
void ClusterWorld::kill(SimNode& node) {
  ++kills_;
  verdict_.reach(Probe::NodeKilled);
  node.kill(random_.percent(30));
  timeline_.after(random_.between(100'000, 8 * kSecondUs),
                  [this, name = node.name(), knows = random_.percent(70)] {
                    if (this->node(name) == nullptr && !ending_) start_node(name, knows);
                  });
}

void ClusterWorld::freeze(SimNode& node) {
  if (node.frozen()) return;
  verdict_.reach(Probe::NodeFrozen);
  node.freeze();
  const bool long_one = random_.percent(60);
  timeline_.after(long_one ? random_.between(3 * kSecondUs, 12 * kSecondUs)
                           : random_.between(1'000, 3 * kSecondUs),
                  [&node] { node.thaw(); });
}

void ClusterWorld::cut(SimNode& node) {
  DatabaseClient& client = node.client();
  const uint64_t how = random_.below(3);
  client.requests_lost = how != 1;
  client.answers_lost = how != 0;
  verdict_.reach(Probe::NodeCutOff);
  verdict_.tell(told() + node.name() + " does not reach the database" +
                (how == 0   ? " with its requests"
                 : how == 1 ? " with answers"
                            : ""));
  timeline_.after(random_.between(100'000, 9 * kSecondUs),
                  [&client] { client.requests_lost = client.answers_lost = false; });
}

void ClusterWorld::outage() {
  if (database_.is_away()) return;
  verdict_.tell(told() + "the database goes away");
  verdict_.reach(Probe::DatabaseOutage);
  database_.go_away();
  timeline_.after(random_.between(100'000, 8 * kSecondUs), [this] { come_back(); });
}

void ClusterWorld::come_back() {
  if (!database_.is_away()) return;
  verdict_.tell(told() + "the database is back");
  database_.come_back();
}

// Another server takes over that lacks the newest commits. What is left is a journal without a gap:
// from there all goes on, with books that know nothing else.
void ClusterWorld::lose_records() {
  const bool pooled = random_.percent(60);
  verdict_.tell(told() + "a server takes over that lacks the newest commits" +
                (pooled ? "; connections stay up" : ""));
  verdict_.reach(Probe::RecordsLost);
  database_.fail_over_with_loss(pooled);
  ++losses_;
  writers_.clear();
  for (uint16_t id = 0; id < partitions_; ++id) {
    if (books_[id]->head() == kept_heads_[id]) {
      // Rows without a record may be lost: a connection that outlives this would not notice.
      for (const auto& each : nodes_)
        if (each->alive() && each->serving(id) != nullptr)
          database_.end_sessions_of(each->application());
      continue;
    }
    books_[id]->close();
    closed_books_.push_back(std::exchange(books_[id], new_books(id)));
    books_[id]->know_answers_of(*closed_books_.back());
    records_[id].resize(kept_heads_[id]);
    for (size_t i = 0; i < records_[id].size(); ++i)
      books_[id]->read_record(0, i + 1, records_[id][i]);
  }
}

// --- I10

void ClusterWorld::taken(const Taken& taken) {
  verdict_.expect(taken.after.epoch == taken.before.epoch + 1, "I10 epoch",
                  "an epoch was taken twice");
  writers_[taken.partition] = {taken.session, taken.after.epoch};
  const bool moved = !taken.before.node.empty() && !taken.after.node.empty() &&
                     taken.before.node != taken.after.node;
  verdict_.tell(told() + "partition " + std::to_string(taken.partition) + ": epoch " +
                std::to_string(taken.after.epoch) + ", " + taken.before.incarnation + " → " +
                taken.after.incarnation);
  if (moved) judge_taken_from(taken);
}

// Who was awake, with a way to the database, would have beaten; and while the database was away
// nobody could.
void ClusterWorld::judge_taken_from(const Taken& taken) {
  verdict_.reach(Probe::TakenOver);
  const SimNode* owner = node(taken.before.node);
  if (owner == nullptr || owner->incarnation() != taken.before.incarnation || owner->frozen())
    return;
  const int64_t slowest_us = kLeaseUs * 100 / 106;
  const int64_t back_us = timeline_.now_us() - database_.back_since_us();
  if (database_.back_since_us() != 0)
    verdict_.expect(back_us >= slowest_us, "I10 outage",
                    "a node was taken for dead because the database had been away");
  const auto row = database_.tables().nodes.find(taken.before.node);
  if (row == database_.tables().nodes.end() || row->second.incarnation != taken.before.incarnation)
    return;
  verdict_.expect((timeline_.now_ms() - row->second.last_seen_ms) * 1000 >= slowest_us - 500'000,
                  "I10 alive", "a partition was taken from a node that had just beaten");
}

void ClusterWorld::written(const Written& written) {
  const OwnerRow& row = database_.tables().partitions.at(written.partition);
  const std::string name = "partition " + std::to_string(written.partition) + ", record " +
                           std::to_string(written.number) + ": ";
  verdict_.expect(written.epoch == row.epoch, "I10 fence",
                  name + "written in an epoch that is over");
  const auto writer = writers_.find(written.partition);
  if (writer != writers_.end() && writer->second.epoch == row.epoch)
    verdict_.expect(written.session == writer->second.session, "I10 writer",
                    name + "written by another session than the one that took the epoch");
  if (written.number == 0 || verdict_.failed()) return;
  PartitionBooks& books = *books_[written.partition];
  const std::string& record = *database_.record(written.partition, written.number);
  verdict_.tell(told() + name + std::to_string(record.size()) + " bytes");
  verdict_.expect(written.number == books.head() + 1, "I10 gap",
                  name + "the one before was " + std::to_string(books.head()));
  if (verdict_.failed()) return;
  records_[written.partition].push_back(record);
  books.read_record(written.epoch, written.number, record);
}

// --- the end

void ClusterWorld::calm_down() {
  verdict_.tell(told() + "no more faults");
  database_.faults() = {0, 0, 0, 0, 0, 0};
  come_back();
  for (const auto& each : nodes_) {
    each->client().requests_lost = each->client().answers_lost = false;
    if (each->frozen()) each->thaw();
  }
  for (const auto& books : books_) books->calm_down();
  ending_ = true;
  const bool somebody = std::any_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
    return each->alive() && !each->leaving();
  });
  for (int i = 1; i <= 4 && !somebody; ++i)
    if (node("n" + std::to_string(i)) == nullptr) return start_node("n" + std::to_string(i), true);
  if (!somebody) start_node("n5", false);
}

// A node whose name another process may still live under waits for the length of a lease before it
// joins; ten seconds after somebody is there, every partition has been served. Meanwhile some may
// be on their way to another node again.
void ClusterWorld::judge_served_again() {
  auto joined = [&] {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
      return each->alive() && each->joined() && !each->leaving();
    });
  };
  int64_t until_us = timeline_.now_us() + kJoinedUs;
  while (!joined() && timeline_.now_us() < until_us && !verdict_.failed()) advance(50'000);
  until_us = timeline_.now_us() + kServedAgainUs;
  std::set<uint16_t> waiting;
  for (uint16_t id = 0; id < partitions_; ++id) waiting.insert(id);
  while (!waiting.empty() && timeline_.now_us() < until_us && !verdict_.failed()) {
    std::erase_if(waiting, [&](uint16_t id) { return served_by(id) != nullptr; });
    advance(20'000);
  }
  if (!waiting.empty())
    verdict_.fail("liveness", "partition " + std::to_string(*waiting.begin()) +
                                  " is not served ten seconds after the last fault");
}

// Until nothing is in flight or due anywhere.
void ClusterWorld::settle() {
  for (int turn = 0; turn < kSettleTurnsMax && !verdict_.failed(); ++turn) {
    bool rests = true;
    for (uint16_t id = 0; id < partitions_ && rests; ++id) {
      Serving* serving = served_by(id);
      rests = serving != nullptr && serving->at_rest();
    }
    if (rests) return;
    advance(turn < 100 ? 2'000 : 50'000);
  }
  verdict_.fail("liveness", "the cluster does not come to rest");
}

void ClusterWorld::audit(bool in_order) {
  settle();
  for (uint16_t id = 0; id < partitions_ && !verdict_.failed(); ++id) {
    Serving* serving = served_by(id);
    if (serving == nullptr) return verdict_.fail("liveness", "a partition is not served");
    database_.answer_at_once(true);
    books_[id]->check_work_done(serving->now_ms());
    books_[id]->audit(*serving->core(), in_order);
    database_.answer_at_once(false);
  }
}

void ClusterWorld::run_to_the_end() {
  calm_down();
  judge_served_again();
  calm_ = true;
  settle();
  if (verdict_.failed()) return;
  auto is_over = [&] {
    return std::all_of(books_.begin(), books_.end(),
                       [](const auto& each) { return each->is_over(); });
  };
  std::vector<uint64_t> lives(partitions_, 0);
  int round = 0;
  for (; round < kRoundsMax && !verdict_.failed() && !is_over(); ++round) {
    int64_t due_ms = 0;
    for (uint16_t id = 0; id < partitions_; ++id) {
      PartitionBooks* books = books_[id].get();
      // What the gates were asked before a partition moved may have been refused.
      if (std::exchange(lives[id], books->life()) != books->life()) books->crowd().open_all_gates();
      if (!books->is_over()) books->crowd().work_off();
      if (verdict_.failed()) return;
      due_ms = sooner(due_ms, books->model().first_due_ms());
    }
    settle();
    wall_jump_ms_ += due_ms == 0 ? 1'000 : std::max<int64_t>(due_ms - now_ms() + 2'000, 1'000);
    advance(5'000);
  }
  verdict_.expect(round < kRoundsMax, "liveness", "jobs and runs never end");
  if (!verdict_.failed()) audit(false);
  if (!verdict_.failed()) audit(true);
}

}  // namespace pawl::sim
