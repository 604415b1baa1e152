// The syntax of jq, parsed and with its names resolved. Private to jq/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/datum.h"

namespace pawl::expr::jq {

inline constexpr size_t kSourceBytesMax = 64 << 10;
inline constexpr uint32_t kNestingMax = 150;  // of the parser
inline constexpr uint32_t kHeightMax = 400;   // of the tree: chains of operators lean to one side
inline constexpr uint32_t kNowhere = UINT32_MAX;

enum class Op : uint8_t {
  Identity,
  RecurseDefault,  // ..
  Literal,         // literal
  Index,           // args: of, key
  Slice,           // args: of, from or null, to or null
  Iterate,         // args: of
  String,          // args: parts; text is the format's name
  Format,          // text
  Array,           // args: content, or none
  Object,          // args: key, value, key, value…
  Pipe,
  Comma,
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  And,
  Or,
  Alternative,
  Assign,      // args: paths, value
  Update,      // |=
  Arithmetic,  // += and the like: inner says which
  If,          // args: condition, then, else
  Try,         // args: body, handler or null
  Reduce,      // patterns, args: source, start, update
  Foreach,     // patterns, args: source, start, update, extract or null
  Define,      // function, args: rest
  Call,        // text, args; resolved below
  Variable,    // text
  Bind,        // patterns, args: source, body
  Label,       // text, args: body
  Break,       // text
};

// The target that a call was resolved to.
enum class Target : uint8_t { None, Function, Closure, Value, Global, Native, Special };

enum class Special : uint8_t {
  Empty,
  Path,
  Range,
  Limit,
  First,
  Last,
  Until,
  While,
  Repeat,
  Recurse,
  IsEmpty,
  Any,
  All,
  AddOf,
  SortBy,
  GroupBy,
  UniqueBy,
  MinBy,
  MaxBy,
  Sub,
  Gsub,
  GetPath,
  Debug,
};

struct Node;
using NodePtr = std::unique_ptr<Node>;

struct Pattern {
  enum class Kind : uint8_t { Variable, Array, Object };
  Kind kind = Kind::Variable;
  std::string name;                // Variable; or of an object entry written $name
  std::vector<Pattern> elements;   // Array, or the values of Object (Variable "" if there is none)
  std::vector<NodePtr> keys;       // Object
  std::vector<std::string> bound;  // Object: "$name: …" also binds the member itself
};

struct Param {
  std::string name;
  bool value = false;  // $name
};

struct Function {
  std::string name;
  std::vector<Param> params;
  NodePtr body;
  bool single = false;  // at most one output, whatever its closures do
};

struct NativeEntry;

struct Node {
  Op op = Op::Identity;
  Op inner = Op::Identity;
  uint32_t offset = kNowhere;
  uint32_t height = 1;
  bool single = false;  // at most one output
  Datum literal;
  std::string text;
  std::vector<NodePtr> args;
  std::vector<Pattern> patterns;
  std::unique_ptr<Function> function;

  Target target = Target::None;
  uint32_t hops = 0;  // frames up to the one that binds the name
  const Function* global = nullptr;
  const NativeEntry* native = nullptr;
  Special special = Special::Empty;
  std::vector<std::string> variables;  // of all patterns, in the order in which they are bound
};

struct Token {
  enum class Kind : uint8_t { End, Number, String, Name, Field, Variable, Format, Operator };
  Kind kind = Kind::End;
  uint32_t offset = 0;
  std::string_view text;  // of a string: with its quotes
};

// `base` is where this text starts in the whole source: interpolations are read on their own.
Result<std::vector<Token>> tokenize(std::string_view text, uint32_t base);

// A string literal as its parts: text and filters take turns, text first and last.
struct StringPart {
  bool filter = false;
  std::string text;         // decoded
  std::string_view source;  // of a filter
  uint32_t offset = 0;
  std::string problem;  // if it is not empty, the string is refused
};
std::vector<StringPart> split_string(const Token& token);

Result<NodePtr> parse(std::string_view source);
Result<std::vector<std::unique_ptr<Function>>> parse_definitions(std::string_view source);
Error error_at(std::string_view source, uint32_t offset, std::string_view message);

// Resolves every name. An unbound $name is looked up when the program runs.
Status resolve(Node& root, std::string_view source);

}  // namespace pawl::expr::jq
