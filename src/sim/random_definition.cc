#include "sim/random_definition.h"

namespace pawl::sim {
namespace {

constexpr int kDepthMax = 2;
constexpr int kStepsMax = 14;

Value one_step(const std::string& id) {
  return Value::Array{Value::Object{{"id", id}, {"action", "x"}}};
}

}  // namespace

std::string RandomDefinition::duration(int64_t most_ms) {
  return std::to_string(random_.between(1, most_ms)) + "ms";
}

void RandomDefinition::draw_action(Value::Object& step) {
  step.set("action", "x");
  if (random_.percent(25)) step.set("timeout", duration(15'000));
  if (random_.percent(30)) step.set("compensate", one_step("undo"));
}

void RandomDefinition::draw_wait(Value::Object& config) {
  if (random_.percent(45)) return void(config.set("duration", duration(8'000)));
  config.set("signal", random_.percent(50) ? "go" : "ready");
  if (!random_.percent(40)) return;
  static const std::vector<std::string> kThen = {"fail", "suspend", "cancel", "continue"};
  config.set("timeout", duration(30'000));
  if (random_.percent(70)) config.set("on_timeout", random_.pick(kThen));
}

// One that should mostly get somewhere, and sometimes is in the way of another.
Value::Object RandomDefinition::job() {
  Value::Object options;
  if (random_.percent(15)) {
    static const std::vector<std::string> kConflicts = {"reject", "ignore", "replace",
                                                        "replace_except_schedule"};
    options.set("unique", Value::Object{{"keys", Value::Array{Value("type")}},
                                        {"on_conflict", random_.pick(kConflicts)}});
  }
  if (random_.percent(30))
    options.set("retry", Value::Object{{"max_attempts", random_.between(1, 3)}});
  if (random_.percent(10)) options.set("scheduled_at", "+PT2S");
  if (random_.percent(20)) options.set("priority", random_.between(-2, 2));
  return {{"type", random_.percent(50) ? "work.step" : "work.part"},
          {"queue", random_.pick(queues_)},
          {"args", Value::Array{}},
          {"options", std::move(options)}};
}

Value::Object RandomDefinition::composition(const std::string& type, int depth) {
  static const std::vector<std::string> kGuards = {"true", "false", "size(results) > 0",
                                                   "results[9] == 1"};
  static const std::vector<std::string> kLists = {"[]", "[1]", "[1,2,3,4]", "results"};
  static const std::vector<std::string> kInside = {"chain", "group", "batch", "map"};
  Value::Object whole{{"type", type}};
  if (random_.percent(15)) whole.set("timeout_ms", random_.between(1, 30'000));
  if (random_.percent(20)) whole.set("on_cancel", job());
  if (type == "batch") whole.set("callbacks", Value::Object{{"on_complete", job()}});
  if (type == "map") {
    whole.set("over", random_.pick(kLists));
    whole.set("concurrency", random_.between(1, 3));
    whole.set("job", job());
    return whole;
  }
  Value::Array members;
  for (uint64_t i = 1 + random_.below(3); i > 0; --i) {
    bool nested = depth == 0 && random_.percent(25);
    Value::Object member = nested ? composition(random_.pick(kInside), depth + 1) : job();
    if (random_.percent(25)) member.set("when", random_.pick(kGuards));
    members.push_back(std::move(member));
  }
  whole.set(type == "chain" ? "steps" : "jobs", std::move(members));
  return whole;
}

void RandomDefinition::draw_leaf(Value::Object& step, uint64_t kind) {
  Value::Object config;
  if (kind < 34) return draw_action(step);
  if (kind < 44) {
    step.set("type", "job");
    config = job();
    if (random_.percent(25)) step.set("timeout", duration(20'000));
    if (random_.percent(20)) step.set("compensate", one_step("undo"));
  } else if (kind < 46) {
    static const std::vector<std::string> kTypes = {"chain", "group", "batch"};
    config = composition(random_.pick(kTypes), 0);
    step.set("type", *config.find("type"));
  } else if (kind < 52 && !children_.empty()) {
    step.set("type", "subworkflow");
    config.set("definition", random_.pick(children_));
  } else if (kind < 60) {
    step.set("type", "wait");
    draw_wait(config);
  } else if (kind < 67) {
    step.set("type", "reasoning");
    config.set("prompt_context", "which?");
    if (random_.percent(60)) config.set("options", Value::Array{Value("yes"), Value("no")});
    if (random_.percent(40)) config.set("timeout", duration(20'000));
    if (config.contains("timeout") && random_.percent(60)) config.set("fallback", "no");
  } else if (kind < 70) {
    step.set("action", "workflow.log");
    return void(step.set("params", Value::Object{{"message", "here"}}));
  } else if (kind < 72) {
    step.set("action", "workflow.fail");
    return void(step.set("params", Value::Object{{"reason", "on purpose"}}));
  } else {
    return draw_action(step);
  }
  step.set("config", std::move(config));
}

void RandomDefinition::draw_loop(Value::Object& config, int depth) {
  uint64_t how = random_.below(4);
  std::string bound = std::to_string(random_.below(4));
  if (how < 2) {
    config.set("over", Value::Array(random_.below(4), Value(int64_t{7})));
    if (random_.percent(40)) config.set("concurrency", static_cast<int64_t>(random_.below(3)));
  } else {
    config.set("mode", how == 2 ? "while" : "until");
    config.set("condition", (how == 2 ? "iter.index < " : "iter.index == ") + bound);
  }
  if (random_.percent(20)) config.set("max_iter", int64_t{2});
  config.set("body", list(depth + 1, false));
}

void RandomDefinition::draw_composite(Value::Object& step, uint64_t kind, int depth) {
  Value::Object config;
  if (kind < 79) {
    step.set("type", "condition");
    config.set("expression", std::to_string(random_.below(3)));
    config.set("branches",
               Value::Object{{"0", list(depth + 1, false)}, {"1", list(depth + 1, false)}});
    if (random_.percent(40)) config.set("default", Value::Array{});
  } else if (kind < 87) {
    step.set("type", "loop");
    draw_loop(config, depth);
  } else if (kind < 96) {
    step.set("type", "parallel");
    if (kind >= 90) config.set("mode", "race");
    Value::Array branches;
    for (uint64_t i = 1 + random_.below(3); i > 0; --i) branches.push_back(list(depth + 1, false));
    config.set("branches", std::move(branches));
  } else {
    step.set("type", "sequence");
    config.set("steps", list(depth + 1, false));
  }
  if (random_.percent(35)) step.set("timeout", duration(30'000));
  step.set("config", std::move(config));
}

void RandomDefinition::draw_manners(Value::Object& step) {
  if (random_.percent(35)) {
    static const std::vector<std::string> kBackoffs = {"none", "constant", "linear", "exponential"};
    Value::Object retry;
    retry.set("max", random_.between(1, 3));
    retry.set("backoff", random_.pick(kBackoffs));
    retry.set("delay", duration(2'000));
    if (random_.percent(30)) retry.set("max_delay", duration(3'000));
    step.set("retry", std::move(retry));
  }
  uint64_t how = random_.below(100);
  if (how < 8) step.set("on_error", "ignore");
  if (how >= 8 && how < 13) step.set("on_failure", "skip");
  if (how >= 13 && how < 18) step.set("on_error", "fail_workflow");
  if (how >= 18 && how < 25) step.set("on_error", "rollback");
}

Value::Object RandomDefinition::step(int depth, const std::string& id) {
  Value::Object made;
  made.set("id", id);
  uint64_t kind = random_.below(depth < kDepthMax && names_ < kStepsMax ? 100 : 72);
  if (kind < 72) {
    draw_leaf(made, kind);
  } else {
    draw_composite(made, kind, depth);
  }
  draw_manners(made);
  return made;
}

void RandomDefinition::draw_guard(Value::Object& step, const std::vector<std::string>& before) {
  if (random_.percent(6)) step.set("condition", random_.percent(50) ? "true" : "false");
  if (before.empty()) return;
  if (random_.percent(8)) step.set("condition", "steps." + before.back() + ".n > 4");
  static const std::vector<std::string> kTriggers = {"all_success", "all_done", "one_success"};
  if (random_.percent(15)) step.set("trigger", random_.pick(kTriggers));
}

Value RandomDefinition::list(int depth, bool top) {
  Value::Array steps;
  std::vector<std::string> before;
  for (uint64_t i = 1 + random_.below(top ? 4 : 2); i > 0; --i) {
    std::string id = fresh_id();
    Value::Object made = step(depth, id);
    draw_guard(made, before);
    Value::Array depends_on;
    for (const std::string& other : before)
      if (top && random_.percent(50)) depends_on.push_back(other);
    bool guarded = made.contains("condition") && made.find("condition")->as_string()[0] == 's';
    if (guarded && top && depends_on.empty()) depends_on.push_back(before.back());
    if (guarded && top && !(depends_on.back() == Value(before.back())))
      depends_on.push_back(before.back());
    if (!depends_on.empty()) made.set("depends_on", std::move(depends_on));
    bool falls_back =
        !made.contains("on_error") && !made.contains("on_failure") && random_.percent(10);
    std::string fallback = falls_back ? fresh_id() : "";
    if (falls_back)
      made.set("on_error",
               Value::Object{{"strategy", "fallback_step"}, {"fallback_step", fallback}});
    steps.push_back(std::move(made));
    before.push_back(id);
    if (falls_back) steps.push_back(Value::Object{{"id", fallback}, {"action", "x"}});
  }
  return steps;
}

std::string RandomDefinition::text() {
  Value::Object whole;
  names_ = 0;
  whole.set("steps", list(0, true));
  if (random_.percent(12)) {
    static const std::vector<std::string> kThen = {"fail", "cancel", "suspend"};
    whole.set("timeout", duration(60'000));
    whole.set("on_timeout", random_.pick(kThen));
  }
  if (random_.percent(15)) whole.set("on_failure", "rollback");
  if (random_.percent(15)) whole.set("on_complete", one_step("after"));
  if (random_.percent(15)) whole.set("on_error", one_step("alarm"));
  if (random_.percent(15)) whole.set("max_concurrent", random_.between(1, 2));
  if (random_.percent(5)) whole.set("on_limit", "reject");
  if (random_.percent(20)) whole.set("priority", random_.between(-2, 2));
  return Value(std::move(whole)).json();
}

std::string RandomDefinition::extended(SimRandom& random, const std::string& canonical) {
  auto whole = Value::parse(canonical);
  if (!whole.ok() || whole->find("steps") == nullptr) return "";
  Value::Array steps = whole->find("steps")->as_array();
  Value::Object more{{"id", "more" + std::to_string(random.below(1'000))}, {"action", "x"}};
  if (random.percent(50)) more.set("depends_on", Value::Array{*steps[0].find("id")});
  steps.push_back(std::move(more));
  whole->as_object().set("steps", std::move(steps));
  return whole->json();
}

}  // namespace pawl::sim
