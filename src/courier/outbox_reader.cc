#include "courier/outbox_reader.h"

#include <memory>
#include <utility>

#include "courier/message_batch.h"
#include "kernel/frame.h"
#include "kernel/messages/outbox.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr size_t kSettledPerFrame = 1'000;

class ReadOutbox : public Task {
 public:
  ReadOutbox(std::vector<ReceiverMarks> receivers, const BatchBounds& bounds,
             std::function<void(Result<OutboxReading>)> done)
      : receivers_(std::move(receivers)), bounds_(bounds), done_(std::move(done)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    const State& state = frame.state();
    reading_ = {};
    note_sent(state, kEverybody);
    for (uint16_t to = 0; to < state.partitions(); ++to) note_sent(state, to);
    for (const ReceiverMarks& receiver : receivers_) read(state, receiver);
    return std::nullopt;
  }
  void durable(Wakes&) override { done_(std::move(reading_)); }
  void refuse(const Error& error) override { done_(error); }
  bool only_reads() const override { return true; }

 private:
  void note_sent(const State& state, uint16_t to) {
    const uint64_t sent = last_sent(state, to);
    if (sent == 0) return;
    reading_.sent[to] = sent;
    if (receivers_.empty()) reading_.settled[to] = first_unsettled(state, to) - 1;
  }
  void read(const State& state, const ReceiverMarks& receiver) {
    MessageBatch batch;
    batch.from = state.partition();
    size_t bytes = 0;
    auto add = [&](uint16_t to, uint64_t from) {
      if (last_sent(state, to) < from) return;
      each_unsettled(
          state, to, from, bounds_.messages_max, [&](uint64_t number, std::string_view message) {
            if (batch.messages.size() >= bounds_.messages_max || bytes >= bounds_.bytes_max)
              return false;
            batch.messages.push_back({to == kEverybody, number, std::string(message)});
            bytes += message.size();
            return true;
          });
    };
    add(receiver.to, receiver.taken + 1);
    add(kEverybody, receiver.taken_of_everybody + 1);
    if (!batch.messages.empty()) reading_.batches.push_back({receiver.to, codec::encoded(batch)});
  }

  std::vector<ReceiverMarks> receivers_;
  BatchBounds bounds_;
  std::function<void(Result<OutboxReading>)> done_;
  OutboxReading reading_;
};

class Settle : public Task {
 public:
  Settle(std::vector<SettledUpto> settled, std::function<void(Result<bool>)> done)
      : settled_(std::move(settled)), done_(std::move(done)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    size_t left = kSettledPerFrame;
    for (const SettledUpto& each : settled_)
      left -= settle_messages(frame, each.to, each.upto, left);
    all_ = left > 0;
    return std::nullopt;
  }
  void durable(Wakes&) override { done_(all_); }
  void refuse(const Error& error) override { done_(error); }

 private:
  std::vector<SettledUpto> settled_;
  std::function<void(Result<bool>)> done_;
  bool all_ = false;
};

}  // namespace

TaskPtr outbox_reading_task(std::vector<ReceiverMarks> receivers, const BatchBounds& bounds,
                            std::function<void(Result<OutboxReading>)> done) {
  return std::make_shared<ReadOutbox>(std::move(receivers), bounds, std::move(done));
}

TaskPtr settling_task(std::vector<SettledUpto> settled, std::function<void(Result<bool>)> done) {
  return std::make_shared<Settle>(std::move(settled), std::move(done));
}

}  // namespace pawl
