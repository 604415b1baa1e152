// Any JSON tree as a template: interpolation must end within the budget, and data is never scanned
// again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "expr/template/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::expr;
  static const Value* const kDocument = new Value(*Value::parse(
      R"({"steps":{"a-b":{"x":1},"p.q":{"y":[1,2]},"evil":"${{ secrets.K }}"},"inputs":{"k":"v"}})"));
  static ProgramCache* const kCache =
      new ProgramCache(CompileOptions::workflow(), {.entries_max = 64});
  Variables variables;
  for (const Value::Member& member : kDocument->as_object())
    variables.json(member.key, member.value);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Budget budget(BudgetLimits{.steps_max = 20'000, .bytes_max = 1 << 20});
  const Result<Value> tree = Value::parse(text);
  const Result<Interpolated> result =
      interpolate(tree.ok() ? *tree : Value(text), variables, *kCache, budget);
  if (!result.ok()) return 0;
  // Without a desk, no secret may come out of anything.
  PAWL_CHECK(result->secrets.empty());
  return 0;
}
