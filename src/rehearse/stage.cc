#include "rehearse/stage.h"

#include <algorithm>

#include "actions/pure_actions.h"
#include "actions/receipt.h"
#include "actions/secret_binding.h"
#include "base/quote.h"
#include "kernel/breakers.h"
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

StepOutcome failure(std::string code, std::string message, bool retryable) {
  StepOutcome outcome;
  outcome.error = {std::move(code), std::move(message), "", ""};
  outcome.retryable = retryable;
  return outcome;
}

}  // namespace

struct Stage::Work {
  bool cancel = false;
  EffectRequest request;
  std::string breaker;
  bool probe = false;
  std::optional<StepOutcome> refusal;  // known before anything was tried
};

class Stage::Prepared : public PreparedEffects {
 public:
  Prepared(Stage& stage, std::vector<Work> work) : stage_(stage), work_(std::move(work)) {}
  void release() override {
    for (Work& work : work_) stage_.begin(work);
  }

 private:
  Stage& stage_;
  std::vector<Work> work_;
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
  std::vector<Work> list;
  while (!notes.empty() && !meter.spent()) {
    EffectNote note = notes.front();
    notes.pop_front();
    meter.charge(1);
    Work work;
    work.cancel = note.cancel;
    work.request.run = note.run;
    work.request.effect = note.effect;
    if (!note.cancel) {
      auto request = effect_request(state, note, secrets, now_ms, &meter);
      if (!request.ok()) {
        work.refusal = failure(refusal_code(request.error()), request.error().message, false);
      } else if (request->kind == EffectKind::Gone) {
        continue;
      } else {
        work.request = std::move(request).value();
      }
    }
    if (work.request.kind == EffectKind::Action && !is_stand_in(work.request.action)) {
      work.breaker = actions::breaker_key(work.request.action, work.request.params);
      Breaker breaker = work.breaker.empty() ? Breaker{} : find_breaker(state, work.breaker);
      work.probe = breaker.open_until_ms != 0;
      if (breaker.open_until_ms > now_ms)
        work.refusal = failure("CIRCUIT_OPEN",
                               "the circuit breaker of '" + work.breaker + "' is open after " +
                                   std::to_string(breaker.failures) + " failures",
                               false);
    }
    list.push_back(std::move(work));
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

Call& Stage::call_of(const Work& work) {
  const EffectRequest& request = work.request;
  auto [at, is_new] = known_.try_emplace({request.run, request.effect}, calls_.size());
  if (is_new) {
    Call call;
    call.step = story_.prefix_of(request.run) + request.step;
    call.action = request.kind == EffectKind::Job           ? "job"
                  : request.kind == EffectKind::Composition ? "composition"
                                                            : written_action(request.action);
    call.job_type = request.job_type;
    call.params = request.params;
    call.attempt = request.attempt;
    call.at_ms = clock_.now_ms() - case_.starts_at_ms;
    call.timeout_ms = request.timeout_ms;
    // What a stand-in stands for the engine does itself, in one commit.
    if (!is_stand_in(request.action)) call.twice = twice_of(call.action, call.params, {});
    calls_.push_back(std::move(call));
  }
  return calls_[at->second];
}

void Stage::begin(Work& work) {
  if (work.cancel) {
    std::erase_if(replies_, [&](const auto& entry) {
      return entry.second.run == work.request.run && entry.second.effect == work.request.effect;
    });
    return;
  }
  if (work.refusal) return reply(work, *work.refusal, 0);
  if (work.probe && !probing_.insert(work.breaker).second)
    return reply(
        work,
        failure("CIRCUIT_OPEN",
                "the circuit breaker of '" + work.breaker + "' lets one attempt through at a time",
                false),
        0);
  Call& call = call_of(work);
  const actions::ActionInfo* info =
      work.request.kind == EffectKind::Action && !is_stand_in(work.request.action)
          ? actions::find_action(work.request.action)
          : nullptr;
  if (info != nullptr)
    if (Status good = actions::check_params(*info, work.request.params); !good.ok())
      return reply(work, failure("VALIDATION_ERROR", good.error().message, false), 0);
  ++call.executions;
  MockCall asked{
      call.step,    call.action,     call.job_type,      {work.request.run, work.request.effect},
      call.attempt, call.executions, work.request.params};
  MockAnswer found = mocks_.answer(asked);
  if (!found.problem.empty() && problem_.empty()) problem_ = found.problem;
  if (found.found) return answer_from_mock(work, call, found.answer);
  if (info != nullptr && answer_for_real(work, call)) return;
  if (problem_.empty()) problem_ = missing_mock(call, mocks_.mentions(asked));
}

void Stage::answer_from_mock(Work& work, Call& call, const Answer& answer) {
  if (answer.unsafe) call.twice = twice_of(call.action, call.params, answer.unsafe);
  if (answer.hangs) return;
  actions::ActionOutcome done;
  done.ok = !answer.fails;
  done.output = answer.result;
  done.code = answer.code;
  done.message = answer.message;
  done.details = answer.details;
  done.retryable = answer.retryable;
  StepOutcome outcome = actions::receipt_of(done, work.request.secrets);
  outcome.breaker = work.breaker;
  reply(work, outcome, delay_of(work, call, answer));
}

// Late, but not so late that it would be another answer; and what is asked again after a crash does
// not lose the time that the crash took.
int64_t Stage::delay_of(const Work& work, const Call& call, const Answer& answer) {
  int64_t delay = answer.takes_ms;
  if (faults_ != nullptr && faults_->percent(15))
    delay += 1 + static_cast<int64_t>(faults_->below(static_cast<uint64_t>(delay / 5 + 1)));
  bool in_time = call.timeout_ms == 0 || answer.takes_ms < call.timeout_ms;
  if (in_time && work.request.timeout_ms > 0) delay = std::min(delay, work.request.timeout_ms - 1);
  return delay;
}

bool Stage::answer_for_real(Work& work, const Call& call) {
  bool pure = static_cast<bool>(actions::find_pure_action(work.request.action));
  bool allowed = std::find(case_.real.begin(), case_.real.end(), call.action) != case_.real.end();
  if (!pure && !(allowed && real_)) return false;
  actions::ActionRequest request;
  request.name = work.request.action;
  request.params = work.request.params;
  request.scope = work.request.scope;
  request.run_id = work.request.run.text();
  request.step_id = work.request.step;
  request.idempotency_key =
      request.run_id + "/" + request.step_id + "/" + std::to_string(call.attempt);
  request.timeout_ms = work.request.timeout_ms;
  request.secrets = work.request.secrets;
  StepOutcome outcome =
      actions::receipt_of(pure ? do_pure(request) : real_(request), work.request.secrets);
  outcome.breaker = work.breaker;
  reply(work, outcome, 0);
  return true;
}

// A random id would make every story another.
actions::ActionOutcome Stage::do_pure(const actions::ActionRequest& request) {
  if (request.name != "crypto.uuid") return actions::find_pure_action(request.name)(request);
  uint64_t high = ids_.next();
  uint64_t low = ids_.next();
  Uuid id{(high & ~0xf000ULL) | 0x4000, (low >> 2) | 1ULL << 63};
  Value::Object output;
  output.set("uuid", id.text());
  return actions::ActionOutcome::success(std::move(output));
}

void Stage::reply(const Work& work, const StepOutcome& outcome, int64_t in_ms) {
  if (work.probe) probing_.erase(work.breaker);
  Reply made{work.request.run, work.request.effect, outcome, work.request.step};
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
