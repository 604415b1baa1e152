// Mocks: answers to external calls.
#include <algorithm>

#include "actions/action.h"
#include "base/quote.h"
#include "rehearse/case_reader.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;

constexpr std::string_view kAnswer[] = {"result", "error", "hangs", "takes", "when", "unsafe"};
constexpr std::string_view kError[] = {"code", "message", "retryable", "details"};
// Codes that the language does not retry (docs/reference/definitions.md, error codes).
constexpr std::string_view kFinal[] = {"VALIDATION_ERROR",  "INTERPOLATION_ERROR", "NON_RETRYABLE",
                                       "ASSERTION_FAILED",  "NOT_FOUND",           "CONFLICT",
                                       "PERMISSION_DENIED", "PATH_DENIED",         "CIRCUIT_OPEN"};

bool is_asked_of_outside(const plan::Step& step) {
  return step.type == plan::StepType::Action || step.type == plan::StepType::Job ||
         step.type == plan::StepType::Composition || step.type == plan::StepType::Subworkflow;
}

}  // namespace

void CaseReader::read_mocks(const Cursor& at, std::vector<Mock>& into) {
  if (!findings_.expect_object(at)) return;
  for (size_t i = 0; i < at.value().as_object().size(); ++i) {
    Cursor member = at.member(i);
    Mock mock;
    mock.key = at.value().as_object().at(i).key;
    check_mock_key(member, mock.key);
    for (const Cursor& entry : member.entries()) mock.answers.push_back(read_answer(entry));
    if (mock.answers.empty())
      findings_.error(member, "required", "a mock needs one answer at least");
    into.push_back(std::move(mock));
  }
}

void CaseReader::check_mock_key(const Cursor& at, const std::string& key) {
  if (actions::find_action(key) != nullptr || key == "subworkflow" || key == "job") return;
  auto uses = [&](const plan::Script& script) {
    return std::any_of(script.steps.begin(), script.steps.end(), [&](const plan::Step& step) {
      return step.action == key || step.job_type == key;
    });
  };
  if (uses(*file_.script)) return;
  for (const auto& other : file_.others)
    if (uses(*other)) return;
  const plan::Step* step = find_step(key);
  if (step == nullptr)
    return findings_.error(at, "unknown_step", "there is no step and no action " + in_quotes(key),
                           nearest_name(key, true));
  if (is_asked_of_outside(*step)) return;
  findings_.error(at, "value",
                  "step " + in_quotes(key) + " is a " + step->type_name +
                      " step: it asks nothing of the outside that a mock could answer",
                  step->type == plan::StepType::Decision || step->type == plan::StepType::Wait
                      ? "people and signals stand under events"
                      : "");
}

Answer CaseReader::read_answer(const Cursor& at) {
  Answer answer;
  if (!findings_.expect_object(at)) return answer;
  findings_.only(at, kAnswer, "an answer");
  if (auto when = at.field("when")) {
    answer.when = findings_.text(*when);
    check_cel(*when, answer.when);
  }
  if (auto takes = at.field("takes")) answer.takes_ms = findings_.duration_ms(*takes);
  auto flag = [&](std::string_view name) -> std::optional<bool> {
    auto field = at.field(name);
    if (!field) return std::nullopt;
    if (field->value().is_bool()) return field->value().as_bool();
    findings_.error(*field, "type", std::string(name) + " must be true or false");
    return std::nullopt;
  };
  answer.unsafe = flag("unsafe");
  answer.hangs = flag("hangs").value_or(false);
  const Value* result = at.value().find("result");
  if (result != nullptr) answer.result = *result;
  auto error = at.field("error");
  if (error) read_error(*error, answer);
  int said = (result != nullptr ? 1 : 0) + (error ? 1 : 0) + (answer.hangs ? 1 : 0);
  if (said != 1)
    findings_.error(at, "value", "an answer says one of 'result', 'error' and 'hangs: true'");
  return answer;
}

void CaseReader::read_error(const Cursor& at, Answer& answer) {
  answer.fails = true;
  answer.message = "a mock said so";
  if (at.is_string()) {
    answer.code = findings_.text(at);
  } else if (findings_.expect_object(at)) {
    findings_.only(at, kError, "an error");
    if (auto code = at.field("code")) answer.code = findings_.text(*code);
    if (auto message = at.field("message")) answer.message = findings_.text(*message);
    if (auto details = at.field("details")) answer.details = details->value();
  }
  if (answer.code.empty())
    findings_.error(at, "required", "an error needs a code", "error: EXECUTION_ERROR");
  answer.retryable =
      std::find(std::begin(kFinal), std::end(kFinal), answer.code) == std::end(kFinal);
  if (auto retryable = at.field("retryable")) {
    if (!retryable->value().is_bool())
      findings_.error(*retryable, "type", "retryable must be true or false");
    else
      answer.retryable = retryable->value().as_bool();
  }
}

}  // namespace pawl::rehearse
