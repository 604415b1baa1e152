#include "front/fetch_desk.h"

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/partition.h"
#include "front/sinks.h"

namespace pawl::front {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kParkedMax = 20'000;
constexpr size_t kInterestsMax = 50'000;
constexpr std::string_view kKeyHeader = "idempotency-key";

std::string* header_of(http::RequestParts& request, std::string_view name) {
  for (auto& [key, value] : request.headers)
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0)
      return &value;
  return nullptr;
}

std::string_view header_of(const http::Response& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return {};
}

}  // namespace

// One fetch, from its first question to its answer. Used by one thread at a time: whoever brings
// the answer that it waits for.
struct FetchDesk::Visit {
  Wish wish;
  Done done;
  FetchedJobs found = {};
  Clock::time_point until;
  Clock::time_point give_up;  // if some partition cannot be asked
  Clock::time_point looked_everywhere;
  std::string key;  // its Idempotency-Key; "" = none
  uint32_t passes = 0;
  // Who goes on: the thread that asks, or the one that brings the answer.
  enum class Turn : uint8_t { Asking, Answered, Waiting };
  std::atomic<Turn> turn{Turn::Asking};
  // --- of the present pass
  size_t queue = 0;
  std::vector<ReadyBoard::Choice> choices = {};
  size_t choice = 0;
  bool queue_begun = false;
  std::vector<link::Peer> of_pass = {};  // the other nodes; those that are left for this queue:
  std::vector<link::Peer> peers = {};
  bool peers_first = false;
  bool everywhere = true;  // else only what is here, and the peer that hinted
  std::string hinting = {};
  std::set<uint16_t> covered = {};  // who has nothing for it, or gave
  bool failed = false;              // somebody who had to be asked gave no answer
  bool all_replayed = true;         // the answers are those of an earlier call with this key
  int64_t retry_at_ms = 0;          // a rate held jobs back until then; 0 = none did
  // --- while it is parked, guarded by the desk's mutex
  bool parked = false;
  uint64_t alarm = 0;

  uint32_t missing() const {
    return wish.order.count -
           static_cast<uint32_t>(std::min<size_t>(found.jobs.size(), wish.order.count));
  }
};

FetchDesk::FetchDesk(api::ServerParts& server, PartitionMap& map, Passing& passing,
                     link::Links* links, Alarm& alarm, link::OwnPeer self)
    : server_(server),
      map_(map),
      passing_(passing),
      links_(links),
      alarm_(alarm),
      self_(std::move(self)),
      board_(map.partitions()) {}

FetchDesk::~FetchDesk() { stop(); }

void FetchDesk::fetch(Wish wish, Done done) {
  auto visit = std::make_shared<Visit>();
  const auto most = std::chrono::milliseconds(server_.config().fetch_wait_ms_max);
  visit->until = Clock::now() + std::min(most, std::chrono::milliseconds(wish.order.wait_ms));
  visit->give_up = Clock::now() + kOwnerWait;
  wish.order.count =
      std::min(wish.order.count, static_cast<uint32_t>(server_.config().fetch_count_max));
  visit->wish = std::move(wish);
  if (const std::string* key = header_of(visit->wish.request, kKeyHeader)) visit->key = *key;
  visit->done = std::move(done);
  start_pass(visit);
}

// --- a pass: every partition that may have jobs is asked, one after the other

void FetchDesk::start_pass(const std::shared_ptr<Visit>& visit) {
  visit->queue = 0;
  visit->queue_begun = false;
  visit->retry_at_ms = 0;
  visit->all_replayed = true;
  visit->covered.clear();
  for (uint16_t here : partitions_here()) visit->covered.insert(here);
  visit->failed = false;
  visit->of_pass.clear();
  visit->peers_first = !visit->everywhere;
  // With a key each partition is asked by itself, wherever it is.
  if (links_ != nullptr && !visit->wish.here_only && visit->key.empty()) {
    const auto now = Clock::now();
    for (link::Peer& peer : map_.peers()) {
      if (!visit->everywhere && peer.incarnation != visit->hinting) continue;
      std::lock_guard lock(mutex_);
      // Others had their turn since: what waits over there must not wait for ever.
      if (now - peers_asked_[peer.incarnation] > kPeerPause) visit->peers_first = true;
      visit->of_pass.push_back(std::move(peer));
    }
  }
  if (visit->everywhere) visit->looked_everywhere = Clock::now();
  drive(visit);
}

