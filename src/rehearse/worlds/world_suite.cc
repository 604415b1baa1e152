#include "rehearse/worlds/world_suite.h"

#include <algorithm>

#include "base/quote.h"
#include "rehearse/matcher.h"
#include "rehearse/worlds/world_stage.h"

namespace pawl::rehearse {
namespace {

using StepKind = ScriptStep::Kind;

std::string complaint_text(const Complaint& complaint) {
  return (complaint.path.empty() ? "" : complaint.path + ": ") + complaint.message +
         (complaint.code.empty() ? "" : " (" + complaint.code + ")");
}

// A single complaint has the error's own message, and says where.
std::string problem_text(const Error& error) {
  std::string text = std::string(wire_code(error)) + ": ";
  if (error.complaints.size() == 1 && error.complaints[0].message == error.message)
    return text + complaint_text(error.complaints[0]);
  text += error.message;
  for (const Complaint& complaint : error.complaints) text += "\n  " + complaint_text(complaint);
  return text;
}

// Entries of a list are compared member by member: what an entry does not name may be anything.
void compare_entries(const std::string& path, const Value& wanted, const Value::Array& got,
                     std::vector<Difference>& into) {
  if (!wanted.is_array()) {
    const Value all(got);
    return compare(path, wanted, &all, Members::All, into);
  }
  const Value::Array& entries = wanted.as_array();
  for (size_t i = 0; i < std::max(entries.size(), got.size()); ++i) {
    const std::string place = path + "[" + std::to_string(i) + "]";
    if (i >= entries.size()) {
      into.push_back({place, "nothing", shown(got[i])});
    } else if (i >= got.size()) {
      into.push_back({place, shown(entries[i]), "nothing"});
    } else if (entries[i].is_object()) {
      for (const Value::Member& member : entries[i].as_object())
        compare(place + "." + member.key, member.value, got[i].find(member.key), Members::All,
                into);
    } else {
      compare(place, entries[i], &got[i], Members::All, into);
    }
  }
}

void compare_step(const Value::Object& expect, const Value& reply, std::vector<Difference>& into) {
  const Value* failed = reply.find("failed");
  const Value* wanted_failure = expect.find("failed");
  if (failed != nullptr && wanted_failure == nullptr)
    return into.push_back({"failed", "nothing", shown(*failed)});
  for (const Value::Member& member : expect) {
    if (member.key == "failed") {
      compare("failed", member.value, failed == nullptr ? nullptr : failed->find("code"),
              Members::All, into);
    } else if (member.key == "effects" || member.key == "events") {
      const Value* list = reply.find(member.key == "events" ? "domain_events" : "effects");
      compare_entries(member.key, member.value,
                      list != nullptr && list->is_array() ? list->as_array() : Value::Array(),
                      into);
    } else {
      compare(member.key, member.value, reply.find(member.key), Members::All, into);
    }
  }
}

class ScriptRun {
 public:
  ScriptRun(const WorldSuite& suite, const ScriptCase& given, CaseResult& result)
      : suite_(suite), given_(given), result_(result), stage_(suite.host) {}

  void run() {
    const Status made = stage_.create(suite_.program, given_.seed, given_.now_ns);
    if (!made.ok()) return problem("the world", made.error());
    last_input_ = looked_at_ = stage_.height();
    for (const ScriptStep& step : given_.script) {
      if (!perform(step)) break;  // what comes after it would only confuse
    }
    const Status again = stage_.replay(worlds::ReplayFrom::Genesis);
    if (!again.ok()) problem("replay at the end", again.error());
    result_.run.elapsed_ms = (stage_.now_ns() - given_.now_ns) / 1'000'000;
    result_.run.status = problems() ? "failed" : "completed";
  }

 private:
  bool problems() const { return !result_.run.problems.empty() || !result_.differences.empty(); }

  void problem(const std::string& place, const Error& error) {
    result_.run.problems.push_back(place + ": " + problem_text(error));
  }

  void note(const ScriptStep& step, std::string_view what, std::string result) {
    Moment moment;
    moment.step = std::string(what);
    moment.start_ms = moment.end_ms = (stage_.now_ns() - given_.now_ns) / 1'000'000;
    moment.result = std::move(result);
    if (!step.refused.empty()) moment.result += " (refusal expected)";
    result_.run.timeline.push_back(std::move(moment));
  }

  bool perform(const ScriptStep& step) {
    if (step.kind == StepKind::Expect) return look(step);
    const uint64_t before = stage_.height();
    const Status done = act(step);
    const std::string code = done.ok() ? "" : std::string(wire_code(done.error()));
    if (code != step.refused) {
      if (!done.ok()) return problem(step.place, done.error()), false;
      result_.differences.push_back({step.place, "refused: " + step.refused, "it was not refused"});
      return false;
    }
    if (stage_.height() > before) last_input_ = before;
    return !problems();
  }

