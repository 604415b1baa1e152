#include "worldhost/engine_items.h"

#include <future>

#include "kernel/cold.h"
#include "kernel/frame.h"
#include "worldhost/state_table.h"

namespace pawl {
namespace {

constexpr size_t kPageItems = 512;
constexpr size_t kPageBytes = 1u << 20;

// Answers while it decides: its reader commits nothing that others see before the batch it read is
// durable.
class ReadingTask : public Task {
 public:
  explicit ReadingTask(FunctionRef<void(const State&)> read) : read_(read) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    Status done = reading([&] { read_(frame.state()); });
    answer(done);
    if (!done.ok()) throw Unreadable{done.error()};  // the engine gives up this state
    return std::nullopt;
  }
  void durable(Wakes&) override { answer(ok_status()); }
  void refuse(const Error& error) override { answer(error); }
  bool only_reads() const override { return true; }
  std::future<Status> answered() { return answer_.get_future(); }

 private:
  void answer(Status status) {
    if (!std::exchange(has_answered_, true)) answer_.set_value(std::move(status));
  }

  const FunctionRef<void(const State&)> read_;  // outlives the wait
  bool has_answered_ = false;                   // refuse() may follow decide()
  std::promise<Status> answer_;
};

}  // namespace

void EngineLoopLine::connect(EngineLoop& engine) {
  std::lock_guard lock(mutex_);
  engine_ = &engine;
}

void EngineLoopLine::cut() {
  std::unique_lock lock(mutex_);
  engine_ = nullptr;
  idle_.wait(lock, [&] { return inside_ == 0; });
}

Status EngineLoopLine::submit(TaskPtr task) {
  EngineLoop* engine = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (engine_ == nullptr) return Error{ErrorCode::Unavailable, "the server is stopping"};
    engine = engine_;
    ++inside_;
  }
  Status taken = engine->submit(std::move(task));
  std::lock_guard lock(mutex_);
  if (--inside_ == 0) idle_.notify_all();
  return taken;
}

Status EngineLoopLine::read(FunctionRef<void(const State&)> read) {
  auto task = std::make_shared<ReadingTask>(read);
  std::future<Status> answered = task->answered();
  PAWL_TRY_DO(submit(task));
  return answered.get();
}

std::optional<std::string> EngineItems::get(std::string_view key) {
  if (const auto* known = cache_.find(key)) return *known;
  std::optional<std::string> value;
  Status read = line_.read([&](const State& state) { value = StateTable(state, world_).get(key); });
  if (!read.ok()) throw Unreadable{read.error()};
  cache_.put(key, value);
  return value;
}

void EngineItems::fetch(const std::vector<std::string>& keys) {
  std::vector<const std::string*> missing;
  for (const std::string& key : keys)
    if (cache_.find(key) == nullptr) missing.push_back(&key);
  if (missing.empty()) return;
  std::vector<std::optional<std::string>> values(missing.size());
  Status read = line_.read([&](const State& state) {
    StateTable table(state, world_);
    for (size_t i = 0; i < missing.size(); ++i) values[i] = table.get(*missing[i]);
  });
  if (!read.ok()) throw Unreadable{read.error()};
  for (size_t i = 0; i < missing.size(); ++i) cache_.put(*missing[i], std::move(values[i]));
}

void EngineItems::scan(std::string_view prefix, std::string_view from,
                       FunctionRef<bool(std::string_view, std::string_view)> visit) {
  std::string next(from);
  for (bool more = true; more;) {
    std::vector<std::pair<std::string, std::string>> page;
    size_t bytes = 0;
    more = false;
    Status read = line_.read([&](const State& state) {
      StateTable(state, world_)
          .scan(prefix, next, [&](std::string_view key, std::string_view value) {
            more = page.size() == kPageItems || bytes >= kPageBytes;
            if (more) return false;
            bytes += key.size() + value.size();
            page.emplace_back(key, value);
            return true;
          });
    });
    if (!read.ok()) throw Unreadable{read.error()};
    for (const auto& [key, value] : page)
      if (!visit(key, value)) return;
    if (!page.empty()) next = page.back().first + '\0';
  }
}

}  // namespace pawl
