#include "kernel/scripts/schema_cache.h"

#include "expr/schema/json_schema.h"

namespace pawl {

Result<std::shared_ptr<const expr::JsonSchema>> SchemaCache::get(const std::string& text) {
  if (auto at = by_text_.find(text); at != by_text_.end()) return at->second;
  PAWL_TRY(Value schema, Value::parse(text));
  PAWL_TRY(auto compiled, expr::JsonSchema::compile(schema));
  if (by_text_.size() >= kEntriesMax || bytes_ + text.size() > kBytesMax) {
    by_text_.clear();
    bytes_ = 0;
  }
  bytes_ += text.size();
  return by_text_.emplace(text, std::move(compiled)).first->second;
}

}  // namespace pawl
