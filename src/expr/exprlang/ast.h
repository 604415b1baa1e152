// The syntax of the expression language. Private to exprlang/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/datum.h"
#include "expr/regex.h"

namespace pawl::expr::lang {

inline constexpr size_t kSourceBytesMax = 64 << 10;
inline constexpr uint32_t kNestingMax = 200;  // of the parser
inline constexpr uint32_t kHeightMax = 400;   // of the tree: chains of operators lean to the left

enum class Op : uint8_t {
  Literal,      // constant
  Variable,     // text
  Environment,  // $env
  Local,        // slot
  Element,      // # of the innermost closure
  Index,        // #index
  Accumulator,  // #acc
  Array,        // args
  Map,          // args: key, value, key, value…
  Member,       // args: of, key
  Slice,        // args: of, from or null, to or null
  Chain,        // args: one; where ?. stops
  Not,
  Negate,
  And,
  Or,
  Coalesce,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  Matches,
  Contains,
  StartsWith,
  EndsWith,
  Range,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  Power,
  Conditional,  // args: condition, then, else
  Let,          // slot, args: value, body
  Call,         // function, args
  Fold,         // fold, args: list, closure, start
};

struct Function;

enum class FoldKind : uint8_t {
  All,
  Any,
  None,
  One,
  Filter,
  Map,
  Count,
  Find,
  FindIndex,
  FindLast,
  FindLastIndex,
  GroupBy,
  CountBy,
  SortBy,
  Sum,
  Reduce,
};

struct Node {
  Op op = Op::Literal;
  uint32_t offset = 0;
  uint32_t height = 1;
  Value constant;
  std::string text;
  uint32_t slot = 0;
  bool optional = false;  // ?. or ?[
  const Function* function = nullptr;
  FoldKind fold = FoldKind::All;
  Regex regex;  // of Matches with a literal pattern
  std::vector<std::unique_ptr<Node>> args;
};

using NodePtr = std::unique_ptr<Node>;

struct Token {
  enum class Kind : uint8_t { End, Number, String, Name, Operator, Bracket };
  Kind kind = Kind::End;
  uint32_t offset = 0;
  std::string text;
  Value number;
};

struct Parsed {
  NodePtr root;
  uint32_t slots = 0;
};

Result<std::vector<Token>> tokenize(std::string_view source);
Result<Parsed> parse(std::string_view source, Budget& budget);
// "line 1, column 7: message".
Error error_at(std::string_view source, uint32_t offset, std::string_view message);

// A function of values: checks its arguments itself; on failure it returns null and sets `error`.
struct CallState {
  Budget& budget;
  std::string error;
};
// Null; the first refusal's message is kept.
Datum refuse(CallState& state, std::string message);
using FunctionBody = Datum (*)(CallState& state, const std::vector<Datum>& args);
struct Function {
  std::string_view name;
  FunctionBody body;
  uint8_t args_min;
  uint8_t args_max;
};
const Function* find_function(std::string_view name);
std::span<const Function> functions();

bool equal(const Datum& a, const Datum& b, Budget& budget);
// Shared by operators and functions; null and an error in `state` if the kinds do not fit.
Datum arithmetic(Op op, const Datum& a, const Datum& b, CallState& state);
Datum slice(const Datum& value, const Datum* from, const Datum* to, CallState& state);
bool contains(const Datum& container, const Datum& item, CallState& state);

}  // namespace pawl::expr::lang
