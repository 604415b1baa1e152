#include "rehearse/stage.h"

#include <algorithm>

#include "actions/blotter.h"
#include "actions/pure_actions.h"
#include "actions/secret_binding.h"
#include "base/quote.h"
#include "kernel/meter.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/secret_source.h"
#include "rehearse/matcher.h"
#include "rehearse/stand_in.h"

namespace pawl::rehearse {
namespace {

constexpr int64_t kDuplicateMsMax = 50;

class CaseSecrets : public SecretSource {
 public:
  explicit CaseSecrets(const Case& given) : case_(given) {}
  Result<expr::OpenedSecret> reveal(std::string_view name, std::string_view action,
                                    const plan::SecretRule& rule) const override {
    for (const CaseSecret& secret : case_.secrets) {
      if (secret.name != name) continue;
      PAWL_TRY_DO(actions::admit_secret(secret.binding, name, action, rule));
      return expr::OpenedSecret{secret.value, secret.binding.hosts};
    }
    return Error{ErrorCode::NotFound, "there is no secret " + in_quotes(name)};
  }

 private:
  const Case& case_;
};

}  // namespace

class Stage::Prepared : public PreparedEffects {
 public:
  Prepared(Stage& stage, std::vector<ReadyEffect> ready)
      : stage_(stage), ready_(std::move(ready)) {}
  void release() override {
    for (ReadyEffect& effect : ready_) {
      const EffectKind kind = effect.request.kind;
      if (kind == EffectKind::Job || kind == EffectKind::Composition)
        stage_.unmade_.push_back({effect.request.run, effect.request.effect});
      else
        stage_.begin(effect);
    }
  }

