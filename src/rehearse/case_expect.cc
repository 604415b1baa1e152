// Expectations: the outcome, steps and calls of the run.
#include "actions/action.h"
#include "base/quote.h"
#include "rehearse/case_reader.h"
#include "rehearse/matcher.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;

constexpr std::string_view kExpect[] = {"status", "outputs", "error",   "steps",
                                        "calls",  "order",   "elapsed", "cel"};
constexpr std::string_view kCalls[] = {"count", "params"};
constexpr std::string_view kElapsed[] = {"at_least", "at_most"};
constexpr Named<std::string_view> kStatus[] = {{"completed", "completed"},
                                               {"failed", "failed"},
                                               {"cancelled", "cancelled"},
                                               {"suspended", "suspended"},
                                               {"active", "active"}};

}  // namespace

Expect CaseReader::read_expect(const Cursor& at) {
  Expect expect;
  if (!findings_.expect_object(at)) return expect;
  findings_.only(at, kExpect, "expect");
  if (auto error = at.field("error")) {
    expect.error =
        error->is_string() ? Value(Value::Object{{"code", error->value()}}) : error->value();
    check_matchers(findings_, *error);
  }
  expect.status = expect.error ? "failed" : "completed";
  if (auto status = at.field("status"))
    if (auto known = findings_.choice(*status, kStatus)) expect.status = *known;
  if (const Value* outputs = at.value().find("outputs")) {
    expect.outputs = *outputs;
    if (auto place = at.field("outputs")) check_matchers(findings_, *place);
  }
  if (auto steps = at.field("steps"); steps && findings_.expect_object(*steps)) {
    expect.steps = steps->value().as_object();
    for (size_t i = 0; i < expect.steps.size(); ++i) {
      check_step(steps->member(i), expect.steps.at(i).key);
      check_matchers(findings_, steps->member(i));
    }
  }
  if (auto calls = at.field("calls"); calls && findings_.expect_object(*calls)) {
    expect.calls = calls->value().as_object();
    for (size_t i = 0; i < expect.calls.size(); ++i) {
      Cursor call = calls->member(i);
      check_mock_key(call, expect.calls.at(i).key);
      if (call.is_object()) {
        findings_.only(call, kCalls, "calls");
        if (auto params = call.field("params")) check_matchers(findings_, *params);
      } else {
        (void)findings_.whole(call, 0, 1'000'000, 0);
      }
    }
  }
  if (auto order = at.field("order")) {
    read_texts(*order, expect.order);
    for (const std::string& key : expect.order) check_step(*order, key);
  }
  if (auto elapsed = at.field("elapsed")) read_elapsed(*elapsed, expect.elapsed);
  if (auto cel = at.field("cel")) {
    read_texts(*cel, expect.cel);
    for (const std::string& text : expect.cel) check_cel(*cel, text);
  }
  return expect;
}

void CaseReader::read_elapsed(const Cursor& at, Elapsed& elapsed) {
  if (!at.is_object()) {
    elapsed.exactly_ms = findings_.duration_ms(at);
    return;
  }
  findings_.only(at, kElapsed, "elapsed");
  if (auto least = at.field("at_least")) elapsed.at_least_ms = findings_.duration_ms(*least);
  if (auto most = at.field("at_most")) elapsed.at_most_ms = findings_.duration_ms(*most);
}

void CaseReader::read_texts(const Cursor& at, std::vector<std::string>& into) {
  for (const Cursor& entry : at.entries()) into.push_back(findings_.text(entry));
}

}  // namespace pawl::rehearse
