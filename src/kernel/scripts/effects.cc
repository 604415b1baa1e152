// Builds effect requests after the frame that requested them: parameters are filled in here and
// never journaled, so no history contains a secret.
#include "kernel/scripts/commands.h"
#include "kernel/scripts/step_kind.h"

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
void add_compensating(const State& state, const Run& run, const Scope& scope, ScriptScope& names) {
  if (run.script->phase != ScriptPhase::Rollback) return;
  for (const Scope* at = &scope; at != nullptr; at = scope_around(state, run, *at)) {
    if (at->path != join_path(at->owner, plan::kCompensateName)) continue;
    const StepRecord* undone = state.find_step(run, at->owner);
    if (undone != nullptr) names.with_compensating(at->owner, undone->output);
    return;
  }
}

}  // namespace

std::string refusal_code(const Error& error) {
  return expr::is_secret_denied(error) ? "SECRET_DENIED" : "INTERPOLATION_ERROR";
}

Result<EffectRequest> effect_request(const State& state, const EffectNote& note,
                                     const SecretSource& secrets, int64_t now_ms, Meter* meter) {
  EffectRequest request;
  request.run = note.run;
  request.effect = note.effect;
  const Run* run = find_script(state, note.run);
  if (run == nullptr || is_terminal(run->state)) return request;
  const std::string* path = run->script->step_of_effect(note.effect);
  if (path == nullptr) return request;
  Uuid child = child_id(*run, note.effect);
  if (state.find_job(JobId(child)) != nullptr || state.find_run(RunId(child)) != nullptr)
    return request;
  auto [around, id] = split_step(*path);
  const Scope* scope = state.find_scope(*run, around);
  const plan::Script* plan = state.plan_of(*run);
  if (scope == nullptr || plan == nullptr) return request;
  uint32_t position = plan->find(scope->list, id);
  const plan::Step& step = plan->at(scope->list, position);
  const StepRecord& record = scope->records[position];
  request.step = *path;
  request.attempt = record.attempt;
  request.round = record.round;
  request.tenant = run->tenant;
  request.action = step.action;
  if (record.due == DueKind::Timeout)
    request.timeout_ms = std::max<int64_t>(record.due_ms - now_ms, 1);

  const scripts::StepKind& kind = scripts::kind_of(step);
  Value tree = kind.effect_params(step);
  std::string text = tree.json();
  bool whole_scope = step.action_kind == plan::ActionKind::Evaluation;
  if (whole_scope) text += " steps ";  // its expression may name any step
  ScriptScope names(state, *run, around, text, record.started_ms);
  if (meter != nullptr) names.metered(*meter);
  if (run->script->phase != ScriptPhase::Steps) names.with_error(run->script->error);
  add_compensating(state, *run, *scope, names);
  ActionDesk desk(secrets, step.action);
  PAWL_TRY(auto filled, fill_template(names, tree, plan->text_mode,
                                      kind.may_hold_secrets() ? &desk : nullptr));
  if (whole_scope) {
    request.scope = names.all();
    PAWL_TRY_DO(names.charge(expr::Budget()));
  }
  request.secrets = std::move(filled.secrets);
  kind.fill_request(std::move(filled.value), request);
  return request;
}

}  // namespace pawl
