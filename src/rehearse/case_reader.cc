#include "rehearse/case_reader.h"

#include "actions/action.h"
#include "base/quote.h"
#include "base/time.h"
#include "expr/cel/program.h"
#include "expr/template/template.h"
#include "plan/nearest.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;

constexpr std::string_view kCase[] = {"name", "inputs", "secrets",   "mocks", "events",
                                      "real", "expect", "starts_at", "until"};
constexpr std::string_view kSecret[] = {"value", "hosts", "actions"};
constexpr std::string_view kDefaults[] = {"inputs", "secrets", "mocks", "real", "starts_at"};

}  // namespace

Case CaseReader::read(const Cursor& at, const Cursor* defaults) {
  Case made;
  made.line = at.line();
  made.starts_at_ms = kUsualStartMs;
  if (!findings_.expect_object(at)) return made;
  findings_.only(at, kCase, "a case");
  if (auto name = at.field("name")) made.name = findings_.text(*name);
  if (defaults != nullptr && findings_.expect_object(*defaults)) {
    findings_.only(*defaults, kDefaults, "defaults");
    read_given(*defaults, made);
  }
  read_given(at, made);
  if (auto mocks = at.field("mocks")) read_mocks(*mocks, made.mocks);
  if (defaults != nullptr)
    if (auto mocks = defaults->field("mocks")) read_mocks(*mocks, made.mocks);
  if (auto until = at.field("until")) made.until_ms = findings_.duration_ms(*until);
  if (auto events = at.field("events"))
    for (const Cursor& event : events->entries()) made.events.push_back(read_event(event));
  if (auto expect = at.field("expect")) {
    made.expect = read_expect(*expect);
  } else {
    findings_.error(at, "required", "a case needs 'expect'",
                    "expect: {status: completed} is the least");
  }
  return made;
}

// Members of both a case and the defaults; the case is read later and takes precedence.
void CaseReader::read_given(const Cursor& at, Case& into) {
  if (auto inputs = at.field("inputs"); inputs && findings_.expect_object(*inputs))
    for (const Value::Member& member : inputs->value().as_object())
      into.inputs.set(member.key, member.value);
  if (auto secrets = at.field("secrets"); secrets && findings_.expect_object(*secrets))
    read_secrets(*secrets, into);
  if (auto real = at.field("real"))
    for (const Cursor& action : real->entries()) {
      std::string name = findings_.text(action);
      const actions::ActionInfo* info = actions::find_action(name);
      if (info == nullptr || info->by_engine)
        findings_.error(action, "unknown_action",
                        "there is no action " + in_quotes(name) + " that could be done for real",
                        nearest_name(name, true));
      into.real.push_back(std::move(name));
    }
  if (auto starts = at.field("starts_at")) {
    auto when = parse_rfc3339(findings_.text(*starts));
    if (when.ok()) {
      into.starts_at_ms = *when;
    } else {
      findings_.error(*starts, "value", when.error().message);
    }
  }
}

void CaseReader::read_secrets(const Cursor& at, Case& into) {
  for (size_t i = 0; i < at.value().as_object().size(); ++i) {
    const std::string& name = at.value().as_object().at(i).key;
    std::erase_if(into.secrets, [&](const auto& secret) { return secret.name == name; });
    into.secrets.push_back(read_secret(name, at.member(i)));
  }
}

// Its text, or {value, hosts, actions} as in PUT /v1/secrets.
CaseSecret CaseReader::read_secret(const std::string& name, const Cursor& at) {
  CaseSecret secret{name, "", {}};
  if (!at.is_object()) {
    secret.value = findings_.text(at);
    return secret;
  }
  findings_.only(at, kSecret, "a secret");
  if (auto value = at.field("value")) {
    secret.value = findings_.text(*value);
  } else {
    findings_.error(at, "required", "a secret needs 'value'");
  }
  auto read = [&](std::string_view field, std::vector<std::string>& list, auto problem_of) {
    auto given = at.field(field);
    if (!given || !findings_.expect_array(*given)) return;
    for (const Cursor& entry : given->entries()) {
      list.push_back(findings_.text(entry));
      if (std::string problem = problem_of(list.back()); !problem.empty())
        findings_.error(entry, "value", std::move(problem));
    }
  };
  read("hosts", secret.binding.hosts, actions::host_problem);
  read("actions", secret.binding.actions, actions::action_problem);
  return secret;
}

void CaseReader::check_cel(const Cursor& at, const std::string& text) {
  auto program =
      expr::Program::compile(expr::unwrap_template(text), expr::CompileOptions::workflow());
  if (!program.ok()) findings_.error(at, "expression", program.error().message);
}

const plan::Step* CaseReader::find_step(std::string_view key) const {
  size_t dot = key.rfind('.');
  std::string_view id = dot == key.npos ? key : key.substr(dot + 1);
  auto among = [&](const plan::Script& script) -> const plan::Step* {
    for (const plan::Step& step : script.steps)
      if (step.id == id) return &step;
    return nullptr;
  };
  if (const plan::Step* step = among(*file_.script)) return step;
  for (const auto& other : file_.others)
    if (const plan::Step* step = among(*other)) return step;
  return nullptr;
}

void CaseReader::check_step(const Cursor& at, std::string_view key) {
  if (find_step(key) == nullptr)
    findings_.error(at, "unknown_step", "there is no step " + in_quotes(key),
                    nearest_name(key, false));
}

std::string CaseReader::nearest_name(std::string_view key, bool actions_too) const {
  std::vector<std::string_view> names;
  for (const plan::Step& step : file_.script->steps) names.push_back(step.id);
  for (const auto& other : file_.others)
    for (const plan::Step& step : other->steps) names.push_back(step.id);
  if (actions_too)
    for (const actions::ActionInfo& info : actions::builtin_actions()) names.push_back(info.name);
  return plan::meant(key, names);
}

}  // namespace pawl::rehearse
