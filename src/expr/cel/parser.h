// Parser: CEL text to a syntax tree. One recursive descent, bounded in size and depth.
#pragma once

#include <string_view>

#include "base/result.h"
#include "expr/cel/ast.h"

namespace pawl::expr {

struct ParseLimits {
  uint32_t source_bytes_max = 64u << 10;
  uint32_t nodes_max = 20'000;
  uint32_t depth_max = 250;
};

// Malformed if the text is not CEL, TooLarge past a limit; both say where.
Result<Ast> parse(std::string_view source, const ParseLimits& limits = {});

}  // namespace pawl::expr
