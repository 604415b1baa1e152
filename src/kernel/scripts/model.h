// ScriptModel: a plain interpreter of definitions: recursion over a tree, one step after another.
// It shares no code with the kernel, which must give the same results. For the property test and
// the simulator (sim/script_oracle.h); no server runs it.
//
// Random definitions avoid cases where the order of answers matters: lists are chains, and a step
// fails only where nothing else is active.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/value.h"

namespace pawl {

struct ModelStep {
  enum Kind { Action, Sequence, Condition, ForEach, While, Until, Parallel, Wait, Decision };
  enum OnError { Propagate, Ignore, Skip, FailRun, Fallback };
  std::string id;
  Kind kind = Action;
  int guard = 0;  // 1: true, 2: false, 3: the output of the previous step
  std::string trigger;
  OnError on_error = Propagate;
  int retries = 0;
  bool dormant = false;
  bool safe = false;  // never fails: it may run beside others
  int count = 0;      // iterations, or the chosen branch
  int max_iter = 0;
  int concurrency = 1;
  std::vector<std::vector<ModelStep>> lists;
};

class RandomScript {
 public:
  explicit RandomScript(uint64_t seed) : seed_(seed) {}

  std::vector<ModelStep> root() { return list(0, false); }

  // As a definition that the kernel reads.
  static Value definition(const std::vector<ModelStep>& steps) {
    Value::Object whole;
    whole.set("steps", written(steps, true));
    return whole;
  }

 private:
  uint64_t pick(uint64_t bound) { return mix64(seed_ ^ mix64(++picks_)) % bound; }

  std::vector<ModelStep> list(int depth, bool safe) {
    std::vector<ModelStep> steps;
    for (uint64_t i = 0, count = 1 + pick(depth == 0 ? 4 : 3); i < count; ++i) {
      steps.push_back(step(depth, safe));
      ModelStep& last = steps.back();
      last.guard = i == 0 ? static_cast<int>(pick(8) == 0) * 2 : guard();
      if (last.safe && last.guard == 3) last.guard = 0;
      constexpr const char* kTriggers[] = {"", "", "", "all_success", "all_done", "one_success"};
      if (i > 0) last.trigger = kTriggers[pick(std::size(kTriggers))];
      if (last.trigger == "all_done" && last.on_error == ModelStep::FailRun)
        last.on_error = ModelStep::Propagate;
      if (last.on_error != ModelStep::Fallback) continue;
      ModelStep fallback;
      fallback.id = "s" + std::to_string(++names_);
      fallback.dormant = true;
      steps.push_back(fallback);
    }
    return steps;
  }
  int guard() {
    uint64_t draw = pick(10);
    return draw < 6 ? 0 : draw == 6 ? 1 : draw == 7 ? 2 : 3;
  }
  ModelStep step(int depth, bool safe) {
    ModelStep made;
    made.id = "s" + std::to_string(++names_);
    made.safe = safe;
    uint64_t kind = depth >= 3 ? 0 : pick(16);
    if (!safe && pick(3) == 0) {
      made.on_error = static_cast<ModelStep::OnError>(pick(5));
      made.retries = static_cast<int>(pick(3));
    }
    if (kind < 7) return made;
    if (kind == 7 || kind == 8) {
      made.kind = kind == 7 ? ModelStep::Wait : ModelStep::Decision;
      made.on_error = ModelStep::Propagate;
      made.retries = 0;
      return made;
    }
    constexpr ModelStep::Kind kKinds[] = {
        ModelStep::Sequence, ModelStep::Condition, ModelStep::ForEach, ModelStep::ForEach,
        ModelStep::While,    ModelStep::Until,     ModelStep::Parallel};
    made.kind = kKinds[kind - 9];
    made.count = static_cast<int>(pick(4));
    made.max_iter = pick(3) == 0 ? 2 : 0;
    if (made.kind == ModelStep::ForEach && pick(3) == 0) made.concurrency = 2;
    bool beside = made.concurrency > 1 || made.kind == ModelStep::Parallel;
    uint64_t lists = made.kind == ModelStep::Condition || made.kind == ModelStep::Parallel ? 2 : 1;
    for (uint64_t i = 0; i < lists; ++i) made.lists.push_back(list(depth + 1, safe || beside));
    return made;
  }

