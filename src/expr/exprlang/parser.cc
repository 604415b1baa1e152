#include <algorithm>
#include <array>
#include <optional>

#include "base/quote.h"
#include "expr/exprlang/ast.h"
#include "expr/text.h"

namespace pawl::expr::lang {
namespace {

struct Binary {
  std::string_view text;
  Op op;
  int precedence;
  bool right = false;
};

// Names count as operators only where an operator may stand.
constexpr Binary kBinary[] = {
    {"or", Op::Or, 10},
    {"||", Op::Or, 10},
    {"and", Op::And, 15},
    {"&&", Op::And, 15},
    {"==", Op::Equal, 20},
    {"!=", Op::NotEqual, 20},
    {"<", Op::Less, 20},
    {">", Op::Greater, 20},
    {"<=", Op::LessEqual, 20},
    {">=", Op::GreaterEqual, 20},
    {"in", Op::In, 20},
    {"matches", Op::Matches, 20},
    {"contains", Op::Contains, 20},
    {"startsWith", Op::StartsWith, 20},
    {"endsWith", Op::EndsWith, 20},
    {"..", Op::Range, 25},
    {"+", Op::Add, 30},
    {"-", Op::Subtract, 30},
    {"*", Op::Multiply, 60},
    {"/", Op::Divide, 60},
    {"%", Op::Modulo, 60},
    {"**", Op::Power, 100, true},
    {"^", Op::Power, 100, true},
    {"??", Op::Coalesce, 500},
};

struct Fold {
  std::string_view name;
  FoldKind kind;
  bool closure_optional;
};

constexpr Fold kFolds[] = {
    {"all", FoldKind::All, false},
    {"any", FoldKind::Any, false},
    {"none", FoldKind::None, false},
    {"one", FoldKind::One, false},
    {"filter", FoldKind::Filter, false},
    {"map", FoldKind::Map, false},
    {"count", FoldKind::Count, true},
    {"find", FoldKind::Find, false},
    {"findIndex", FoldKind::FindIndex, false},
    {"findLast", FoldKind::FindLast, false},
    {"findLastIndex", FoldKind::FindLastIndex, false},
    {"groupBy", FoldKind::GroupBy, false},
    {"countBy", FoldKind::CountBy, false},
    {"sortBy", FoldKind::SortBy, false},
    {"sum", FoldKind::Sum, true},
    {"reduce", FoldKind::Reduce, false},
};

class Parser {
 public:
  Parser(std::string_view source, std::vector<Token> tokens, Budget& budget)
      : source_(source), tokens_(std::move(tokens)), budget_(budget) {}

  Result<Parsed> run() {
    NodePtr root = expression(0);
    if (problem_.empty() && here().kind != Token::Kind::End)
      fail(here(), "unexpected " + in_quotes(here().text));
    if (!problem_.empty()) return error_at(source_, problem_offset_, problem_);
    return Parsed{std::move(root), slots_};
  }

 private:
  struct Local {
    std::string name;
    uint32_t slot;
  };

  const Token& here() const { return tokens_[at_]; }
  const Token& after() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void next() {
    if (here().kind != Token::Kind::End) ++at_;
  }
  bool is(std::string_view text) const {
    return here().kind != Token::Kind::String && here().kind != Token::Kind::End &&
           here().text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail(here(), "expected '" + std::string(text) + "', found " +
                       (here().kind == Token::Kind::End ? "the end" : in_quotes(here().text)));
  }
  void fail(const Token& token, std::string message) {
    if (!problem_.empty()) return;
    problem_ = std::move(message);
    problem_offset_ = token.offset;
    at_ = tokens_.size() - 1;  // so every loop stops at the last token
  }