// Asks until an answer has to be waited for. An answer that is there at once is taken up by the
// same loop, so that many of them do not grow the stack.
void FetchDesk::drive(const std::shared_ptr<Visit>& visit) {
  using Turn = Visit::Turn;
  do {
    visit->turn = Turn::Asking;
    if (!step(visit)) return;
  } while (visit->turn.exchange(Turn::Waiting) == Turn::Answered);
}

void FetchDesk::answered(const std::shared_ptr<Visit>& visit) {
  using Turn = Visit::Turn;
  if (visit->turn.exchange(Turn::Answered) == Turn::Waiting) drive(visit);
}

// False: nothing was asked; the visit has ended, or goes on elsewhere.
bool FetchDesk::step(const std::shared_ptr<Visit>& visit) {
  const bool gone = visit->wish.is_gone && visit->wish.is_gone();
  if (visit->missing() == 0 || visit->found.refusal || gone || server_.draining()) {
    finish(visit);
    return false;
  }
  // A queue is asked for everywhere before the next one is: that order is promised.
  while (visit->queue < visit->wish.order.queues.size()) {
    if (!std::exchange(visit->queue_begun, true)) begin_queue(*visit);
    if (visit->peers_first && ask_peer(visit)) return true;
    if (ask_here(visit) || ask_peer(visit)) return true;
    ++visit->queue;
    visit->queue_begun = false;
  }
  end_pass(visit);
  return false;
}

void FetchDesk::begin_queue(Visit& visit) {
  const std::string& queue = visit.wish.order.queues[visit.queue].scoped;
  visit.choice = 0;
  visit.peers = visit.of_pass;
  if (visit.key.empty()) {
    visit.choices = board_.choose(queue, partitions_here());
    return;
  }
  visit.choices.clear();
  const uint16_t count = map_.partitions();
  const uint16_t home = home_of(NameKind::IdempotencyKey, "", visit.key, count);
  for (uint16_t i = 0; i < count; ++i)
    visit.choices.push_back({static_cast<uint16_t>((home + i) % count), 0});
}

bool FetchDesk::ask_here(const std::shared_ptr<Visit>& visit) {
  if (visit->choice == visit->choices.size()) return false;
  ask(visit, visit->choices[visit->choice++]);
  return true;
}

void FetchDesk::ask(const std::shared_ptr<Visit>& visit, const ReadyBoard::Choice& choice) {
  const FetchOrder::Queue& queue = visit->wish.order.queues[visit->queue];
  const uint32_t asked = visit->missing();
  Errand errand{.request = visit->wish.request, .route = visit->wish.route};
  errand.request.body = visit->wish.order.part({queue}, asked);
  errand.partition = choice.partition;
  if (visit->key.empty()) {
    // If it is given up meanwhile, the next pass asks its new owner.
    errand.hops = kHopsMax;
    errand.give_up = Clock::now();
  } else {
    *header_of(errand.request, kKeyHeader) =
        visit->key + "/fetch/" + queue.name + "/" + std::to_string(visit->passes);
  }
  errand.sink = std::make_shared<AnswerTo>([this, visit, choice, asked](http::Response&& answer) {
    take_part(visit, std::move(answer), asked, choice);
  });
  passing_.pass(std::move(errand));
}

bool FetchDesk::ask_peer(const std::shared_ptr<Visit>& visit) {
  if (visit->peers.empty()) return false;
  const link::Peer peer = std::move(visit->peers.back());
  visit->peers.pop_back();
  {
    std::lock_guard lock(mutex_);
    peers_asked_[peer.incarnation] = Clock::now();
  }
  link::Passed passed{.partition = kWholeNode, .hops = 1, .request = visit->wish.request};
  const FetchOrder::Queue& queue = visit->wish.order.queues[visit->queue];
  passed.request.body = visit->wish.order.part({queue}, visit->missing());
  if (Clock::now() < visit->until) {
    passed.request.headers.emplace_back("pawl-waiting-node", self_.name);
    passed.request.headers.emplace_back("pawl-waiting-incarnation", self_.incarnation.now());
    passed.request.headers.emplace_back("pawl-waiting-url", self_.url);
  }
  const uint32_t asked = visit->missing();
  auto sink = std::make_shared<AnswerTo>(
      [this, visit, peer, asked, name = queue.scoped](http::Response&& answer) {
        const size_t before = visit->found.jobs.size();
        visit->failed |= answer.status >= 500;
        for (uint16_t partition : partitions_of(header_of(answer, kCoveredHeader)))
          visit->covered.insert(partition);
        take(visit, std::move(answer));
        if (visit->found.jobs.size() - before >= asked) wake_soon(name, peer.incarnation);
        answered(visit);
      });
  // What a node that is gone has leased comes back when the leases end.
  links_->call({peer, std::move(passed), sink, [this, visit](link::LinkFailure) {
                  visit->failed = true;
                  answered(visit);
                }});
  return true;
}

