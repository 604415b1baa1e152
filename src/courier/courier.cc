#include "courier/courier.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "courier/message_batch.h"
#include "kernel/messages/message.h"

namespace pawl {
namespace {

using DeskTime = DeskInbox::Time;

DeskTime in_ms(int64_t ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

}  // namespace

// All members are used on the desk's thread, unsettled too but for reading.
class Courier::Round : public std::enable_shared_from_this<Courier::Round> {
 public:
  Round(std::shared_ptr<DeskInbox> inbox, const CourierConfig& config, Transport transport)
      : inbox_(std::move(inbox)), config_(config), transport_(std::move(transport)) {
    for (uint16_t to = 0; to < config.partitions; ++to)
      if (to != config.partition) receivers_[to].marks.to = to;
  }

  // Any thread: `act` is called on the desk's, unless the courier has stopped.
  template <class Act>
  void post(Act act) {
    inbox_->post([weak = weak_from_this(), act = std::move(act)]() mutable {
      if (auto self = weak.lock(); self && self->engine_ != nullptr) act(*self);
    });
  }
  void post_in(int64_t ms, void (Round::*act)()) {
    inbox_->post_at(in_ms(ms), [weak = weak_from_this(), act] {
      if (auto self = weak.lock(); self && self->engine_ != nullptr) ((*self).*act)();
    });
  }

  void start(EngineLoop& engine) {
    engine_ = &engine;
    look();
  }
  void stop() {
    engine_ = nullptr;
    answer_waiters([](const Waiter&) { return true; },
                   Error{ErrorCode::Unavailable, "the server is stopping"});
  }

  void look();
  void await_all(DeskTime until, std::function<void(Status)> done);

  std::atomic<uint64_t> unsettled{0};

 private:
  struct Receiver {
    ReceiverMarks marks;
    bool in_flight = false;
    bool waits = false;  // after a failure
    int64_t pause_ms = 0;
  };
  struct Waiter {
    uint64_t upto;
    DeskTime until;
    std::function<void(Status)> done;
  };

  void submit(const TaskPtr& task) {
    if (Status taken = engine_->submit(task); !taken.ok()) task->refuse(taken.error());
  }
  void learn(OutboxReading&& reading);
  void on_reading(Result<OutboxReading>&& reading);
  void send(OwedBatch&& batch);
  void on_answer(uint16_t to, const Result<std::string>& bytes);
  void fail(Receiver& receiver, const std::string& reason);
  uint64_t taken_by_all() const;
  void plan_settling();
  void settle();
  void on_settled(const std::vector<SettledUpto>& settled, const Result<bool>& all);
  std::vector<SettledUpto> to_settle(uint64_t& count) const;
  void count_unsettled();
  template <class Wanted>
  void answer_waiters(Wanted wanted, const Status& status);
  void check_waiters();