  NodePtr make(Op op, const Token& token) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->offset = token.offset;
    return node;
  }
  template <typename... Args>
  NodePtr make(Op op, const Token& token, Args... args) {
    NodePtr node = make(op, token);
    (node->args.push_back(std::move(args)), ...);
    return measured(std::move(node));
  }
  // Trees are walked and freed by recursion, so their height is bounded for every kind of node.
  NodePtr measured(NodePtr node) {
    for (const NodePtr& arg : node->args) {
      if (arg != nullptr) node->height = std::max(node->height, arg->height + 1);
    }
    if (node->height > kHeightMax) fail(here(), "the expression nests too deep");
    return node;
  }

  const Binary* binary() const {
    if (here().kind != Token::Kind::Operator && here().kind != Token::Kind::Name) return nullptr;
    for (const Binary& candidate : kBinary) {
      if (candidate.text == here().text) return &candidate;
    }
    return nullptr;
  }

  NodePtr expression(int precedence) {
    if (++depth_ > kNestingMax) fail(here(), "the expression nests too deep");
    NodePtr node = problem_.empty() ? expression_inner(precedence) : make(Op::Literal, here());
    --depth_;
    return node;
  }

  NodePtr expression_inner(int precedence) {
    if (precedence == 0 && is("let") && after().kind == Token::Kind::Name) return let();
    NodePtr left = primary();
    while (problem_.empty()) {
      const Token token = here();
      if (precedence == 0 && is("|")) {
        next();
        left = pipe(std::move(left));
        continue;
      }
      bool negated = false;
      if (is("not") && precedence <= 20) {
        next();
        negated = true;
      }
      const Binary* const op = binary();
      if (op == nullptr || op->precedence < precedence ||
          (negated && (op->op != Op::In && op->op != Op::Matches && op->op != Op::Contains &&
                       op->op != Op::StartsWith && op->op != Op::EndsWith))) {
        if (negated) fail(token, "unexpected 'not'");
        break;
      }
      next();
      NodePtr right = expression(op->right ? op->precedence : op->precedence + 1);
      left = make(op->op, token, std::move(left), std::move(right));
      if (op->op == Op::Matches) prepare_regex(*left);
      if (negated) left = make(Op::Not, token, std::move(left));
    }
    return precedence == 0 ? conditional(std::move(left)) : std::move(left);
  }

  void prepare_regex(Node& node) {
    if (node.args[1]->op != Op::Literal || !node.args[1]->constant.is_string()) return;
    std::string error;
    node.regex = compile_regex(node.args[1]->constant.as_string(), budget_, error);
    if (node.regex != nullptr || !problem_.empty()) return;
    problem_ = error;
    problem_offset_ = node.args[1]->offset;
    at_ = tokens_.size() - 1;
  }

  NodePtr conditional(NodePtr condition) {
    const Token token = here();
    if (accept("?:")) {
      // The condition itself is the answer if it holds: kept in a slot, evaluated once.
      const uint32_t slot = slots_++;
      NodePtr first = make(Op::Local, token);
      NodePtr again = make(Op::Local, token);
      first->slot = again->slot = slot;
      NodePtr choice =
          make(Op::Conditional, token, std::move(first), std::move(again), expression(0));
      NodePtr bound = make(Op::Let, token, std::move(condition), std::move(choice));
      bound->slot = slot;
      return bound;
    }
    if (!accept("?")) return condition;
    NodePtr yes = expression(0);
    expect(":");
    NodePtr no = expression(0);
    return make(Op::Conditional, token, std::move(condition), std::move(yes), std::move(no));
  }

  NodePtr let() {
    const Token token = here();
    next();
    const std::string name = here().text;
    next();
    expect("=");
    NodePtr value = expression(0);
    expect(";");
    const uint32_t slot = slots_++;
    locals_.push_back({name, slot});
    NodePtr body = expression(0);
    locals_.pop_back();
    NodePtr node = make(Op::Let, token, std::move(value), std::move(body));
    node->slot = slot;
    return node;
  }