void FetchDesk::take_part(const std::shared_ptr<Visit>& visit, http::Response&& answer,
                          uint32_t asked, const ReadyBoard::Choice& choice) {
  const std::string& queue = visit->wish.order.queues[visit->queue].scoped;
  const bool empty = !header_of(answer, "Pawl-Queue-Empty").empty();
  if (const std::string_view at = header_of(answer, "Pawl-Retry-At"); !at.empty()) {
    const int64_t ms = std::strtoll(std::string(at).c_str(), nullptr, 10);
    if (visit->retry_at_ms == 0 || ms < visit->retry_at_ms) visit->retry_at_ms = ms;
  }
  if (header_of(answer, "Idempotency-Replayed").empty()) visit->all_replayed = false;
  visit->covered.insert(choice.partition);
  visit->failed |= answer.status >= 500;
  const size_t before = visit->found.jobs.size();
  take(visit, std::move(answer));
  if (visit->key.empty() && empty) board_.came_short(queue, choice);
  if (visit->found.jobs.size() - before >= asked) {
    board_.gave_all(queue, choice);
    wake_soon(queue, "");  // there may be more, for others who wait
  }
  answered(visit);
}

void FetchDesk::take(const std::shared_ptr<Visit>& visit, http::Response&& answer) {
  auto jobs = answer.status < 400 ? jobs_of(answer) : std::nullopt;
  if (jobs) {
    for (std::string& job : *jobs) visit->found.jobs.push_back(std::move(job));
  } else if (answer.status < 500 && visit->found.jobs.empty()) {
    visit->found.refusal = std::move(answer);
  }
}

void FetchDesk::end_pass(const std::shared_ptr<Visit>& visit) {
  ++visit->passes;
  if (!visit->found.jobs.empty()) return finish(visit);
  // What an earlier call with this key waited for is not waited for again.
  const bool again = !visit->key.empty() && visit->all_replayed;
  if (!again && visit->wish.interested) note_interest(*visit);
  if (visit->everywhere && !visit->wish.here_only && !is_complete(*visit)) return try_again(visit);
  if (!again && Clock::now() < visit->until) return park(visit);
  // It looked everywhere, and nothing that came since was overlooked.
  if (!again && visit->everywhere) return finish(visit);
  visit->everywhere = true;
  start_pass(visit);
}

bool FetchDesk::is_complete(const Visit& visit) const {
  return !visit.failed && visit.covered.size() == map_.partitions();
}

// Some partition is between two owners. Jobs may wait there, so "none" would not be true.
void FetchDesk::try_again(const std::shared_ptr<Visit>& visit) {
  if (Clock::now() >= std::max(visit->give_up, visit->until)) {
    visit->found.refusal = api::error_response(
        api::Surface::Ojs,
        {ErrorCode::NoOwner, "a partition has no owner at present; jobs may wait there"},
        visit->wish.request.id);
    return finish(visit);
  }
  alarm_.in(kAskAgain, [this, visit] {
    visit->everywhere = true;
    start_pass(visit);
  });
}

void FetchDesk::finish(const std::shared_ptr<Visit>& visit) {
  if (visit->failed) visit->covered.clear();
  visit->found.covered.assign(visit->covered.begin(), visit->covered.end());
  if (Done done = std::exchange(visit->done, nullptr)) done(std::move(visit->found));
}

// --- waiting

void FetchDesk::park(const std::shared_ptr<Visit>& visit) {
  {
    std::unique_lock lock(mutex_);
    if (stopping_ || parked_.size() >= kParkedMax) {
      lock.unlock();
      return finish(visit);
    }
    visit->parked = true;
    parked_.push_back(visit);
    auto look = std::min(visit->until, visit->looked_everywhere + kLookEverywhere);
    if (visit->retry_at_ms != 0) {
      const int64_t left_ms = visit->retry_at_ms - server_.clock().now_ms();
      look =
          std::min(look, Clock::now() + std::chrono::milliseconds(std::max<int64_t>(1, left_ms)));
    }
    visit->alarm = alarm_.at(look, [this, weak = std::weak_ptr(visit)] {
      auto alive = weak.lock();
      if (!alive || !unpark(alive)) return;
      alive->everywhere = true;
      start_pass(alive);
    });
  }
  // What became ready between the last question and the parking is on the board. What a rate holds
  // back stays there, so it says nothing.
  if (visit->retry_at_ms != 0 || !visit->key.empty()) return;
  const std::vector<uint16_t> here = partitions_here();
  for (const FetchOrder::Queue& queue : visit->wish.order.queues) {
    if (board_.choose(queue.scoped, here).empty()) continue;
    if (!unpark(visit)) return;
    visit->everywhere = false;
    visit->hinting.clear();
    return start_pass(visit);
  }
}

