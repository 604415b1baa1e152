// What steps ask for. Parameters of actions are filled in after the frame that asks and are never
// journaled, so a secret stands in no history; those of jobs and compositions, which hold none, in
// the frame that makes them.
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/effect_request.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/secret_source.h"
#include "kernel/scripts/step_kind.h"
#include "kernel/scripts/step_names.h"
#include "kernel/state.h"
#include "plan/action_kind.h"
#include "plan/script.h"
#include "plan/secret_rule.h"

namespace pawl {
namespace {

// Fills allowed secrets into an action's parameters.
class ActionDesk : public expr::SecretDesk {
 public:
  ActionDesk(const SecretSource& source, std::string_view action)
      : source_(source), action_(action) {}

  Result<expr::OpenedSecret> reveal(const expr::SecretPlace& place) override {
    plan::SecretRule rule = plan::secret_rule(action_, place);
    if (rule.verdict == plan::SecretRule::Verdict::Refused)
      return Error{ErrorCode::Forbidden, "refused: " + rule.why};
    return source_.reveal(place.name, action_, rule);
  }

 private:
  const SecretSource& source_;
  const std::string_view action_;
};

const Scope* scope_around(const State& state, const Run& run, const Scope& scope) {
  return scope.owner.empty() ? nullptr : state.find_scope(run, split_step(scope.owner).first);
}

// Inside a compensation: which step is being undone.
void add_compensating(const State& state, const Run& run, const Scope& scope,
                      ExpressionNames& names) {
  if (run.script->phase != ScriptPhase::Rollback) return;
  for (const Scope* at = &scope; at != nullptr; at = scope_around(state, run, *at)) {
    if (at->path != join_path(at->owner, plan::kCompensateName)) continue;
    const StepRecord* undone = state.find_step(run, at->owner);
    if (undone != nullptr) names.with_compensating(at->owner, undone->output);
    return;
  }
}

struct AskingStep {
  const Run* run = nullptr;  // null: nobody waits for the effect
  std::string path;
  const Scope* scope = nullptr;
  const plan::Script* plan = nullptr;
  uint32_t position = 0;

  const plan::Step& step() const { return plan->at(scope->list, position); }
  const StepRecord& record() const { return scope->records[position]; }
};

AskingStep step_that_asks(const State& state, const RunId& id, uint32_t effect) {
  const Run* run = find_script(state, id);
  if (run == nullptr || is_terminal(run->state)) return {};
  const std::string* path = run->script->step_of_effect(effect);
  if (path == nullptr) return {};
  auto [around, name] = split_step(*path);
  const Scope* scope = state.find_scope(*run, around);
  const plan::Script* plan = state.script_of(*run);
  if (scope == nullptr || plan == nullptr) return {};
  return {run, *path, scope, plan, plan->find(scope->list, name)};
}

// Whether its job or run is there. An action that leaves the run has none: then nothing is read.
bool has_child(const State& state, const AskingStep& asking, uint32_t effect) {
  if (asking.run == nullptr) return false;
  const plan::Step& step = asking.step();
  if (scripts::kind_of(step).effect_kind() == EffectKind::Action &&
      !plan::is_done_by_run(step.action_kind))
    return false;
  const Uuid child = step_child_id(state, child_id(*asking.run, effect));
  return state.find_job(JobId(child)) != nullptr || state.find_run(RunId(child)) != nullptr;
}

// All but what is filled in.
EffectRequest described(const AskingStep& asking, uint32_t effect, int64_t now_ms) {
  EffectRequest request;
  request.effect = effect;
  if (asking.run == nullptr) return request;
  request.run = asking.run->id;
  const StepRecord& record = asking.record();
  request.kind = scripts::kind_of(asking.step()).effect_kind();
  request.step = asking.path;
  request.attempt = record.attempt;
  request.round = record.round;
  request.action = asking.step().action;
  if (record.due == DueKind::Timeout)
    request.timeout_ms = std::max<int64_t>(record.due_ms - now_ms, 1);
  return request;
}

// `desk`: gives the secrets that may stand there; null if none may.
Status fill(const State& state, const AskingStep& asking, expr::SecretDesk* desk, Meter* meter,
            EffectRequest& request) {
  const Run& run = *asking.run;
  const plan::Step& step = asking.step();
  Value made;
  const Value& tree = scripts::kind_of(step).effect_params(step, made);
  const bool names_all = step.action_kind == plan::ActionKind::Evaluation;
  std::string text;  // where names of steps are searched for, if not in params_text
  if (&tree == &made) text = tree.json();
  if (names_all) text = step.params_text + " steps ";  // its expression may name any step
  ExpressionNames names(state, run, asking.scope->path, text.empty() ? step.params_text : text,
                        asking.record().started_ms);
  if (meter != nullptr) names.metered(*meter);
  if (run.script->phase != ScriptPhase::Steps) names.with_error(run.script->error);
  add_compensating(state, run, *asking.scope, names);
  PAWL_TRY(auto filled, fill_template(names, tree, asking.plan->text_mode, desk));
  if (names_all) {
    request.names = names.all();
    PAWL_TRY_DO(names.charge(expr::Budget()));
  }
  request.secrets = std::move(filled.secrets);
  request.params = std::move(filled.value);
  return ok_status();
}

}  // namespace

std::string refusal_code(const Error& error) {
  return expr::is_secret_denied(error) ? "SECRET_DENIED" : "INTERPOLATION_ERROR";
}

std::string idempotency_key(const EffectRequest& request) {
  std::string key = request.run.text() + "/" + request.step + "/" + std::to_string(request.attempt);
  return request.round == 0 ? key : key + "-" + std::to_string(request.round);
}

Result<EffectRequest> effect_request(const State& state, const EffectNote& note,
                                     const SecretSource& secrets, int64_t now_ms, Meter* meter) {
  const AskingStep asking = step_that_asks(state, note.run, note.effect);
  if (has_child(state, asking, note.effect))
    return EffectRequest{.run = note.run, .effect = note.effect};
  EffectRequest request = described(asking, note.effect, now_ms);
  ActionDesk desk(secrets, request.action);
  if (request.kind == EffectKind::Action) PAWL_TRY_DO(fill(state, asking, &desk, meter, request));
  return request;
}

Result<EffectRequest> request_in_frame(const State& state, const RunId& run, uint32_t effect,
                                       int64_t now_ms, Meter* meter) {
  const AskingStep asking = step_that_asks(state, run, effect);
  EffectRequest request = described(asking, effect, now_ms);
  if (request.kind != EffectKind::Gone) PAWL_TRY_DO(fill(state, asking, nullptr, meter, request));
  return request;
}

}  // namespace pawl
