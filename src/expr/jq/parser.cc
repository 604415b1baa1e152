#include "expr/jq/parser.h"

namespace pawl::expr::jq {
namespace {

struct Binary {
  std::string_view text;
  Op op;
  Op inner;
  int level;
};

constexpr Binary kBinary[] = {
    {"//", Op::Alternative, Op::Identity, kAlternative},
    {"=", Op::Assign, Op::Identity, kAssign},
    {"|=", Op::Update, Op::Identity, kAssign},
    {"+=", Op::Arithmetic, Op::Add, kAssign},
    {"-=", Op::Arithmetic, Op::Subtract, kAssign},
    {"*=", Op::Arithmetic, Op::Multiply, kAssign},
    {"/=", Op::Arithmetic, Op::Divide, kAssign},
    {"%=", Op::Arithmetic, Op::Modulo, kAssign},
    {"//=", Op::Arithmetic, Op::Alternative, kAssign},
    {"or", Op::Or, Op::Identity, kOr},
    {"and", Op::And, Op::Identity, kAnd},
    {"==", Op::Equal, Op::Identity, kCompare},
    {"!=", Op::NotEqual, Op::Identity, kCompare},
    {"<", Op::Less, Op::Identity, kCompare},
    {"<=", Op::LessEqual, Op::Identity, kCompare},
    {">", Op::Greater, Op::Identity, kCompare},
    {">=", Op::GreaterEqual, Op::Identity, kCompare},
    {"+", Op::Add, Op::Identity, kAdd},
    {"-", Op::Subtract, Op::Identity, kAdd},
    {"*", Op::Multiply, Op::Identity, kTimes},
    {"/", Op::Divide, Op::Identity, kTimes},
    {"%", Op::Modulo, Op::Identity, kTimes},
};

}  // namespace

uint32_t key_height(const Pattern& pattern) {
  uint32_t height = 1;
  for (const NodePtr& key : pattern.keys) height = std::max(height, key->height);
  for (const Pattern& element : pattern.elements) height = std::max(height, key_height(element));
  return height;
}

NodePtr Parser::binary(int level) {
  return nested([&]() -> NodePtr {
    NodePtr left = unary();
    while (ok()) {
      const Binary* op = nullptr;
      for (const Binary& candidate : kBinary) {
        if (is(candidate.text)) op = &candidate;
      }
      if (op == nullptr || op->level < level) break;
      const uint32_t offset = here().offset;
      next();
      // "//" leans right, comparisons and assignments do not chain, the rest leans left.
      const int floor = op->level == kAlternative ? kAlternative : op->level + 1;
      left = make(op->op, offset, std::move(left), binary(floor));
      left->inner = op->inner;
      if (op->level == kCompare || op->level == kAssign) {
        for (const Binary& again : kBinary) {
          if (again.level == op->level && is(again.text))
            fail("'" + std::string(again.text) + "' cannot follow another; use parentheses");
        }
      }
    }
    return left;
  });
}

Result<NodePtr> parse(std::string_view source) {
  if (source.size() > kSourceBytesMax)
    return Error{ErrorCode::TooLarge, "the jq expression is longer than 65536 bytes"};
  Parser parser;
  NodePtr root = parser.whole(source, 0);
  if (!parser.ok()) return error_at(source, parser.offset(), parser.problem());
  return root;
}

Result<std::vector<std::unique_ptr<Function>>> parse_definitions(std::string_view source) {
  Parser parser;
  auto functions = parser.definitions(source);
  if (!parser.ok()) return error_at(source, parser.offset(), parser.problem());
  return functions;
}

}  // namespace pawl::expr::jq
