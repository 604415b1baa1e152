// Any bytes as an expression: compile and evaluate must end within the budget, without a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "expr/exprlang/exprlang.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::expr;
  static const Value* const kScope = new Value(*Value::parse(
      R"({"s":"text","n":1,"d":1.5,"l":[1,"a",null,{"k":[]}],"m":{"a":{"b":1},"c-d":2},"t":true})"));
  const auto program = ExprLang::compile({reinterpret_cast<const char*>(data), size});
  if (!program.ok()) return 0;
  Budget budget(BudgetLimits{.steps_max = 20'000, .bytes_max = 1 << 20, .depth_max = 300});
  (void)(*program)->evaluate(*kScope, budget).ok();
  return 0;
}