  NodePtr pipe(NodePtr input) {
    const Token name = here();
    if (name.kind != Token::Kind::Name) fail(name, "expected a function after '|'");
    next();
    std::vector<NodePtr> args;
    args.push_back(std::move(input));
    NodePtr node = call(name, std::move(args));
    return postfix(std::move(node));
  }

  NodePtr primary() {
    const Token token = here();
    for (const auto& [text, op, precedence] :
         {std::tuple{"not", Op::Not, 50}, std::tuple{"!", Op::Not, 50},
          std::tuple{"-", Op::Negate, 90}, std::tuple{"+", Op::Add, 90}}) {
      if (!accept(text)) continue;
      NodePtr operand = expression(precedence);
      return op == Op::Add ? std::move(operand) : make(op, token, std::move(operand));
    }
    if (accept("(")) {
      NodePtr inner = expression(0);
      expect(")");
      return postfix(std::move(inner));
    }
    if (closures_ > 0 && (is("#") || is("."))) return postfix(pointer());
    return postfix(value());
  }

  // "#", "#index", "#acc", or ".field" for "#.field".
  NodePtr pointer() {
    const Token token = here();
    if (is(".")) return make(Op::Element, token);
    next();
    const bool adjacent = here().kind == Token::Kind::Name && here().offset == token.offset + 1;
    if (adjacent && accept("index")) return make(Op::Index, token);
    if (adjacent && accept("acc")) return make(Op::Accumulator, token);
    return make(Op::Element, token);
  }

  NodePtr literal(const Token& token, Value constant) {
    NodePtr node = make(Op::Literal, token);
    node->constant = std::move(constant);
    return node;
  }

  NodePtr value() {
    const Token token = here();
    next();
    switch (token.kind) {
      case Token::Kind::Number:
        return literal(token, token.number);
      case Token::Kind::String:
        if (!is_utf8(token.text)) fail(token, "the string is no UTF-8");
        return literal(token, Value(token.text));
      case Token::Kind::Name:
        return name(token);
      case Token::Kind::Bracket:
        if (token.text == "[") return sequence(Op::Array, token, "]");
        if (token.text == "{") return map(token);
        break;
      case Token::Kind::End:
      case Token::Kind::Operator:
        break;
    }
    fail(token,
         token.kind == Token::Kind::End ? "unexpected end" : "unexpected " + in_quotes(token.text));
    return make(Op::Literal, token);
  }

