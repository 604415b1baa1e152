#include "base/check.h"
#include "plan/definition.h"
#include "schema_text.h"

namespace pawl::plan {

const Value& definition_schema() {
  static const Value schema = [] {
    Result<Value> parsed = Value::parse(kDefinitionSchemaText);
    PAWL_CHECK(parsed.ok());
    return std::move(*parsed);
  }();
  return schema;
}

}  // namespace pawl::plan
