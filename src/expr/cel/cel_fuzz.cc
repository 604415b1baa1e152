// Any bytes as an expression: compile and evaluate must end within the budget, without a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "expr/cel/checker.h"
#include "expr/cel/convert.h"
#include "expr/cel/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::expr;
  static const Value* const kDocument = new Value(*Value::parse(
      R"({"s":"text","n":1,"d":1.5,"l":[1,"a",null,{"k":[]}],"m":{"a":{"b":1},"c-d":2},"t":true})"));
  Variables variables;
  for (const Value::Member& member : kDocument->as_object())
    variables.json(member.key, member.value);
  CompileOptions options;
  options.mixed_arithmetic = size % 2 == 0;
  options.late_binding = size % 3 == 0;
  options.output_alias = size % 5 == 0;
  options.limits.source_bytes_max = 4096;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const Result<Ast> ast = parse(source, options.limits);
  if (ast.ok()) (void)check(source, *ast, Declarations::workflow()).ok();
  const auto program = Program::compile(source, options);
  if (!program.ok()) return 0;
  Budget budget(BudgetLimits{.steps_max = 20'000, .bytes_max = 1 << 20, .depth_max = 300});
  const Result<Val> value = (*program)->evaluate(variables, budget);
  if (value.ok()) (void)to_text(*value, budget).ok();
  return 0;
}