bool FetchDesk::unpark(const std::shared_ptr<Visit>& visit) {
  std::lock_guard lock(mutex_);
  if (!std::exchange(visit->parked, false)) return false;
  parked_.remove(visit);
  alarm_.cancel(visit->alarm);
  return true;
}

void FetchDesk::wake_one(const std::string& queue, const std::string& incarnation) {
  std::shared_ptr<Visit> woken;
  {
    std::lock_guard lock(mutex_);
    const auto wants = [&](const std::shared_ptr<Visit>& visit) {
      const auto& queues = visit->wish.order.queues;
      return std::any_of(queues.begin(), queues.end(),
                         [&](const FetchOrder::Queue& one) { return one.scoped == queue; });
    };
    const auto found = std::find_if(parked_.begin(), parked_.end(), wants);
    if (found == parked_.end()) return;
    woken = *found;
    parked_.erase(found);
    woken->parked = false;
    alarm_.cancel(woken->alarm);
  }
  woken->everywhere = false;
  woken->hinting = incarnation;
  start_pass(woken);
}

void FetchDesk::became_ready(uint16_t partition, const std::string& queue) {
  board_.became_ready(partition, queue);
  wake_soon(queue, "");
}

void FetchDesk::partition_changed(uint16_t partition) {
  board_.forget(partition);
  std::vector<std::shared_ptr<Visit>> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.assign(parked_.begin(), parked_.end());
  }
  for (const auto& visit : waiting) {
    if (!unpark(visit)) continue;
    visit->everywhere = false;
    visit->hinting.clear();
    start_pass(visit);
  }
}

void FetchDesk::wake_soon(const std::string& queue, const std::string& incarnation) {
  {
    std::lock_guard lock(mutex_);
    if (parked_.empty() && (interests_.empty() || !incarnation.empty())) return;
  }
  // Neither the engine's thread nor the one that brings an answer goes on with another's fetch.
  alarm_.in(std::chrono::milliseconds(0), [this, queue, incarnation] {
    wake_one(queue, incarnation);
    if (incarnation.empty()) tell_interested(queue);
  });
}

void FetchDesk::note_interest(const Visit& visit) {
  std::lock_guard lock(mutex_);
  for (const FetchOrder::Queue& queue : visit.wish.order.queues) {
    const auto same = [&](const Interest& known) {
      return known.queue == queue.scoped &&
             known.peer.incarnation == visit.wish.interested->incarnation;
    };
    if (interests_.size() < kInterestsMax &&
        std::none_of(interests_.begin(), interests_.end(), same))
      interests_.push_back({queue.scoped, *visit.wish.interested});
  }
}

void FetchDesk::tell_interested(const std::string& queue) {
  std::vector<Interest> told;
  {
    std::lock_guard lock(mutex_);
    const auto first =
        std::stable_partition(interests_.begin(), interests_.end(),
                              [&](const Interest& interest) { return interest.queue != queue; });
    told.assign(std::make_move_iterator(first), std::make_move_iterator(interests_.end()));
    interests_.erase(first, interests_.end());
  }
  for (const Interest& interest : told) {
    link::Passed hint{.partition = kWholeNode, .hops = 1};
    hint.request.method = "POST";
    hint.request.target = std::string(kHintPath);
    hint.request.headers.emplace_back("pawl-hinting-incarnation", self_.incarnation.now());
    hint.request.body = queue;
    // A hint may be lost: who waits looks everywhere now and then.
    links_->call({interest.peer, std::move(hint),
                  std::make_shared<AnswerTo>([](http::Response&&) {}), [](link::LinkFailure) {}});
  }
}

void FetchDesk::stop() {
  std::list<std::shared_ptr<Visit>> parked;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    parked.swap(parked_);
    for (const auto& visit : parked) {
      visit->parked = false;
      alarm_.cancel(visit->alarm);
    }
  }
  for (const auto& visit : parked) finish(visit);
}

std::vector<uint16_t> FetchDesk::partitions_here() const {
  std::vector<uint16_t> here;
  for (uint16_t k = 0; k < map_.partitions(); ++k)
    if (map_.serves(k)) here.push_back(k);
  return here;
}

}  // namespace pawl::front
