#include "effects/effect_dispatcher.h"

#include <chrono>

#include "actions/secret_binding.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/working_on.h"
#include "kernel/meter.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/json_fits.h"
#include "kernel/scripts/secret_source.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr std::chrono::milliseconds kBacklogPause{5};
constexpr size_t kParameterBytesMax = 64u << 20;
constexpr size_t kLightBytes = 64u << 10;  // smaller parameters never wait for others
constexpr std::chrono::milliseconds kOutagePause{100};

}  // namespace

// The answer that ends an effect. If refused, it is submitted again: the action has run, and must
// not run twice because the disk failed at its answer.
class EffectDispatcher::Answer : public Task, public std::enable_shared_from_this<Answer> {
 public:
  Answer(EffectDispatcher& dispatcher, const RunId& run, uint32_t effect)
      : dispatcher_(dispatcher), run_(run), effect_(effect) {}

  void durable(Wakes&) final { dispatcher_.settled({run_, effect_}); }
  void refuse(const Error& error) final { dispatcher_.refused(shared_from_this(), error); }

 protected:
  EffectDispatcher& dispatcher_;
  const RunId run_;
  const uint32_t effect_;
};

class EffectDispatcher::Receipt : public Answer {
 public:
  Receipt(EffectDispatcher& dispatcher, const Key& key, StepOutcome outcome)
      : Answer(dispatcher, key.first, key.second),
        outcome_(std::move(outcome)),
        to_give_(outcome_),
        held_(actions::ByteGate::hold(dispatcher.runner_.gate(), 2 * outcome_.output.size())) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    effect_done(frame, run_, effect_, to_give_ ? std::move(*to_give_) : outcome_);
    to_give_.reset();
    return std::nullopt;
  }
  size_t weight() const override { return outcome_.output.size(); }

 private:
  const StepOutcome outcome_;  // kept, since a refused answer is decided again
  // The run stores this copy. Copied on the answering thread, since all tasks wait for the engine
  // thread.
  std::optional<StepOutcome> to_give_;
  const actions::ByteGate::Held held_;
};

// Makes a job or composition that the frame which asked for it had no room for.
class EffectDispatcher::MakeChild : public Answer {
 public:
  using Answer::Answer;
  std::optional<Parking> decide(Frame& frame, bool) override {
    make_step_child(frame, run_, effect_);
    return std::nullopt;
  }
};

namespace {

// Opens the secrets in parameters, if their bindings allow it.
class VaultSecrets : public SecretSource {
 public:
  VaultSecrets(const State& state, const actions::Vault* vault) : state_(state), vault_(vault) {}

  Result<expr::OpenedSecret> reveal(std::string_view name, std::string_view action,
                                    const plan::SecretRule& rule) const override {
    const Error unknown{ErrorCode::NotFound, "there is no secret " + in_quotes(name)};
    const Doc* doc = vault_ == nullptr ? nullptr : state_.find_doc(DocKind::Secret, name);
    if (doc == nullptr) return unknown;
    auto binding = actions::binding_of(doc->value);
    if (binding) PAWL_TRY_DO(actions::admit_secret(*binding, name, action, rule));
    auto text = actions::open_secret(*vault_, name, doc->value);
    if (text.ok() && binding)
      return expr::OpenedSecret{std::move(text).value(), std::move(binding->hosts)};
    log::error("a secret cannot be opened", {{"name", std::string(name)}});
    return unknown;
  }

 private:
  const State& state_;
  const actions::Vault* vault_;
};

}  // namespace

struct EffectDispatcher::Work {
  ReadyEffect effect;
  actions::ByteGate::Held held;
};

class EffectDispatcher::Prepared : public PreparedEffects {
 public:
  Prepared(EffectDispatcher& dispatcher, std::vector<Work> work)
      : dispatcher_(dispatcher), work_(std::move(work)) {}

  void release() override {
    std::vector<TaskPtr> answers;  // submitted when all is started, so that one batch takes them
    for (Work& work : work_) dispatcher_.start(std::move(work), answers);
    for (TaskPtr& answer : answers) dispatcher_.submit(std::move(answer));
  }

 private:
  EffectDispatcher& dispatcher_;
  std::vector<Work> work_;
};

EffectDispatcher::EffectDispatcher(actions::ActionRunner& runner, const actions::Vault* vault,
                                   WorkRoot work_root)
    : runner_(runner),
      vault_(vault),
      directories_(std::move(work_root)),
      asked_(std::make_shared<actions::ByteGate>(kParameterBytesMax)) {
  backlog_thread_ = std::thread([this] { run_backlog(); });
}

EffectDispatcher::~EffectDispatcher() {
  stop();
  backlog_thread_.join();
}

void EffectDispatcher::attach(EngineLoop& engine) {
  {
    std::lock_guard lock(mutex_);
    engine_ = &engine;
  }
  wakes_.notify_all();
  directories_.attach(engine);
}

void EffectDispatcher::stop() {
  directories_.stop();
  std::unique_lock lock(mutex_);
  stopped_ = true;
  engine_ = nullptr;
  wakes_.notify_all();
  wakes_.wait(lock, [&] { return submitting_ == 0; });
}

// --- on the engine thread

