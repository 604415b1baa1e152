// SchemaCache: compiled schemas of inputs, kept while there is room. The contents change no answer.
//
// Thread: the engine thread of the partition, only.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace pawl {

namespace expr {
class JsonSchema;
}

class SchemaCache {
 public:
  // The error says what is wrong with the text.
  Result<std::shared_ptr<const expr::JsonSchema>> get(const std::string& text);

 private:
  static constexpr size_t kEntriesMax = 256;
  static constexpr size_t kBytesMax = 2u << 20;  // of their texts; compiled they are larger

  std::map<std::string, std::shared_ptr<const expr::JsonSchema>> by_text_;
  size_t bytes_ = 0;
};

}  // namespace pawl
