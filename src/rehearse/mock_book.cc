#include "rehearse/mock_book.h"

#include <algorithm>

#include "expr/template/template.h"
#include "kernel/scripts/expression_names.h"

namespace pawl::rehearse {
namespace {

// The names for `when` and templates.
class CallNames {
 public:
  CallNames(const MockCall& call, size_t number)
      : params_(call.params),
        step_(call.step),
        attempt_(static_cast<int64_t>(call.attempt)),
        number_(static_cast<int64_t>(number)),
        execution_(static_cast<int64_t>(call.execution)),
        key_(call.idempotency_key) {
    names_.json("params", params_)
        .json("step", step_)
        .json("attempt", attempt_)
        .json("call", number_)
        .json("execution", execution_)
        .json("idempotency_key", key_);
  }
  CallNames& operator=(CallNames&&) = delete;
  const expr::Activation& names() const { return names_; }

 private:
  Value params_, step_, attempt_, number_, execution_, key_;
  expr::Variables names_;
};

Result<bool> holds(const std::string& when, const CallNames& names) {
  PAWL_TRY(auto program, script_programs().get(expr::unwrap_template(when)));
  expr::Budget budget;
  return program->test(names.names(), budget);
}

bool is_about_step(const Mock& mock, const MockCall& call) {
  return names_step(mock.key, call.step);
}

bool is_about_action(const Mock& mock, const MockCall& call) {
  return mock.key == call.action || (!call.job_type.empty() && mock.key == call.job_type);
}

}  // namespace

MockAnswer MockBook::answer(const MockCall& call) {
  for (auto about : {is_about_step, is_about_action})
    for (const Mock& mock : mocks_) {
      if (!about(mock, call)) continue;
      MockAnswer found = from(mock, call);
      if (found.found || !found.problem.empty()) return found;
    }
  return {};
}

bool MockBook::mentions(const MockCall& call) const {
  return std::any_of(mocks_.begin(), mocks_.end(), [&](const Mock& mock) {
    return is_about_step(mock, call) || is_about_action(mock, call);
  });
}

MockAnswer MockBook::from(const Mock& mock, const MockCall& call) {
  MockAnswer made;
  // Answers with a condition come before unconditional ones.
  std::vector<std::string> order;
  for (bool conditional : {true, false})
    for (const Answer& answer : mock.answers)
      if (answer.when.empty() != conditional &&
          std::find(order.begin(), order.end(), answer.when) == order.end())
        order.push_back(answer.when);
  for (const std::string& when : order) {
    auto& calls = answered_[{&mock, when}];
    auto known = calls.find(call.id);
    size_t number = known == calls.end() ? calls.size() : known->second;
    CallNames names(call, number + 1);
    if (!when.empty()) {
      auto fits = holds(when, names);
      if (!fits.ok()) {
        made.problem = "mocks." + mock.key + ": when: " + fits.error().message;
        return made;
      }
      if (!*fits) continue;
    }
    calls.emplace(call.id, number);
    std::vector<const Answer*> sequence;
    for (const Answer& answer : mock.answers)
      if (answer.when == when) sequence.push_back(&answer);
    made.found = true;
    made.answer = *sequence[std::min(number, sequence.size() - 1)];
    expr::Budget budget;
    auto filled = expr::interpolate(made.answer.result, names.names(), script_programs(), budget);
    if (!filled.ok()) {
      made.problem = "mocks." + mock.key + ": result: " + filled.error().message;
      return made;
    }
    made.answer.result = std::move(filled->value);
    return made;
  }
  return made;
}

}  // namespace pawl::rehearse
