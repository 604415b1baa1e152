// RandomDefinition: draws small definitions with every kind of step from the seed, as text that the
// reader of the language must accept.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "sim/chance.h"

namespace pawl::sim {

class RandomDefinition {
 public:
  // `children`: names of definitions that a step may run.
  RandomDefinition(SimRandom& random, std::vector<std::string> queues,
                   std::vector<std::string> children)
      : random_(random), queues_(std::move(queues)), children_(std::move(children)) {}

  std::string text();
  // The same definition with one more step at the top level, in canonical names.
  static std::string extended(SimRandom& random, const std::string& canonical);

 private:
  Value list(int depth, bool top);
  Value::Object step(int depth, const std::string& id);
  void draw_action(Value::Object& step);
  Value::Object job();
  Value::Object composition(const std::string& type, int depth);
  void draw_leaf(Value::Object& step, uint64_t kind);
  void draw_composite(Value::Object& step, uint64_t kind, int depth);
  void draw_loop(Value::Object& config, int depth);
  void draw_wait(Value::Object& config);
  void draw_manners(Value::Object& step);
  void draw_guard(Value::Object& step, const std::vector<std::string>& before);
  std::string duration(int64_t most_ms);
  std::string fresh_id() { return "s" + std::to_string(++names_); }

  SimRandom& random_;
  std::vector<std::string> queues_;
  std::vector<std::string> children_;
  int names_ = 0;
};

}  // namespace pawl::sim
