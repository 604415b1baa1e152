#include "main/partition_fleet.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/log.h"
#include "main/serve_node.h"

namespace pawl {
namespace {

constexpr std::chrono::milliseconds kViewPause{100};
constexpr std::chrono::milliseconds kFormatPause{60'000};
constexpr std::chrono::seconds kHandOverMax{15};
// Until the others have read who serves what now: a beat, and their kViewPause.
constexpr std::chrono::milliseconds kOthersKnow{700};

}  // namespace

PartitionFleet::PartitionFleet(const ServeOptions& options, api::ServerParts& server,
                               const actions::Vault* vault, cluster::Member* member)
    : options_(options),
      server_(server),
      vault_(vault),
      member_(member),
      map_(server.config().partitions) {}

PartitionFleet::~PartitionFleet() { stop(); }

PartitionSurroundings PartitionFleet::around() {
  PartitionSurroundings around{.options = options_,
                               .server = server_,
                               .vault = vault_,
                               .outgoing = outgoing_,
                               .desk = &desk_};
  if (!front_) return around;
  around.transport = [this](uint16_t to, std::string batch,
                            std::function<void(Result<std::string>)> done) {
    front_->passing().carry(to, std::move(batch), std::move(done));
  };
  around.pass_on = [this](api::Call&& call, uint16_t partition) {
    front::Errand errand{.request = http::parts_of(std::move(call.request)), .route = call.route};
    errand.partition = partition;
    errand.sink = http::sink_for(std::move(call.responder));
    front_->passing().pass(std::move(errand));
  };
  around.on_ready = [this](uint16_t partition, const std::string& queue) {
    front_->desk().became_ready(partition, queue);
  };
  return around;
}

Result<std::unique_ptr<ServedPartition>> PartitionFleet::recover(uint16_t partition,
                                                                 std::unique_ptr<Store> store) {
  const auto begun = std::chrono::steady_clock::now();
  auto served = ServedPartition::start(around(), partition, std::move(store));
  if (!served.ok()) return served;
  const auto took = std::chrono::steady_clock::now() - begun;
  ++recoveries_;
  recovery_us_ +=
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  return served;
}

// --- a server that is alone

Status PartitionFleet::serve_all(std::vector<std::unique_ptr<Store>> stores) {
  if (stores.size() > 1)
    front_ = std::make_unique<front::Front>(server_, map_, nullptr, link::OwnPeer{});
  for (size_t k = 0; k < stores.size(); ++k) {
    const auto partition = static_cast<uint16_t>(k);
    PAWL_TRY(auto served, recover(partition, std::move(stores[k])));
    std::lock_guard lock(mutex_);
    map_.serve_here(partition, 1, served->app());
    served_[partition] = std::move(served);
  }
  return ok_status();
}

std::optional<Error> PartitionFleet::failed() const {
  std::lock_guard lock(mutex_);
  for (const auto& [id, served] : served_)
    if (auto failure = served->engine().failed()) return failure;
  return std::nullopt;
}

// --- a node of a cluster

Status PartitionFleet::join_cluster() {
  const cluster::NodeIdentity self = member_->self();
  const std::string key = member_->key().derive(member_->cluster_id(), "link");
  incarnation_.change(self.incarnation);
  PAWL_TRY(links_, link::Links::start({.key = key,
                                       .name = self.name,
                                       .incarnation = incarnation_,
                                       .tls_ca_file = options_.link_ca}));
  front_ = std::make_unique<front::Front>(server_, map_, links_.get(),
                                          link::OwnPeer{self.name, incarnation_, self.url},
                                          [this] { member_->look_now(); });
  front_->passing().use_lease([this] { return member_->lease().holds(); });
  door_ = std::make_unique<link::LinkDoor>(
      link::DoorConfig{.key = key, .incarnation = incarnation_},
      [this](uint16_t partition, uint64_t epoch, uint8_t hops, http::Request&& request,
             http::Responder&& responder) {
        return front_->deliver(partition, epoch, hops, std::move(request), std::move(responder));
      });
  member_->start(*this);
  note_view();
  keep_format();
  return ok_status();
}

// What the others serve, as of the last beat; again and again.
void PartitionFleet::note_view() {
  const cluster::ClusterView view = member_->view();
  const std::string self = member_->self().incarnation;
  std::vector<std::optional<front::PartitionMap::Elsewhere>> others(map_.partitions());
  for (const cluster::PartitionView& partition : view.partitions) {
    if (partition.id >= others.size() || partition.incarnation == self) continue;
    const auto owner =
        std::find_if(view.nodes.begin(), view.nodes.end(), [&](const cluster::NodeView& node) {
          return node.incarnation == partition.incarnation &&
                 node.state != cluster::NodeState::Dead;
        });
    if (owner == view.nodes.end()) continue;
    others[partition.id] = {{owner->name, owner->incarnation, owner->url}, partition.epoch};
  }
  for (const cluster::NodeView& node : view.nodes)
    if (node.state == cluster::NodeState::Dead) links_->drop(node.incarnation);
  map_.note_others(others);
  front_->alarm().in(kViewPause, [this] { note_view(); });
}

// Now and then: it changes when the last node of an upgrade is there.
void PartitionFleet::keep_format() {
  std::function<void()> work = [member = member_, raise = map_.serves(0)] {
    if (Status kept = member->keep_format(raise); !kept.ok())
      log::warning("the journal's format was not looked after", {{"why", kept.error().message}});
  };
  // Without room, next time.
  (void)server_.readers().run(work).ok();
  front_->alarm().in(kFormatPause, [this] { keep_format(); });
}

Status PartitionFleet::serve(uint16_t partition, std::unique_ptr<PostgresStore> store) {
  const uint64_t epoch = store->epoch();
  auto served = recover(partition, std::move(store));
  if (!served.ok()) {
    log::warning("a partition could not be served; it is tried again",
                 {{"partition", std::to_string(partition)}, {"why", served.error().message}});
    return served.error();
  }
  api::App& app = (*served)->app();
  {
    std::lock_guard lock(mutex_);
    served_[partition] = std::move(served).value();
  }
  map_.serve_here(partition, epoch, app);
  front_->desk().partition_changed(partition);
  return ok_status();
}

void PartitionFleet::give_up(uint16_t partition, bool lost) {
  map_.end_here(partition);
  std::unique_ptr<ServedPartition> served;
  {
    std::lock_guard lock(mutex_);
    const auto found = served_.find(partition);
    if (found == served_.end()) return;
    served = std::move(found->second);
    served_.erase(found);
  }
  if (lost)
    log::warning("a partition was lost to another node",
                 {{"partition", std::to_string(partition)}});
  served->stop();
  served.reset();  // with its store, which frees it
  given_up_.notify_all();
  if (!lost) front_->tell_peers_to_look();
}

void PartitionFleet::entered_anew(const cluster::NodeIdentity& self) {
  incarnation_.change(self.incarnation);
}

uint64_t PartitionFleet::journal_head(uint16_t partition) {
  std::lock_guard lock(mutex_);
  const auto found = served_.find(partition);
  return found == served_.end() ? 0 : found->second->engine().stats().journal_head;
}

cluster::ClusterView PartitionFleet::view() const {
  cluster::ClusterView view = member_->view();
  for (const auto& warnings : {links_->warnings(), door_->warnings()})
    view.warnings.insert(view.warnings.end(), warnings.begin(), warnings.end());
  return view;
}

api::NodeFigures PartitionFleet::figures() const {
  api::NodeFigures figures{.recoveries = recoveries_, .recovery_us = recovery_us_};
  if (member_ != nullptr) {
    const cluster::MemberCounts counts = member_->counts();
    figures.takeovers = counts.takeovers;
    figures.fenced = counts.fenced;
  }
  if (links_) figures.links = links_->stats();
  std::lock_guard lock(mutex_);
  for (const auto& [id, served] : served_)
    figures.messages_unsettled.emplace_back(id, served->messages_unsettled());
  return figures;
}

// --- requests

http::Verdict PartitionFleet::judge(http::Request& request) {
  if (door_ && request.path == link::kLinkPath && request.method == "POST") {
    return door_->judge(request);
  }
  return server_.judge(request);
}

http::RoundHandler PartitionFleet::round_handler() {
  if (!front_) {
    std::lock_guard lock(mutex_);
    return served_.begin()->second->app().round_handler();
  }
  http::RoundHandler handler = front_->round_handler();
  if (!door_) return handler;
  return {.handle =
              [this, handle = std::move(handler.handle)](http::Request&& request,
                                                         http::Responder responder) {
                if (request.path == link::kLinkPath)
                  return door_->serve(std::move(request), std::move(responder));
                handle(std::move(request), std::move(responder));
              },
          .end_round = std::move(handler.end_round)};
}

bool PartitionFleet::others_live() const {
  const cluster::ClusterView view = member_->view();
  const std::string self = member_->self().incarnation;
  return std::any_of(view.nodes.begin(), view.nodes.end(), [&](const cluster::NodeView& node) {
    return node.state == cluster::NodeState::Live && node.incarnation != self;
  });
}

// A node of a cluster hands its partitions over first, while it still passes requests on and learns
// who has them now. What nobody else can take stays until the end.
void PartitionFleet::hand_over() {
  if (member_ == nullptr || !others_live() || !member_->drain().ok()) return;
  const auto until = std::chrono::steady_clock::now() + kHandOverMax;
  std::unique_lock lock(mutex_);
  const auto none_left = [&] { return served_.empty(); };
  // Nodes that stop together find nobody: then each keeps its own until the end.
  while (!given_up_.wait_for(lock, kViewPause, none_left)) {
    lock.unlock();  // the keeper of leases asks this fleet under a lock of its own
    if (!others_live() || std::chrono::steady_clock::now() >= until) return;
    lock.lock();
  }
  given_up_.wait_for(lock, kOthersKnow, [] { return false; });
}

void PartitionFleet::begin_drain() {
  server_.begin_drain();
  if (front_) front_->begin_drain();
  std::lock_guard lock(mutex_);
  for (const auto& [id, served] : served_) served->begin_drain();
}

void PartitionFleet::stop() {
  if (member_ != nullptr) member_->leave();
  std::map<uint16_t, std::unique_ptr<ServedPartition>> served;
  {
    std::lock_guard lock(mutex_);
    served.swap(served_);
  }
  for (const auto& [id, one] : served) {
    map_.end_here(id);
    one->stop();
  }
  if (front_) front_->alarm().stop();
  if (links_) links_->stop();
}

}  // namespace pawl