  NodePtr name(const Token& token) {
    if (token.text == "true" || token.text == "false") return literal(token, token.text == "true");
    if (token.text == "nil" || token.text == "null") return literal(token, Value());
    if (token.text == "$env") return make(Op::Environment, token);
    if (is("(")) return call(token, {});
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name != token.text) continue;
      NodePtr node = make(Op::Local, token);
      node->slot = local->slot;
      return node;
    }
    NodePtr node = make(Op::Variable, token);
    node->text = token.text;
    return node;
  }

  NodePtr sequence(Op op, const Token& token, std::string_view close) {
    NodePtr node = make(op, token);
    while (problem_.empty() && !accept(close)) {
      node->args.push_back(expression(0));
      if (!is(close)) expect(",");
    }
    return measured(std::move(node));
  }

  NodePtr map(const Token& token) {
    NodePtr node = make(Op::Map, token);
    while (problem_.empty() && !accept("}")) {
      const Token key = here();
      if (accept("(")) {
        node->args.push_back(expression(0));
        expect(")");
      } else {
        if (key.kind != Token::Kind::Name && key.kind != Token::Kind::String &&
            key.kind != Token::Kind::Number)
          fail(key, "a map key must be a name, a string, a number or in parentheses");
        next();
        node->args.push_back(literal(
            key, key.kind == Token::Kind::Number ? Value(key.number.json()) : Value(key.text)));
      }
      expect(":");
      node->args.push_back(expression(0));
      if (!is("}")) expect(",");
    }
    return measured(std::move(node));
  }

  NodePtr closure() {
    const bool braced = accept("{");
    ++closures_;
    NodePtr body = expression(0);
    --closures_;
    if (braced) expect("}");
    return body;
  }

  NodePtr call(const Token& token, std::vector<NodePtr> args) {
    expect("(");
    for (const Fold& fold : kFolds) {
      if (fold.name == token.text) return fold_call(token, fold, std::move(args));
    }
    NodePtr node = make(Op::Call, token);
    node->function = find_function(token.text);
    if (node->function == nullptr) fail(token, "unknown function " + in_quotes(token.text));
    node->args = std::move(args);
    while (problem_.empty() && !accept(")")) {
      node->args.push_back(expression(0));
      if (!is(")")) expect(",");
    }
    if (problem_.empty() && (node->args.size() < node->function->args_min ||
                             node->args.size() > node->function->args_max))
      fail(token, "wrong number of arguments for " + token.text);
    return measured(std::move(node));
  }

  NodePtr fold_call(const Token& token, const Fold& fold, std::vector<NodePtr> args) {
    NodePtr node = make(Op::Fold, token);
    node->fold = fold.kind;
    node->args = std::move(args);
    if (node->args.empty()) {
      node->args.push_back(expression(0));
      if (!is(")")) expect(",");
    }
    if (!is(")") || !fold.closure_optional) {
      node->args.push_back(closure());
      if (!is(")")) expect(",");
    }
    const bool takes_third = fold.kind == FoldKind::Reduce || fold.kind == FoldKind::SortBy;
    if (takes_third && !is(")")) {
      node->args.push_back(expression(0));
      if (!is(")")) expect(",");
    }
    expect(")");
    return measured(std::move(node));
  }

  NodePtr postfix(NodePtr node) {
    bool chain = false;
    const Token first = here();
    while (problem_.empty()) {
      const Token token = here();
      const bool optional = is("?.");
      if (accept(".") || accept("?.")) {
        if (optional && accept("[")) {
          node = subscript(std::move(node), token);
        } else {
          const Token key = here();
          if (key.kind != Token::Kind::Name) fail(key, "expected a name after '.'");
          next();
          if (is("(")) fail(key, "values have no methods: " + in_quotes(key.text));
          node = make(Op::Member, token, std::move(node), literal(key, Value(key.text)));
        }
        node->optional = optional;
        chain = chain || optional;
      } else if (accept("[")) {
        node = subscript(std::move(node), token);
      } else {
        break;
      }
    }
    return chain ? make(Op::Chain, first, std::move(node)) : std::move(node);
  }

  NodePtr subscript(NodePtr of, const Token& token) {
    NodePtr from;
    if (!is(":")) from = expression(0);
    if (!accept(":")) {
      expect("]");
      return make(Op::Member, token, std::move(of), std::move(from));
    }
    NodePtr to;
    if (!is("]")) to = expression(0);
    expect("]");
    return make(Op::Slice, token, std::move(of), std::move(from), std::move(to));
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  uint32_t closures_ = 0;
  uint32_t slots_ = 0;
  std::vector<Local> locals_;
  std::string problem_;
  uint32_t problem_offset_ = 0;
  Budget& budget_;
};

}  // namespace

Result<Parsed> parse(std::string_view source, Budget& budget) {
  if (source.size() > kSourceBytesMax)
    return Error{ErrorCode::TooLarge, "the expression is longer than 65536 bytes"};
  PAWL_TRY(std::vector<Token> tokens, tokenize(source));
  Result<Parsed> parsed = Error{ErrorCode::TooLarge, ""};
  if (budget.spend_steps(price::compiling(source.size())))
    parsed = Parser(source, std::move(tokens), budget).run();
  if (budget.exceeded() == Budget::Exceeded::None) return parsed;
  return Error{ErrorCode::TooLarge, "compiling the expression takes too many steps"};
}

}  // namespace pawl::expr::lang
