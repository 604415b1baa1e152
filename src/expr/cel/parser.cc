#include "expr/cel/parser.h"

#include <algorithm>

#include "expr/cel/lexer.h"
#include "expr/cel/macros.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kReserved[] = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

struct Operator {
  Tok token;
  int level;
  const char* function;
};
constexpr Operator kBinary[] = {
    {Tok::Equal, 0, "_==_"},     {Tok::NotEqual, 0, "_!=_"}, {Tok::Less, 0, "_<_"},
    {Tok::LessEqual, 0, "_<=_"}, {Tok::Greater, 0, "_>_"},   {Tok::GreaterEqual, 0, "_>=_"},
    {Tok::In, 0, "@in"},         {Tok::Plus, 1, "_+_"},      {Tok::Minus, 1, "_-_"},
    {Tok::Star, 2, "_*_"},       {Tok::Slash, 2, "_/_"},     {Tok::Percent, 2, "_%_"},
};
constexpr int kUnaryLevel = 3;

class Parser {
 public:
  Parser(std::string_view source, std::vector<Token> tokens, const ParseLimits& limits)
      : source_(source), tokens_(std::move(tokens)), limits_(limits) {}

  Result<Ast> run() {
    PAWL_TRY(ast_.root, expression());
    if (now().kind != Tok::End) return wrong("an operator or the end of the expression");
    return std::move(ast_);
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  bool take(Tok kind) {
    if (now().kind != kind) return false;
    ++at_;
    return true;
  }

  Error wrong(std::string_view expected) const {
    return error_at(ErrorCode::Malformed, source_, now().offset,
                    "expected " + std::string(expected) + ", found " + describe(now()));
  }

  Result<uint32_t> add(AstNode node) {
    for (const uint32_t kid : node.kids) node.depth = std::max(node.depth, ast_.at(kid).depth + 1);
    if (node.depth > limits_.depth_max) {
      return error_at(
          ErrorCode::TooLarge, source_, node.offset,
          "the expression nests deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    if (ast_.nodes.size() >= limits_.nodes_max) {
      return error_at(
          ErrorCode::TooLarge, source_, node.offset,
          "the expression has more than " + std::to_string(limits_.nodes_max) + " parts");
    }
    ast_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(ast_.nodes.size() - 1);
  }

  static AstNode make(Form form, uint32_t offset, std::string_view text = {},
                      std::vector<uint32_t> kids = {}) {
    AstNode node;
    node.form = form;
    node.offset = offset;
    node.text = text;
    node.kids = std::move(kids);
    return node;
  }

  // Guards the descent itself; the depth of the tree is guarded by add().
  class Descent {
   public:
    explicit Descent(uint32_t& depth) : depth_(depth) { ++depth_; }
    ~Descent() { --depth_; }
    Descent& operator=(Descent&&) = delete;

   private:
    uint32_t& depth_;
  };

  Result<uint32_t> expression() {
    const Descent descent(descent_);
    if (descent_ > limits_.depth_max) {
      return error_at(
          ErrorCode::TooLarge, source_, now().offset,
          "the expression nests deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    PAWL_TRY(uint32_t condition, logical(Tok::OrOr));
    const uint32_t offset = now().offset;
    if (!take(Tok::Question)) return condition;
    PAWL_TRY(uint32_t yes, logical(Tok::OrOr));
    if (!take(Tok::Colon)) return wrong("':' of the conditional");
    PAWL_TRY(uint32_t no, expression());
    return add(make(Form::Call, offset, "_?_:_", {condition, yes, no}));
  }

  // A chain of && or || becomes one call with many arguments: both are associative, errors
  // included.
  Result<uint32_t> logical(Tok joint) {
    const bool is_or = joint == Tok::OrOr;
    std::vector<uint32_t> kids;
    uint32_t offset = 0;
    do {
      if (kids.size() == 1) offset = tokens_[at_ - 1].offset;
      PAWL_TRY(uint32_t kid, is_or ? logical(Tok::AndAnd) : binary(0));
      kids.push_back(kid);
    } while (take(joint));
    if (kids.size() == 1) return kids[0];
    return add(make(Form::Call, offset, is_or ? "_||_" : "_&&_", std::move(kids)));
  }

  Result<uint32_t> binary(int level) {
    if (level == kUnaryLevel) return unary();
    PAWL_TRY(uint32_t left, binary(level + 1));
    for (;;) {
      const Operator* found = nullptr;
      for (const Operator& op : kBinary) {
        if (op.token == now().kind && op.level == level) found = &op;
      }
      if (found == nullptr) return left;
      const uint32_t offset = now().offset;
      ++at_;
      PAWL_TRY(uint32_t right, binary(level + 1));
      PAWL_TRY(left, add(make(Form::Call, offset, found->function, {left, right})));
    }
  }

  Result<uint32_t> unary() {
    const uint32_t offset = now().offset;
    const Tok sign = now().kind;
    if (sign != Tok::Not && sign != Tok::Minus) return member();
    size_t count = 0;
    while (take(sign)) ++count;
    if (sign == Tok::Minus && now().kind == Tok::Literal && now().literal.is_number() &&
        !now().literal.is(Kind::Uint)) {
      Val& literal = tokens_[at_].literal;
      literal =
          literal.is(Kind::Int)
              ? Val::integer(static_cast<int64_t>(0 - static_cast<uint64_t>(literal.as_int())))
              : Val::real(-literal.as_double());
      --count;
      joined_ = at_;
    }
    PAWL_TRY(uint32_t operand, member());
    for (size_t i = 0; i < count; ++i) {
      PAWL_TRY(operand, add(make(Form::Call, offset, sign == Tok::Not ? "!_" : "-_", {operand})));
    }
    return operand;
  }

  Result<uint32_t> member() {
    PAWL_TRY(uint32_t operand, primary());
    for (;;) {
      const uint32_t offset = now().offset;
      if (take(Tok::Dot)) {
        PAWL_TRY(operand, selection(operand, offset));
      } else if (take(Tok::LBracket)) {
        AstNode node = make(Form::Index, offset);
        node.optional = take(Tok::Question);
        PAWL_TRY(uint32_t index, expression());
        if (!take(Tok::RBracket)) return wrong("']'");
        node.kids = {operand, index};
        PAWL_TRY(operand, add(std::move(node)));
      } else if (now().kind == Tok::LBrace && !qualified_name(operand).empty()) {
        PAWL_TRY(operand, message(qualified_name(operand), offset));
      } else {
        return operand;
      }
    }
  }

  Result<uint32_t> selection(uint32_t operand, uint32_t offset) {
    AstNode node = make(Form::Select, offset);
    node.optional = take(Tok::Question);
    if (now().kind != Tok::Ident && now().kind != Tok::Quoted) return wrong("a field name");
    const bool in_quotes = now().kind == Tok::Quoted;
    node.text = now().text;
    ++at_;
    node.kids = {operand};
    if (in_quotes || node.optional || !take(Tok::LParen)) return add(std::move(node));
    node.form = Form::Call;
    node.receiver = true;
    return call(std::move(node));
  }

  // "a.b.c" if the node is a plain dotted name, else empty.
  std::string qualified_name(uint32_t index) const {
    const AstNode& node = ast_.at(index);
    if (node.form == Form::Ident) return node.text;
    if (node.form != Form::Select || node.optional || node.test) return {};
    std::string prefix = qualified_name(node.kids[0]);
    return prefix.empty() ? prefix : prefix + "." + node.text;
  }

  // Reads the arguments behind an opened parenthesis.
  Result<uint32_t> call(AstNode node) {
    if (!take(Tok::RParen)) {
      do {
        PAWL_TRY(uint32_t argument, expression());
        node.kids.push_back(argument);
      } while (take(Tok::Comma));
      if (!take(Tok::RParen)) return wrong("',' or ')'");
    }
    PAWL_TRY_DO(expand_macro(source_, ast_, node));
    return add(std::move(node));
  }

  Result<uint32_t> primary() {
    const Token& token = now();
    const uint32_t offset = token.offset;
    switch (token.kind) {
      case Tok::Literal: {
        ++at_;
        AstNode node = make(Form::Literal, offset);
        node.value = token.literal;
        if (token.literal.is(Kind::Int) && token.literal.as_int() == INT64_MIN &&
            joined_ != at_ - 1) {
          return wrong("an integer within int64");
        }
        return add(std::move(node));
      }
      case Tok::LParen: {
        ++at_;
        PAWL_TRY(uint32_t inner, expression());
        if (!take(Tok::RParen)) return wrong("')'");
        return inner;
      }
      case Tok::LBracket:
        ++at_;
        return list(offset);
      case Tok::LBrace:
        ++at_;
        return map(offset);
      case Tok::Dot:
      case Tok::Ident:
        return name();
      case Tok::End:
      case Tok::Quoted:
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::RBrace:
      case Tok::Comma:
      case Tok::Colon:
      case Tok::Question:
      case Tok::Plus:
      case Tok::Minus:
      case Tok::Star:
      case Tok::Slash:
      case Tok::Percent:
      case Tok::Not:
      case Tok::AndAnd:
      case Tok::OrOr:
      case Tok::Equal:
      case Tok::NotEqual:
      case Tok::Less:
      case Tok::LessEqual:
      case Tok::Greater:
      case Tok::GreaterEqual:
      case Tok::In:
        break;
    }
    return wrong("a value");
  }

  Result<uint32_t> name() {
    const uint32_t offset = now().offset;
    const bool rooted = take(Tok::Dot);
    if (now().kind != Tok::Ident) return wrong("a name");
    const std::string_view text = now().text;
    if (std::find(std::begin(kReserved), std::end(kReserved), text) != std::end(kReserved)) {
      return error_at(ErrorCode::Malformed, source_, now().offset,
                      "expected a value, found the reserved word " + describe(now()));
    }
    ++at_;
    AstNode node = make(Form::Ident, offset, (rooted ? "." : "") + std::string(text));
    if (!take(Tok::LParen)) return add(std::move(node));
    node.form = Form::Call;
    return call(std::move(node));
  }

  Result<uint32_t> list(uint32_t offset) {
    AstNode node = make(Form::List, offset);
    bool marked = false;
    while (now().kind != Tok::RBracket) {
      const bool optional = take(Tok::Question);
      marked = marked || optional;
      PAWL_TRY(uint32_t element, expression());
      node.kids.push_back(element);
      node.marks.push_back(optional);
      if (!take(Tok::Comma)) break;
    }
    if (!take(Tok::RBracket)) return wrong("',' or ']'");
    if (!marked) node.marks.clear();
    return add(std::move(node));
  }

  Result<uint32_t> map(uint32_t offset) {
    AstNode node = make(Form::Map, offset);
    bool marked = false;
    while (now().kind != Tok::RBrace) {
      const bool optional = take(Tok::Question);
      marked = marked || optional;
      PAWL_TRY(uint32_t key, expression());
      if (!take(Tok::Colon)) return wrong("':' between key and value");
      PAWL_TRY(uint32_t value, expression());
      node.kids.push_back(key);
      node.kids.push_back(value);
      node.marks.push_back(optional);
      if (!take(Tok::Comma)) break;
    }
    if (!take(Tok::RBrace)) return wrong("',' or '}'");
    if (!marked) node.marks.clear();
    return add(std::move(node));
  }

  Result<uint32_t> message(const std::string& type, uint32_t offset) {
    ++at_;
    AstNode node = make(Form::Struct, offset, type);
    while (now().kind != Tok::RBrace) {
      take(Tok::Question);
      if (now().kind != Tok::Ident && now().kind != Tok::Quoted) return wrong("a field name");
      ++at_;
      if (!take(Tok::Colon)) return wrong("':' between field and value");
      PAWL_TRY(uint32_t value, expression());
      node.kids.push_back(value);
      if (!take(Tok::Comma)) break;
    }
    if (!take(Tok::RBrace)) return wrong("',' or '}'");
    return add(std::move(node));
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  ParseLimits limits_;
  size_t at_ = 0;
  uint32_t descent_ = 0;
  size_t joined_ = SIZE_MAX;  // the literal that took a minus sign into itself
  Ast ast_;
};

}  // namespace

Result<Ast> parse(std::string_view source, const ParseLimits& limits) {
  if (source.size() > limits.source_bytes_max) {
    return Error{ErrorCode::TooLarge, "the expression is longer than " +
                                          std::to_string(limits.source_bytes_max) + " bytes"};
  }
  PAWL_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(source, std::move(tokens), limits).run();
}

}  // namespace pawl::expr
