#include "sim/module_worlds.h"

#include "base/unreadable.h"
#include "kernel/cold.h"

namespace pawl::sim {
namespace {

// A task of the host, as a simulated request: its answer is checked when it is released (I3).
class LineTask : public SimTask {
 public:
  LineTask(Desk& desk, TaskPtr task) : SimTask(desk), task_(std::move(task)) {
    on_refused = [this] { task_->refuse({ErrorCode::StoreFailed, "the simulated store fails"}); };
  }
  size_t weight() const override { return task_->weight(); }
  bool only_reads() const override { return task_->only_reads(); }
  void judge_reply() override {
    Wakes wakes;
    task_->durable(wakes);
  }

 protected:
  std::optional<Parking> run(Frame& frame, bool last_call) override {
    return task_->decide(frame, last_call);
  }

 private:
  const TaskPtr task_;
};

// Of a read that failed: the engine gives up its state.
class FailedRead : public SimTask {
 public:
  FailedRead(Desk& desk, Error error) : SimTask(desk), error_(std::move(error)) {}

 protected:
  std::optional<Parking> run(Frame&, bool) override { throw Unreadable{error_}; }

 private:
  const Error error_;
};

const actions::ActionPolicy& no_policy() {
  static const actions::ActionPolicy policy;
  return policy;
}

}  // namespace

ModuleWorlds::ModuleWorlds(Desk& desk, const Plants& plants, Clock& clock, uint64_t seed)
    : desk_(desk), plants_(plants), clock_(clock), random_(seed) {
  config_.threads = 0;
  config_.cache_bytes_max = random_.percent(50) ? 1 + random_.below(3'000) : 1u << 20;
  config_.caches_bytes_max = random_.percent(50) ? 1 + random_.below(6'000) : 2u << 20;
  config_.batch_orders_max = 1 + random_.below(random_.percent(50) ? 2 : 64);
  config_.batch_bytes_max = random_.percent(50) ? random_.below(4'000) : 1u << 20;
  config_.finished_ms = random_.percent(50) ? 0 : random_.between(1, 600'000);
  config_.journal_ms = random_.percent(50) ? 0 : random_.between(1, 60'000);
  config_.sweep_every_ms = random_.between(50, 20'000);
  config_.fill_random = [this](char* out, size_t size) {
    for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(random_.next());
  };
}

ModuleWorlds::~ModuleWorlds() { process_is_gone(); }

void ModuleWorlds::engine_is(Core& core) {
  core_ = &core;
  if (host_) return;
  ++life_;
  host_ = std::make_unique<WorldHost>(config_, *this, clock_, code_);
  own_ =
      std::make_unique<OwnAdapter>(*host_, no_policy(), nullptr,
                                   [](actions::HttpRequest, const actions::HttpClient::Done& done) {
                                     done(Error{ErrorCode::Unavailable, "there is no network"});
                                   });
  host_->attach(*this);
}

void ModuleWorlds::process_is_gone() {
  core_ = nullptr;
  line_.clear();
  if (own_) own_->stop();
  host_.reset();
  own_.reset();
  code_.forget_code();
  code_.next = NativeModules::Trouble::None;
}

Status ModuleWorlds::submit(TaskPtr task) {
  if (core_ == nullptr) return Error{ErrorCode::Unavailable, "the engine is not there"};
  line_.push_back(std::make_shared<LineTask>(desk_, std::move(task)));
  return ok_status();
}

Status ModuleWorlds::read(FunctionRef<void(const State&)> read) {
  if (core_ == nullptr) return Error{ErrorCode::Unavailable, "the engine is not there"};
  if (core_->unreadable()) return *core_->unreadable();
  Status done = reading([&] { read(core_->state()); });
  if (!done.ok()) core_->decide(std::make_shared<FailedRead>(desk_, done.error()));
  return done;
}

std::shared_ptr<SimTask> ModuleWorlds::next_task() {
  if (line_.empty() || core_ == nullptr) return nullptr;
  std::shared_ptr<SimTask> task = std::move(line_.front());
  line_.pop_front();
  return task;
}

void ModuleWorlds::fire_due() {
  if (is_up()) host_->fire_due(clock_.now_ms());
}

void ModuleWorlds::follow(std::string_view record) {
  if (own_) own_->follow(record);
}

// The server's own effects leave here: not before their frame is durable.
void ModuleWorlds::perform(const std::string& world, const OpenIntent& intent) {
  if (!desk_.model.modules().knows_intent(intent.hash))
    return desk_.verdict.fail("module effect", intent.kind + " left before its frame was durable");
  desk_.verdict.reach(Probe::ModuleOwnEffect);
  if (plants_.own_effect_lost_once && random_.percent(30)) return;
  own_->perform(world, intent);
}

}  // namespace pawl::sim