std::unique_ptr<PreparedEffects> EffectDispatcher::prepare(const State& state,
                                                           std::deque<EffectNote>& notes,
                                                           int64_t now_ms, Meter& meter) {
  VaultSecrets secrets(state, vault_);
  std::vector<Work> list;
  while (!notes.empty() && !meter.spent()) {
    EffectNote note = notes.front();
    if (note.heavy && !takes_heavy()) break;
    notes.pop_front();
    auto ready = prepare_effect(state, note, secrets, now_ms, meter);
    if (!ready) continue;
    Work work{std::move(*ready), {}};
    if (const EffectRequest& request = work.effect.request; request.kind == EffectKind::Action) {
      const size_t bytes = json_bytes(request.params) + json_bytes(request.names);
      if (bytes > kLightBytes && !takes_heavy()) {
        note.heavy = true;
        notes.push_back(note);
        continue;
      }
      work.held = actions::ByteGate::hold(asked_, bytes);
    }
    list.push_back(std::move(work));
  }
  if (list.empty()) return nullptr;
  return std::make_unique<Prepared>(*this, std::move(list));
}

bool EffectDispatcher::takes_heavy() const { return asked_->open() && runner_.gate()->open(); }

// --- once it is durable

void EffectDispatcher::start(Work&& work, std::vector<TaskPtr>& answers) {
  ReadyEffect& effect = work.effect;
  WorkingOn working(WorkKind::Start, effect.request.run);
  Key key{effect.request.run, effect.request.effect};
  if (effect.cancel) {
    uint64_t handle = 0;
    {
      std::lock_guard lock(mutex_);
      auto at = handles_.find(key);
      if (at == handles_.end()) return;
      handle = at->second;
    }
    return runner_.cancel(handle);
  }
  {
    // After an outage of the store every open effect is requested again.
    std::lock_guard lock(mutex_);
    if (!under_way_.insert(key).second) return;
  }
  if (effect.refusal) {
    answers.push_back(std::make_shared<Receipt>(*this, key, std::move(*effect.refusal)));
  } else if (effect.request.kind != EffectKind::Action) {
    answers.push_back(std::make_shared<MakeChild>(*this, key.first, key.second));
  } else if (TaskPtr answer = start_action(std::move(work))) {
    answers.push_back(std::move(answer));
  }
}

TaskPtr EffectDispatcher::start_action(Work&& given) {
  auto work = std::make_shared<Work>(std::move(given));
  ReadyEffect& effect = work->effect;
  Key key{effect.request.run, effect.request.effect};
  if (effect.probe) {
    std::unique_lock lock(mutex_);
    if (!probing_.insert(effect.breaker).second) {
      lock.unlock();
      return std::make_shared<Receipt>(*this, key, probe_refusal(effect));
    }
  }
  actions::ActionRequest request =
      action_request(effect.request, work_directory(key.first, effect.request.action));
  struct Start {  // guarded by mutex_
    bool returned = false;
    std::optional<actions::ActionOutcome> outcome = {};  // it came before
  };
  auto start = std::make_shared<Start>();
  uint64_t handle =
      runner_.start(std::move(request), [this, key, work, start](actions::ActionOutcome outcome) {
        std::unique_lock lock(mutex_);
        if (!start->returned) {
          start->outcome = std::move(outcome);
          return;
        }
        handles_.erase(key);
        lock.unlock();
        submit(receipt(key, work->effect, outcome));
      });
  std::unique_lock lock(mutex_);
  start->returned = true;
  if (!start->outcome) {
    handles_[key] = handle;
    return nullptr;
  }
  lock.unlock();
  return receipt(key, effect, *start->outcome);
}

TaskPtr EffectDispatcher::receipt(const Key& key, const ReadyEffect& effect,
                                  const actions::ActionOutcome& outcome) {
  if (effect.probe) {
    std::lock_guard lock(mutex_);
    probing_.erase(effect.breaker);
  }
  return std::make_shared<Receipt>(*this, key, receipt_of(effect, outcome));
}

void EffectDispatcher::submit(TaskPtr task) {
  std::unique_lock lock(mutex_);
  if (stopped_) return;
  if (backlog_.empty() && engine_ != nullptr && hand_over(lock, task).ok()) return;
  backlog_.push_back(std::move(task));
  wakes_.notify_all();
}

// The engine must outlive the call: stop() waits for it.
Status EffectDispatcher::hand_over(std::unique_lock<std::mutex>& lock, const TaskPtr& task) {
  EngineLoop* engine = engine_;
  ++submitting_;
  lock.unlock();
  Status taken = engine->submit(task);
  lock.lock();
  --submitting_;
  if (stopped_) wakes_.notify_all();
  return taken;
}

void EffectDispatcher::settled(const Key& key) {
  std::lock_guard lock(mutex_);
  under_way_.erase(key);
}

void EffectDispatcher::refused(TaskPtr answer, const Error& error) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || error.code != ErrorCode::StoreFailed) return;
    backlog_.push_back(std::move(answer));
  }
  wakes_.notify_all();
}

// Answers that the engine could not take (full, failing, or not attached yet) wait here and go
// first.
void EffectDispatcher::run_backlog() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    wakes_.wait(lock, [&] { return stopped_ || (engine_ != nullptr && !backlog_.empty()); });
    if (stopped_) return;
    const TaskPtr task = backlog_.front();
    Status taken = hand_over(lock, task);
    if (taken.ok()) {
      backlog_.pop_front();
    } else if (taken.error().code == ErrorCode::Overloaded) {
      wakes_.wait_for(lock, kBacklogPause, [&] { return stopped_; });
    } else if (taken.error().code == ErrorCode::StoreFailed) {
      wakes_.wait_for(lock, kOutagePause, [&] { return stopped_; });
    } else {
      backlog_.clear();  // the engine has stopped: the effects are requested again after the
                         // restart
    }
  }
}

std::string EffectDispatcher::work_directory(const RunId& run, const std::string& action) {
  bool needs = action.rfind("fs.", 0) == 0 || action.rfind("shell.", 0) == 0;
  if (!needs || directories_.root().empty()) return directories_.root();
  return directories_.open(run);
}

}  // namespace pawl
