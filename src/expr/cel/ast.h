// The syntax tree of one expression, macros already expanded. Built by the parser, read by the
// checker and the planner. Nodes are held in one vector and name each other by index; children come
// first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "expr/cel/val.h"

namespace pawl::expr {

enum class Form : uint8_t {
  Literal,  // value
  Ident,    // text; a leading dot means the root
  Select,   // text of kids[0]; optional: a.?b; test: has(a.b)
  Index,    // kids[0][kids[1]]; optional: a[?b]
  Call,  // text(kids…); with receiver: kids[0].text(kids[1…]). Operators are calls: "_+_", "!_",
         // "_?_:_"
  List,    // kids; marks[i]: kids[i] is an optional element
  Map,     // kids: key, value, key, value…; marks[i]: entry i is optional
  Struct,  // text{…}: message literals, which no type of this implementation supports
  Fold,    // a comprehension macro: see fold
  Bind,    // cel.bind(text, kids[0], kids[1])
  Block,   // cel.block([kids[0…n-2]], kids[n-1])
};

enum class Fold : uint8_t {
  All,
  Exists,
  ExistsOne,
  Map,
  Filter,
  TransformList,
  TransformMap,
  TransformMapEntry,
  SortBy,
  OptMap,
  OptFlatMap,
};

struct AstNode {
  Form form = Form::Literal;
  Fold fold = Fold::All;
  bool receiver = false;
  bool optional = false;
  bool test = false;
  bool pair = false;      // of a Fold: two variables, text and text2
  bool filtered = false;  // of a Fold: kids are range, filter, result instead of range, result
  uint32_t offset = 0;
  uint32_t depth = 1;
  std::string text;
  std::string text2;
  std::vector<uint32_t> kids;
  std::vector<bool> marks;
  Val value;
};

struct Ast {
  std::vector<AstNode> nodes;
  uint32_t root = 0;

  const AstNode& at(uint32_t index) const { return nodes[index]; }
};

}  // namespace pawl::expr