 private:
  Stage& stage_;
  std::vector<ReadyEffect> ready_;
};

Stage::Stage(const Case& given, const Story& story, VirtualClock& clock, uint64_t seed,
             Dice* faults, RealAction real)
    : case_(given),
      story_(story),
      clock_(clock),
      ids_(seed ^ 0x5eed),
      faults_(faults),
      real_(std::move(real)),
      mocks_(given.mocks) {}

std::unique_ptr<PreparedEffects> Stage::prepare(const State& state, std::deque<EffectNote>& notes,
                                                int64_t now_ms, Meter& meter) {
  CaseSecrets secrets(case_);
  std::vector<ReadyEffect> list;
  while (!notes.empty() && !meter.spent()) {
    const EffectNote note = notes.front();
    notes.pop_front();
    auto ready = prepare_effect(state, note, secrets, now_ms, meter);
    if (!ready) continue;
    // The engine does such a step itself: there is no service that could fail.
    if (is_stand_in(ready->request.action)) ready->breaker.clear();
    list.push_back(std::move(*ready));
  }
  if (list.empty()) return nullptr;
  return std::make_unique<Prepared>(*this, std::move(list));
}

std::vector<Stage::Reply> Stage::take_due() {
  std::vector<Reply> due;
  while (!replies_.empty() && replies_.begin()->first <= clock_.now_ms()) {
    due.push_back(std::move(replies_.begin()->second));
    replies_.erase(replies_.begin());
  }
  return due;
}

void Stage::forget_replies() {
  replies_.clear();
  probing_.clear();
}

Call& Stage::call_of(const ReadyEffect& effect, const std::string& job_type) {
  const EffectRequest& request = effect.request;
  auto [at, is_new] = known_.try_emplace({request.run, request.effect}, calls_.size());
  if (is_new) {
    Call call;
    call.step = story_.prefix_of(request.run) + request.step;
    call.action = request.kind == EffectKind::Job           ? "job"
                  : request.kind == EffectKind::Composition ? "composition"
                                                            : written_action(request.action);
    call.job_type = job_type;
    call.params = request.params;
    call.attempt = request.attempt;
    call.at_ms = clock_.now_ms() - case_.starts_at_ms;
    call.timeout_ms = request.timeout_ms;
    // On a server the engine does such a step itself, in one commit.
    if (!is_stand_in(request.action)) call.twice = twice_of(call.action, call.params, {});
    calls_.push_back(std::move(call));
  }
  return calls_[at->second];
}

void Stage::ask_child(const State& state, const RunId& run, uint32_t effect) {
  auto request = request_in_frame(state, run, effect, clock_.now_ms());
  if (!request.ok() || request->kind == EffectKind::Gone) return;
  ReadyEffect asked;
  asked.request = std::move(*request);
  std::string job_type;
  if (asked.request.kind == EffectKind::Job) {
    const Value job = std::exchange(asked.request.params, {});
    if (const Value& type = *job.find("type"); type.is_string()) job_type = type.as_string();
    asked.request.params = *job.find("args");
  }
  begin(asked, job_type);
}

void Stage::begin(ReadyEffect& effect, const std::string& job_type) {
  EffectRequest& request = effect.request;
  if (effect.cancel) {
    std::erase_if(replies_, [&](const auto& entry) {
      return entry.second.run == request.run && entry.second.effect == request.effect;
    });
    return;
  }
  if (effect.refusal) return reply(effect, *effect.refusal, 0);
  if (effect.probe && !probing_.insert(effect.breaker).second)
    return reply(effect, probe_refusal(effect), 0);
  Call& call = call_of(effect, job_type);
  const actions::ActionInfo* info =
      request.kind == EffectKind::Action && !is_stand_in(request.action)
          ? actions::find_action(request.action)
          : nullptr;
  if (info != nullptr)
    if (Status good = actions::check_params(*info, request.params); !good.ok())
      return answer(
          effect, actions::ActionOutcome::failure("VALIDATION_ERROR", good.error().message, false),
          0);
  ++call.executions;
  MockCall asked{call.step,
                 call.action,
                 call.job_type,
                 {request.run, request.effect},
                 call.attempt,
                 call.executions,
                 idempotency_key(request),
                 request.params};
  MockAnswer found = mocks_.answer(asked);
  if (!found.problem.empty()) note_problem(effect, found.problem);
  if (found.found) return answer_from_mock(effect, call, found.answer);
  if (info != nullptr && answer_for_real(effect, call)) return;
  note_problem(effect, missing_mock(call, mocks_.mentions(asked)));
}

// Masks secrets: the problem is printed, and may quote the parameters.
void Stage::note_problem(const ReadyEffect& effect, const std::string& problem) {
  if (problem_.empty()) problem_ = actions::Blotter(effect.request.secrets).message(problem);
}

void Stage::answer(const ReadyEffect& effect, const actions::ActionOutcome& done, int64_t in_ms) {
  reply(effect, receipt_of(effect, done), in_ms);
}

void Stage::answer_from_mock(const ReadyEffect& effect, Call& call, const Answer& given) {
  if (given.unsafe) call.twice = twice_of(call.action, call.params, given.unsafe);
  if (given.hangs) return;
  actions::ActionOutcome done;
  done.ok = !given.fails;
  done.output = given.result;
  done.code = given.code;
  done.message = given.message;
  done.details = given.details;
  done.retryable = given.retryable;
  answer(effect, done, delay_of(effect, call, given));
}

// Late, but not so late that the step times out; and a call that is repeated after a crash does not
// lose the time of the crash.
int64_t Stage::delay_of(const ReadyEffect& effect, const Call& call, const Answer& given) {
  int64_t delay = given.takes_ms;
  if (faults_ != nullptr && faults_->percent(15))
    delay += 1 + static_cast<int64_t>(faults_->below(static_cast<uint64_t>(delay / 5 + 1)));
  bool in_time = call.timeout_ms == 0 || given.takes_ms < call.timeout_ms;
  const int64_t timeout_ms = effect.request.timeout_ms;
  if (in_time && timeout_ms > 0) delay = std::min(delay, timeout_ms - 1);
  return delay;
}

bool Stage::answer_for_real(ReadyEffect& effect, const Call& call) {
  bool pure = static_cast<bool>(actions::find_pure_action(effect.request.action));
  bool allowed = std::find(case_.real.begin(), case_.real.end(), call.action) != case_.real.end();
  if (!pure && !(allowed && real_)) return false;
  const actions::ActionRequest request = action_request(effect.request, "");
  answer(effect, pure ? do_pure(request) : real_(request), 0);
  return true;
}

// A random id would make every run different.
actions::ActionOutcome Stage::do_pure(const actions::ActionRequest& request) {
  if (request.name != "crypto.uuid") return actions::find_pure_action(request.name)(request);
  uint64_t high = ids_.next();
  uint64_t low = ids_.next();
  Uuid id{(high & ~0xf000ULL) | 0x4000, (low >> 2) | 1ULL << 63};
  Value::Object output;
  output.set("uuid", id.text());
  return actions::ActionOutcome::success(std::move(output));
}

void Stage::reply(const ReadyEffect& effect, const StepOutcome& outcome, int64_t in_ms) {
  if (effect.probe) probing_.erase(effect.breaker);
  Reply made{effect.request.run, effect.request.effect, outcome, effect.request.step};
  int64_t at_ms = clock_.now_ms() + in_ms;
  if (faults_ != nullptr && faults_->percent(15))
    replies_.emplace(at_ms + static_cast<int64_t>(faults_->below(kDuplicateMsMax)), made);
  replies_.emplace(at_ms, std::move(made));
}

std::string Stage::missing_mock(const Call& call, bool mentioned) const {
  std::string text = "step '" + call.step + "' asks for " +
                     (call.job_type.empty() ? call.action : "the job " + call.job_type) +
                     ", which touches the world";
  if (mentioned) return text + "; it has a mock, but no 'when' of it fits " + shown(call.params);
  size_t dot = call.step.rfind('.');
  std::string key = dot == std::string::npos ? call.step : call.step.substr(dot + 1);
  return text + ", and no mock answers it; paste this:\n    mocks:\n      " +
         sample_mock(key, call.action);
}

}  // namespace pawl::rehearse