  static Value written(const std::vector<ModelStep>& steps, bool top) {
    Value::Array out;
    const ModelStep* before = nullptr;
    for (size_t i = 0; i < steps.size(); ++i) {
      const ModelStep& step = steps[i];
      Value::Object one;
      one.set("id", step.id);
      if (top && before != nullptr && !step.dormant)
        one.set("depends_on", Value::Array{Value(before->id)});
      if (!step.trigger.empty()) one.set("trigger", step.trigger);
      if (step.guard == 1 || step.guard == 2)
        one.set("condition", step.guard == 1 ? "true" : "false");
      if (step.guard == 3) one.set("condition", "steps." + before->id + ".n > 4");
      if (step.retries > 0)
        one.set("retry", Value::Object{{"max", static_cast<int64_t>(step.retries)}});
      constexpr const char* kErrors[] = {"", "ignore", "skip", "fail_workflow", "fallback_step"};
      if (step.on_error == ModelStep::Skip) {
        one.set("on_failure", "skip");
      } else if (step.on_error != ModelStep::Propagate) {
        Value::Object handler;
        handler.set("strategy", kErrors[step.on_error]);
        if (step.on_error == ModelStep::Fallback) handler.set("fallback_step", steps[i + 1].id);
        one.set("on_error", std::move(handler));
      }
      add_content(step, one);
      out.push_back(std::move(one));
      if (!step.dormant) before = &step;
    }
    return out;
  }
  static void add_content(const ModelStep& step, Value::Object& one) {
    constexpr const char* kTypes[] = {"action", "sequence", "condition", "loop",     "loop",
                                      "loop",   "parallel", "wait",      "reasoning"};
    one.set("type", kTypes[step.kind]);
    Value::Object config;
    switch (step.kind) {
      case ModelStep::Action:
        one.set("action", "x");
        return;
      case ModelStep::Sequence:
        config.set("steps", written(step.lists[0], false));
        break;
      case ModelStep::Condition:
        config.set("expression", std::to_string(step.count));
        config.set("branches", Value::Object{{"0", written(step.lists[0], false)},
                                             {"1", written(step.lists[1], false)}});
        break;
      case ModelStep::ForEach: {
        Value::Array items(static_cast<size_t>(step.count), Value(int64_t{5}));
        config.set("over", std::move(items));
        config.set("concurrency", static_cast<int64_t>(step.concurrency));
        break;
      }
      case ModelStep::While:
        config.set("mode", "while");
        config.set("condition", "iter.index < " + std::to_string(step.count));
        break;
      case ModelStep::Until:
        config.set("mode", "until");
        config.set("condition", "iter.index == " + std::to_string(step.count));
        break;
      case ModelStep::Parallel:
        config.set("branches",
                   Value::Array{written(step.lists[0], false), written(step.lists[1], false)});
        break;
      case ModelStep::Wait:
        config.set("duration", "3s");
        break;
      case ModelStep::Decision:
        config.set("prompt_context", "p");
        break;
    }
    bool loop = step.kind == ModelStep::ForEach || step.kind == ModelStep::While ||
                step.kind == ModelStep::Until;
    if (loop) config.set("body", written(step.lists[0], false));
    if (loop && step.max_iter > 0) config.set("max_iter", static_cast<int64_t>(step.max_iter));
    one.set("config", std::move(config));
  }

  uint64_t seed_;
  uint64_t picks_ = 0;
  int names_ = 0;
};

// The outcome of the n-th attempt of a step's action: the same for the kernel's test and for the
// model.
struct ModelOutcome {
  bool ok = true;
  bool retryable = true;
  int64_t n = 0;
};
inline ModelOutcome model_outcome(uint64_t seed, const std::string& path, int nth, bool safe) {
  uint64_t draw = mix64(hash64(path, seed) ^ static_cast<uint64_t>(nth));
  return {safe || draw % 4 != 0, draw / 4 % 4 != 0, static_cast<int64_t>(draw / 16 % 10)};
}

class ScriptModel {
 public:
  explicit ScriptModel(uint64_t seed) : seed_(seed) {}

  struct End {
    std::string state = "pending";
    std::string code;
    std::string output;
    bool handled = false;
  };

  // Runs it all; "completed", or "failed CODE at step".
  std::string run(const std::vector<ModelStep>& root) {
    ListEnd end = run_list(root, "");
    if (aborted_) return "failed " + error_.first + " at " + error_.second;
    return end.failed ? "failed " + end.code + " at " + end.at : "completed";
  }
  const std::map<std::string, End>& ends() const { return ends_; }

 private:
  struct ListEnd {
    bool failed = false;
    std::string code;
    std::string at;
    std::string last = "null";
  };

  // The result of a failed step's fallback, if it has one.
  const End& effective(const std::vector<ModelStep>& steps, const std::string& prefix, size_t i) {
    const End& own = ends_[prefix + steps[i].id];
    return own.state == "failed" && own.handled ? ends_[prefix + steps[i + 1].id] : own;
  }