  Status act(const ScriptStep& step) {
    switch (step.kind) {
      case StepKind::Event:
        return post(step);
      case StepKind::Receipt:
        return settle(step);
      case StepKind::Advance:
      case StepKind::Clock: {
        const int64_t to = step.kind == StepKind::Clock ? step.ns : stage_.now_ns() + step.ns;
        PAWL_TRY(const uint64_t fired, stage_.move_clock(to));
        note(step, "clock", std::to_string(fired) + " timers fired");
        return ok_status();
      }
      case StepKind::Restart: {
        const bool genesis = step.body == Value("genesis");
        note(step, "restart", "from " + step.body.as_string());
        return stage_.replay(genesis ? worlds::ReplayFrom::Genesis : worlds::ReplayFrom::Baseline);
      }
      case StepKind::Snapshot:
        stage_.snapshot();
        note(step, "snapshot", "taken");
        return ok_status();
      case StepKind::Apply: {
        PAWL_TRY(const std::string program, suite_.load(step.body.as_string()));
        const Status applied = stage_.apply(program);
        note(step, "apply", applied.ok() ? "applied" : std::string(wire_code(applied.error())));
        return applied;
      }
      case StepKind::Terminate:
        note(step, "terminate", step.body.json());
        return stage_.terminate(step.body);
      case StepKind::Retry:
        note(step, "retry", step.body.json());
        return stage_.retry(step.body);
      case StepKind::Expect:
        break;
    }
    return ok_status();
  }

  Status post(const ScriptStep& step) {
    const auto reply = stage_.post(step.body);
    note(step, "event " + step.body.find("schema")->as_string(),
         reply.ok() ? "seq " + std::to_string(reply->seq) : std::string(wire_code(reply.error())));
    PAWL_TRY_DO(reply);
    if (reply->duplicate != step.duplicate)
      result_.differences.push_back({step.place + ".duplicate", step.duplicate ? "true" : "false",
                                     reply->duplicate ? "true" : "false"});
    return ok_status();
  }

  Status settle(const ScriptStep& step) {
    const auto reply = stage_.settle(step.body);
    const std::string got(reply.ok() ? worlds::outcome_name(reply->outcome)
                                     : wire_code(reply.error()));
    note(step, "receipt " + step.body.find("of")->as_string(), got);
    PAWL_TRY_DO(reply);
    const std::string wanted = step.outcome.empty() ? "settled" : step.outcome;
    if (got != wanted) result_.differences.push_back({step.place + ".outcome", wanted, got});
    return ok_status();
  }

  // Events: since the look before this one; the journal: of the last input alone.
  bool look(const ScriptStep& step) {
    for (const Value::Member& member : step.body.as_object()) {
      const std::string place = step.place + ".expect." + member.key;
      const Value::Array got = member.key == "instances" ? stage_.instances()
                               : member.key == "effects" ? stage_.open_effects()
                               : member.key == "events"  ? stage_.events_since(looked_at_)
                                                         : stage_.journal_since(last_input_);
      compare_entries(place, member.value, got, result_.differences);
    }
    looked_at_ = stage_.height();
    return !problems();
  }

  const WorldSuite& suite_;
  const ScriptCase& given_;
  CaseResult& result_;
  WorldStage stage_;
  uint64_t last_input_ = 0;  // the height before it
  uint64_t looked_at_ = 0;
};

}  // namespace

std::vector<Complaint> program_faults(const WorldSuite& suite) {
  const Status made = WorldStage(suite.host).create(suite.program, "", 0);
  if (made.ok()) return {};
  if (!made.error().complaints.empty()) return made.error().complaints;
  return {{"", made.error().message, std::string(wire_code(made.error()))}};
}

CaseResult run_step_case(const WorldSuite& suite, const StepCase& given) {
  CaseResult result;
  result.name = given.name;
  result.line = given.line;
  WorldStage stage(suite.host);
  Status made = stage.create(suite.program, "", 0);
  auto reply = made.ok() ? stage.step(given.request) : Result<std::string>(made.error());
  auto value = reply.ok() ? Value::parse(*reply) : Result<Value>(reply.error());
  if (value.ok()) {
    compare_step(given.expect, *value, result.differences);
  } else {
    result.run.problems.push_back(problem_text(value.error()));
  }
  result.passed = result.run.problems.empty() && result.differences.empty();
  result.run.status = result.passed ? "completed" : "failed";
  return result;
}

CaseResult run_script_case(const WorldSuite& suite, const ScriptCase& given) {
  CaseResult result;
  result.name = given.name;
  result.line = given.line;
  ScriptRun(suite, given, result).run();
  result.passed = result.run.problems.empty() && result.differences.empty();
  return result;
}

}  // namespace pawl::rehearse
