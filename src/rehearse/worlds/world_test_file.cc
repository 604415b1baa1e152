#include "rehearse/worlds/world_test_file.h"

#include <algorithm>

#include "base/named.h"
#include "base/quote.h"
#include "base/time.h"
#include "plan/findings.h"
#include "plan/source.h"
#include "rehearse/matcher.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {
namespace {

using plan::Cursor;
using Kind = ScriptStep::Kind;

constexpr std::string_view kWorldTop[] = {"world", "steps", "worlds"};
constexpr std::string_view kWorldStep[] = {"name",  "module", "state", "event",
                                           "input", "ctx",    "expect"};
constexpr std::string_view kWorldStepExpect[] = {"state",   "status", "error", "events",
                                                 "effects", "output", "failed"};
constexpr std::string_view kWorldCase[] = {"name", "now", "seed", "script"};
constexpr std::string_view kWorldExpect[] = {"instances", "effects", "events", "journal"};
constexpr std::string_view kScriptKeys[] = {"event",    "receipt", "advance",   "clock", "restart",
                                            "snapshot", "apply",   "terminate", "retry", "expect",
                                            "refused",  "outcome", "duplicate"};
constexpr Named<Kind> kKinds[] = {{"event", Kind::Event},     {"receipt", Kind::Receipt},
                                  {"advance", Kind::Advance}, {"clock", Kind::Clock},
                                  {"restart", Kind::Restart}, {"snapshot", Kind::Snapshot},
                                  {"apply", Kind::Apply},     {"terminate", Kind::Terminate},
                                  {"retry", Kind::Retry},     {"expect", Kind::Expect}};
constexpr std::string_view kEventKeys[] = {"schema", "value", "value_b64",
                                           "lens",   "key",   "client_id"};
constexpr std::string_view kReceiptKeys[] = {
    "of", "module", "key", "params", "status", "payload", "payload_b64", "cost_cents", "adapter"};
constexpr std::string_view kInstanceKeys[] = {"module", "key",   "status",
                                              "state",  "error", "inflight"};
constexpr std::string_view kEffectKeys[] = {"kind",     "module",   "key",  "params",
                                            "cap_name", "cap_slot", "state"};
constexpr std::string_view kEmittedKeys[] = {"schema", "value", "key"};
constexpr size_t kScriptMax = 10'000;

class WorldTestReader {
 public:
  explicit WorldTestReader(plan::Findings& findings) : findings_(findings) {}

  WorldTestFile read(const Cursor& top) {
    WorldTestFile file;
    file.world = "..";
    if (!findings_.expect_object(top)) return file;
    findings_.only(top, kWorldTop, "a test file");
    if (auto world = top.field("world")) file.world = findings_.text(*world);
    if (auto steps = top.field("steps"); steps && findings_.expect_array(*steps))
      for (const Cursor& at : steps->entries()) file.steps.push_back(read_step(at));
    if (auto worlds = top.field("worlds"); worlds && findings_.expect_array(*worlds))
      for (const Cursor& at : worlds->entries()) file.worlds.push_back(read_case(at));
    if (file.steps.empty() && file.worlds.empty() && !findings_.failed())
      findings_.error(top, "required", "a test file has 'steps', 'worlds' or both");
    if (file.steps.size() + file.worlds.size() > kCasesMax)
      findings_.error(top, "too_large",
                      "a file has " + std::to_string(kCasesMax) + " cases at most");
    return file;
  }

 private:
  std::string name_of(const Cursor& at, std::string_view otherwise) {
    std::string name;
    if (auto given = at.field("name")) name = findings_.text(*given);
    if (name.empty()) name = std::string(otherwise) + " " + std::to_string(names_.size() + 1);
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      findings_.error(at, "duplicate", "there is another case " + in_quotes(name));
    names_.push_back(name);
    return name;
  }

  StepCase read_step(const Cursor& at) {
    StepCase one;
    one.line = at.line();
    if (!findings_.expect_object(at)) return one;
    findings_.only(at, kWorldStep, "a step");
    one.name = name_of(at, "step");
    Value::Object request;
    for (const char* key : {"module", "state", "event", "input", "ctx"})
      if (auto given = at.field(key)) request.set(key, given->value());
    if (!request.contains("module"))
      findings_.error(at, "required", "a step needs 'module': the one that is called");
    if (request.contains("event") == request.contains("input"))
      findings_.error(at, "required", "a step needs 'event', or 'input' for a pure module");
    one.request = Value(std::move(request)).json();
    auto expect = at.field("expect");
    if (!expect) {
      findings_.error(at, "required", "a step needs 'expect': what comes out of it");
    } else if (findings_.expect_object(*expect)) {
      findings_.only(*expect, kWorldStepExpect, "what is expected of a step");
      check_list(*expect, "effects", kEffectKeys);
      check_list(*expect, "events", kEmittedKeys);
      check_matchers(findings_, *expect);
      one.expect = expect->value().as_object();
    }
    return one;
  }