  ListEnd run_list(const std::vector<ModelStep>& steps, const std::string& prefix) {
    for (const ModelStep& step : steps) ends_[prefix + step.id] = End();
    ListEnd list;
    size_t before = steps.size();
    for (size_t i = 0; i < steps.size(); ++i) {
      const ModelStep& step = steps[i];
      if (step.dormant) continue;
      std::string came = before == steps.size() ? "none" : effective(steps, prefix, before).state;
      const End* gave = before == steps.size() ? nullptr : &effective(steps, prefix, before);
      std::string path = prefix + step.id;
      if (aborted_) {
        ends_[path].state = "skipped(run_failed)";
      } else if (!may_run(step, came, list.failed)) {
        ends_[path].state = "skipped(upstream_failed)";
      } else {
        run_step(steps, i, prefix, gave, list);
      }
      before = i;
    }
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].dormant) continue;
      const End& end = effective(steps, prefix, i);
      if (end.state == "completed") list.last = end.output;
    }
    return list;
  }

  static bool may_run(const ModelStep& step, const std::string& came, bool list_failed) {
    if (step.trigger == "all_done") return true;
    if (step.trigger == "one_success") return came == "completed";
    if (list_failed || came == "failed") return false;
    return step.trigger != "all_success" || came == "completed";
  }

  void run_step(const std::vector<ModelStep>& steps, size_t i, const std::string& prefix,
                const End* gave, ListEnd& list) {
    const ModelStep& step = steps[i];
    std::string path = prefix + step.id;
    std::string code, at = path, output;
    bool ok = true;
    if (step.guard == 2) {
      ends_[path].state = "skipped(condition)";
      return;
    }
    if (step.guard == 3) {
      auto value = gave->state == "completed" ? Value::parse(gave->output) : Value();
      const Value* n = value.ok() && value->is_object() ? value->find("n") : nullptr;
      if (n != nullptr && n->as_int() <= 4) {
        ends_[path].state = "skipped(condition)";
        return;
      }
      ok = n != nullptr;
      if (!ok) code = "EXPRESSION_ERROR";
    }
    for (int attempt = 0; ok || attempt > 0; ++attempt) {
      bool retryable = true;
      forget_inside(path);
      ok = attempt_step(step, path, output, code, at, retryable);
      if (aborted_) {
        ends_[path].state = "skipped(run_failed)";
        if (step.kind == ModelStep::Action) ends_[path].state = "failed";
        return;
      }
      if (ok || !retryable || attempt >= step.retries) break;
    }
    End& end = ends_[path];
    if (ok) {
      end.state = "completed";
      end.output = output;
      return;
    }
    end.code = code;
    switch (step.on_error) {
      case ModelStep::Ignore:
        end.state = "completed";
        end.output = "null";
        return;
      case ModelStep::Skip:
        end.state = "skipped(on_failure)";
        return;
      case ModelStep::Fallback: {
        end.state = "failed";
        end.handled = true;
        run_step(steps, i + 1, prefix, nullptr, list);
        return;
      }
      case ModelStep::FailRun:
        end.state = "failed";
        aborted_ = true;
        error_ = {code, at};
        return;
      case ModelStep::Propagate:
        end.state = "failed";
        if (!list.failed) list = {true, code, at, list.last};
        return;
    }
  }

  void forget_inside(const std::string& path) {
    std::string below = path + ".";
    for (auto entry = ends_.lower_bound(below);
         entry != ends_.end() && entry->first.compare(0, below.size(), below) == 0;)
      entry = ends_.erase(entry);
  }

  bool attempt_step(const ModelStep& step, const std::string& path, std::string& output,
                    std::string& code, std::string& at, bool& retryable) {
    auto take = [&](const ListEnd& end) {
      if (end.failed) code = end.code, at = end.at;
      return !end.failed;
    };
    switch (step.kind) {
      case ModelStep::Action: {
        ModelOutcome outcome = model_outcome(seed_, path, ++asked_[path], step.safe);
        output = R"({"n":)" + std::to_string(outcome.n) + "}";
        code = "E";
        retryable = outcome.retryable;
        return outcome.ok;
      }
      case ModelStep::Sequence: {
        ListEnd end = run_list(step.lists[0], path + ".seq.");
        output = end.last;
        return take(end);
      }
      case ModelStep::Condition: {
        std::string key = std::to_string(step.count);
        output = R"({"branch":")" + key + R"(","skipped":true})";
        if (step.count > 1) return true;
        ListEnd end = run_list(step.lists[static_cast<size_t>(step.count)], path + "." + key + ".");
        output = R"({"branch":")" + key + R"(","output":)" + end.last + "}";
        return take(end);
      }
      case ModelStep::ForEach:
      case ModelStep::While:
      case ModelStep::Until: {
        int count = step.kind == ModelStep::Until ? step.count + 1 : step.count;
        if (step.max_iter > 0) count = std::min(count, step.max_iter);
        std::string results;
        for (int i = 0; i < count; ++i) {
          ListEnd end = run_list(step.lists[0], path + ".iter_" + std::to_string(i) + ".");
          if (!take(end) || aborted_) return false;
          results += (i == 0 ? "" : ",") + end.last;
        }
        output = R"({"iterations":)" + std::to_string(count) + R"(,"results":[)" + results + "]}";
        return true;
      }
      case ModelStep::Parallel: {
        ListEnd first = run_list(step.lists[0], path + ".branch_0.");
        ListEnd second = run_list(step.lists[1], path + ".branch_1.");
        output = R"({"mode":"all","branches":[)" + first.last + "," + second.last + "]}";
        return take(first.failed ? first : second);
      }
      case ModelStep::Wait:
        output = R"({"waited":3000})";
        return true;
      case ModelStep::Decision:
        output = "?";
        return true;
    }
    return true;
  }

  uint64_t seed_;
  std::map<std::string, End> ends_;
  std::map<std::string, int> asked_;
  bool aborted_ = false;
  std::pair<std::string, std::string> error_;
};

}  // namespace pawl