  const std::shared_ptr<DeskInbox> inbox_;
  const CourierConfig config_;
  const Transport transport_;
  EngineLoop* engine_ = nullptr;  // null: not started, or stopped
  std::map<uint16_t, Receiver> receivers_;
  std::map<uint16_t, uint64_t> sent_;     // by receiver, or kEverybody, as last read
  std::map<uint16_t, uint64_t> settled_;  // likewise
  bool knows_ = false;                    // what is settled, so from where on to read
  uint64_t outages_ = 0;                  // of the engine, when that was learned
  bool reading_ = false;
  bool look_again_ = false;
  bool settling_ = false;  // a task or a time for it is under way
  std::list<Waiter> waiters_;
};

// One reading at a time. The first one, and the first after an outage of the store, learns what is
// settled: what receivers told before may rest on what was lost.
void Courier::Round::look() {
  if (reading_) {
    look_again_ = true;
    return;
  }
  if (const uint64_t outages = engine_->stats().outages; outages != outages_) {
    outages_ = outages;
    knows_ = false;
  }
  std::vector<ReceiverMarks> free;
  if (knows_)
    for (const auto& [to, receiver] : receivers_)
      if (!receiver.in_flight && !receiver.waits) free.push_back(receiver.marks);
  if (knows_ && free.empty()) return;
  reading_ = true;
  submit(outbox_reading_task(std::move(free), config_.batch,
                             [self = shared_from_this()](Result<OutboxReading> reading) {
                               self->post([reading = std::move(reading)](Round& round) mutable {
                                 round.on_reading(std::move(reading));
                               });
                             }));
}

void Courier::Round::on_reading(Result<OutboxReading>&& reading) {
  reading_ = false;
  const bool again = std::exchange(look_again_, false);
  if (!reading.ok()) return post_in(config_.retry_ms_max, &Round::look);
  sent_ = std::move(reading->sent);
  const bool learns = !knows_;
  if (learns) {
    knows_ = true;
    settled_ = std::move(reading->settled);
    for (auto& [to, receiver] : receivers_)
      receiver.marks = {to, settled_[to], settled_[kEverybody]};
  }
  for (OwedBatch& batch : reading->batches) send(std::move(batch));
  count_unsettled();
  check_waiters();
  if (again || learns) look();
}

void Courier::Round::send(OwedBatch&& batch) {
  const uint16_t to = batch.to;
  receivers_[to].in_flight = true;
  transport_(to, std::move(batch.bytes), [weak = weak_from_this(), to](Result<std::string> answer) {
    if (auto self = weak.lock())
      self->post([to, answer = std::move(answer)](Round& round) { round.on_answer(to, answer); });
  });
}

// The receiver's counters are believed also where they are behind what was believed before.
void Courier::Round::on_answer(uint16_t to, const Result<std::string>& bytes) {
  Receiver& receiver = receivers_[to];
  if (!receiver.in_flight) return;  // a transport that answers twice
  receiver.in_flight = false;
  BatchAnswer answer;
  if (!bytes.ok()) return fail(receiver, bytes.error().message);
  if (!codec::decode(*bytes, answer)) return fail(receiver, "its answer cannot be read");
  const ReceiverMarks before = receiver.marks;
  receiver.marks = {to, answer.taken, answer.taken_of_everybody};
  count_unsettled();
  check_waiters();
  plan_settling();
  if (answer.taken <= before.taken && answer.taken_of_everybody <= before.taken_of_everybody)
    return fail(receiver, answer.refusal.empty() ? "it took nothing" : answer.refusal);
  receiver.pause_ms = 0;
  look();
}

void Courier::Round::fail(Receiver& receiver, const std::string& reason) {
  const bool is_news = receiver.pause_ms < config_.retry_ms_max;
  receiver.pause_ms = std::clamp(receiver.pause_ms * 2, config_.retry_ms_min, config_.retry_ms_max);
  if (is_news && receiver.pause_ms == config_.retry_ms_max)
    log::warning("messages to another partition are not taken; they are sent again",
                 {{"from", std::to_string(config_.partition)},
                  {"to", std::to_string(receiver.marks.to)},
                  {"reason", reason}});
  receiver.waits = true;
  inbox_->post_at(in_ms(receiver.pause_ms), [weak = weak_from_this(), to = receiver.marks.to] {
    auto self = weak.lock();
    if (!self || self->engine_ == nullptr) return;
    self->receivers_[to].waits = false;
    self->look();
  });
}

// --- settling

uint64_t Courier::Round::taken_by_all() const {
  uint64_t by_all = UINT64_MAX;
  for (const auto& [to, receiver] : receivers_)
    by_all = std::min(by_all, receiver.marks.taken_of_everybody);
  return by_all;
}

std::vector<SettledUpto> Courier::Round::to_settle(uint64_t& count) const {
  std::vector<SettledUpto> list;
  count = 0;
  auto add = [&](uint16_t to, uint64_t taken) {
    auto at = settled_.find(to);
    const uint64_t before = at == settled_.end() ? 0 : at->second;
    if (taken <= before) return;
    list.push_back({to, taken});
    count += taken - before;
  };
  for (const auto& [to, receiver] : receivers_) add(to, receiver.marks.taken);
  add(kEverybody, taken_by_all());
  return list;
}

void Courier::Round::plan_settling() {
  uint64_t count = 0;
  to_settle(count);
  if (settling_ || count == 0) return;
  settling_ = true;
  post_in(count >= config_.settle_from ? 0 : config_.settle_after_ms, &Round::settle);
}

void Courier::Round::settle() {
  uint64_t count = 0;
  std::vector<SettledUpto> list = to_settle(count);
  if (!knows_ || list.empty()) {
    settling_ = false;
    return;
  }
  submit(settling_task(list, [self = shared_from_this(), list](Result<bool> all) {
    self->post([list, all](Round& round) { round.on_settled(list, all); });
  }));
}

void Courier::Round::on_settled(const std::vector<SettledUpto>& settled, const Result<bool>& all) {
  if (!all.ok()) return post_in(config_.retry_ms_max, &Round::settle);
  if (!*all) return settle();
  settling_ = false;
  for (const SettledUpto& each : settled) settled_[each.to] = each.upto;
  plan_settling();
}

// --- who waits

void Courier::Round::count_unsettled() {
  uint64_t count = 0;
  for (const auto& [to, receiver] : receivers_)
    if (auto at = sent_.find(to); at != sent_.end() && at->second > receiver.marks.taken)
      count += at->second - receiver.marks.taken;
  if (auto at = sent_.find(kEverybody); at != sent_.end() && at->second > taken_by_all())
    count += at->second - taken_by_all();
  unsettled = count;
}

template <class Wanted>
void Courier::Round::answer_waiters(Wanted wanted, const Status& status) {
  for (auto at = waiters_.begin(); at != waiters_.end();) {
    if (!wanted(*at)) {
      ++at;
      continue;
    }
    auto done = std::move(at->done);
    at = waiters_.erase(at);
    done(status);
  }
}

void Courier::Round::check_waiters() {
  if (!knows_) return;
  const uint64_t by_all = taken_by_all();
  answer_waiters([&](const Waiter& waiter) { return waiter.upto <= by_all; }, ok_status());
  const DeskTime now = std::chrono::steady_clock::now();
  answer_waiters(
      [&](const Waiter& waiter) { return waiter.until <= now; },
      Error{ErrorCode::Unavailable, "not all partitions have it yet; it is kept, and they will"});
}

void Courier::Round::await_all(DeskTime until, std::function<void(Status)> done) {
  const Error stopping{ErrorCode::Unavailable, "the server is stopping"};
  if (engine_ == nullptr) return done(stopping);
  auto shared = std::make_shared<std::function<void(Status)>>(std::move(done));
  auto answer = [self = shared_from_this(), until, shared](Result<OutboxReading> reading) {
    if (!reading.ok()) return (*shared)(reading.error());
    self->inbox_->post([self, until, shared, upto = reading->sent[kEverybody]] {
      if (self->engine_ == nullptr)
        return (*shared)(Error{ErrorCode::Unavailable, "the server is stopping"});
      self->waiters_.push_back({upto, until, std::move(*shared)});
      self->check_waiters();
      self->inbox_->post_at(until, [self] { self->check_waiters(); });
    });
  };
  submit(outbox_reading_task({}, config_.batch, std::move(answer)));
}

// --- the courier

Courier::Courier(CourierDesk& desk, const CourierConfig& config, Transport transport)
    : desk_(desk), round_(std::make_shared<Round>(desk.inbox(), config, std::move(transport))) {}

Courier::~Courier() { stop(); }

void Courier::start(EngineLoop& engine, OutboxBell& bell) {
  bell_ = &bell;
  desk_.run([&] { round_->start(engine); });
  bell.answer_with([round = round_] { round->post([](Round& self) { self.look(); }); });
  round_->post([](Round& self) { self.look(); });
}

void Courier::stop() {
  if (bell_ == nullptr) return;
  std::exchange(bell_, nullptr)->answer_with({});
  desk_.run([&] { round_->stop(); });
}

void Courier::when_all_taken(int64_t wait_ms, std::function<void(Status)> done) {
  const DeskTime until = in_ms(wait_ms);
  desk_.inbox()->post([round = round_, until, done = std::move(done)]() mutable {
    round->await_all(until, std::move(done));
  });
}

uint64_t Courier::unsettled() const { return round_->unsettled; }

}  // namespace pawl