  void check_list(const Cursor& holder, std::string_view key,
                  std::span<const std::string_view> known) {
    auto list = holder.field(key);
    if (!list || !findings_.expect_array(*list)) return;
    for (const Cursor& at : list->entries())
      if (findings_.expect_object(at)) findings_.only(at, known, "an entry of this list");
  }

  ScriptCase read_case(const Cursor& at) {
    ScriptCase one;
    one.line = at.line();
    one.now_ns = kUsualStartMs * 1'000'000;
    one.seed = "pawl worlds test";
    if (!findings_.expect_object(at)) return one;
    findings_.only(at, kWorldCase, "a world");
    one.name = name_of(at, "world");
    if (auto now = at.field("now")) one.now_ns = time_ns(*now);
    if (auto seed = at.field("seed")) one.seed = findings_.text(*seed);
    auto script = at.field("script");
    if (!script || !findings_.expect_array(*script)) {
      findings_.error(at, "required", "a world needs 'script': what happens to it");
      return one;
    }
    if (script->value().as_array().size() > kScriptMax)
      findings_.error(*script, "too_large",
                      "a script has " + std::to_string(kScriptMax) + " steps at most");
    for (const Cursor& step : script->entries()) one.script.push_back(read_script_step(step));
    return one;
  }

  ScriptStep read_script_step(const Cursor& at) {
    ScriptStep step;
    step.place = at.path();
    if (!findings_.expect_object(at)) return step;
    findings_.only(at, kScriptKeys, "a step of a script");
    int kinds = 0;
    for (const auto& [name, kind] : kKinds) {
      auto given = at.field(name);
      if (!given) continue;
      ++kinds;
      step.kind = kind;
      step.body = given->value();
      read_body(*given, step);
    }
    if (kinds != 1)
      findings_.error(at, "required",
                      "a step of a script is one of event, receipt, advance, clock, restart, "
                      "snapshot, apply, terminate, retry, expect");
    if (auto refused = at.field("refused")) step.refused = findings_.text(*refused);
    if (auto outcome = at.field("outcome")) step.outcome = findings_.text(*outcome);
    if (auto again = at.field("duplicate")) step.duplicate = again->value() == Value(true);
    return step;
  }

  void read_body(const Cursor& at, ScriptStep& step) {
    switch (step.kind) {
      case Kind::Event:
        if (findings_.expect_object(at)) {
          findings_.only(at, kEventKeys, "an event");
          need_text(at, "schema");
        }
        return;
      case Kind::Receipt:
        if (findings_.expect_object(at)) {
          findings_.only(at, kReceiptKeys, "a receipt");
          need_text(at, "of");
          need_text(at, "status");
        }
        return;
      case Kind::Advance:
        step.ns = findings_.duration_ms(at) * 1'000'000;
        return;
      case Kind::Clock:
        step.ns = time_ns(at);
        return;
      case Kind::Restart:
        if (const std::string from = findings_.text(at); from != "genesis" && from != "baseline")
          findings_.error(at, "value", "a restart is from 'genesis' or 'baseline'");
        return;
      case Kind::Snapshot:
        return;
      case Kind::Apply:
        findings_.text(at);
        return;
      case Kind::Terminate:
      case Kind::Retry:
        if (findings_.expect_object(at)) need_text(at, "module");
        return;
      case Kind::Expect:
        read_expect(at);
        return;
    }
  }

  void need_text(const Cursor& at, std::string_view name) {
    auto given = at.field(name);
    if (given) {
      findings_.text(*given);
    } else {
      findings_.error(at, "required", "'" + std::string(name) + "' is missing");
    }
  }

  void read_expect(const Cursor& at) {
    if (!findings_.expect_object(at)) return;
    findings_.only(at, kWorldExpect, "what is expected of a world");
    check_list(at, "instances", kInstanceKeys);
    check_list(at, "effects", kEffectKeys);
    check_list(at, "events", kEmittedKeys);
    if (auto journal = at.field("journal")) findings_.expect_array(*journal);
    check_matchers(findings_, at);
  }

  // RFC 3339, or nanoseconds since 1970.
  int64_t time_ns(const Cursor& at) {
    if (at.value().is_int()) return at.value().as_int();
    auto ms = parse_rfc3339(findings_.text(at));
    if (ms.ok()) return *ms * 1'000'000;
    if (at.is_string()) findings_.error(at, "value", ms.error().message);
    return 0;
  }

  plan::Findings& findings_;
  std::vector<std::string> names_;
};

}  // namespace

WorldTestFileRead read_world_test_file(std::string_view text) {
  WorldTestFileRead read;
  plan::Source source = plan::read_source(text, {});
  if (!source.faults.empty()) {
    read.errors = std::move(source.faults);
    return read;
  }
  plan::Findings findings(false);
  read.file = WorldTestReader(findings).read(Cursor(source.value, &source.lines));
  read.errors = findings.take_errors();
  return read;
}

}  // namespace pawl::rehearse
