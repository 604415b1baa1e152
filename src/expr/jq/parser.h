// The parser of jq: one class, its terms in a file of their own. Private to parser.cc and terms.cc.
#pragma once

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "expr/jq/ast.h"

namespace pawl::expr::jq {

// How strongly operators bind, from weak to strong; "|" and "," stand apart.
inline constexpr int kAlternative = 1, kAssign = 2, kOr = 3, kAnd = 4, kCompare = 5, kAdd = 6,
                     kTimes = 7;

uint32_t key_height(const Pattern& pattern);

class Parser {
 public:
  explicit Parser(uint32_t depth = 0) : depth_(depth) {}

  NodePtr whole(std::string_view text, uint32_t base) {
    if (!start(text, base)) return identity();
    NodePtr node = pipe();
    if (here().kind != Token::Kind::End) fail("unexpected " + in_quotes(here().text));
    return node;
  }
  std::vector<std::unique_ptr<Function>> definitions(std::string_view text) {
    std::vector<std::unique_ptr<Function>> out;
    if (!start(text, 0)) return out;
    while (ok() && is("def")) out.push_back(definition());
    return out;
  }
  bool ok() const { return problem_.empty(); }
  const std::string& problem() const { return problem_; }
  uint32_t offset() const { return problem_offset_; }

 private:
  bool start(std::string_view text, uint32_t base) {
    Result<std::vector<Token>> tokens = tokenize(text, base);
    if (!tokens.ok()) {
      problem_ = tokens.error().message;
      const std::string& at = tokens.error().complaints[0].path;
      std::from_chars(at.data(), at.data() + at.size(), problem_offset_);
      return false;
    }
    tokens_ = std::move(*tokens);
    return true;
  }

  const Token& here() const { return tokens_[at_]; }
  void next() {
    if (here().kind != Token::Kind::End) ++at_;
  }
  bool is(std::string_view text) const {
    return (here().kind == Token::Kind::Operator || here().kind == Token::Kind::Name) &&
           here().text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      fail("expected '" + std::string(text) + "', found " +
           (here().kind == Token::Kind::End ? "the end" : in_quotes(here().text)));
  }
  void fail(std::string message) {
    if (!problem_.empty()) return;
    problem_ = std::move(message);
    problem_offset_ = here().offset;
    at_ = tokens_.size() - 1;  // so every loop stops at the last token
  }

  NodePtr make(Op op, uint32_t offset) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->offset = offset;
    return node;
  }
  template <typename... Args>
  NodePtr make(Op op, uint32_t offset, Args... args) {
    NodePtr node = make(op, offset);
    (node->args.push_back(std::move(args)), ...);
    return measured(std::move(node));
  }
  // Trees are walked and freed by recursion, so their height is bounded for every kind of node.
  NodePtr measured(NodePtr node) {
    const auto grow = [&](const NodePtr& part) {
      if (part != nullptr) node->height = std::max(node->height, part->height + 1);
    };
    for (const NodePtr& arg : node->args) grow(arg);
    for (const Pattern& pattern : node->patterns)
      node->height = std::max(node->height, key_height(pattern) + 1);
    if (node->function != nullptr) grow(node->function->body);
    if (node->height > kHeightMax) fail("the expression nests too deep");
    return node;
  }
  NodePtr identity() { return make(Op::Identity, kNowhere); }
  NodePtr literal(uint32_t offset, const Value& value) {
    NodePtr node = make(Op::Literal, offset);
    Budget enough;
    node->literal = Datum::from(value, enough);
    return node;
  }

  // Guards every recursion of the parser.
  NodePtr nested(auto&& parse_inner) {
    if (++depth_ > kNestingMax) fail("the expression nests too deep");
    NodePtr node = ok() ? parse_inner() : identity();
    --depth_;
    return node;
  }

  NodePtr pipe() {
    return nested([&]() -> NodePtr {
      if (is("def")) {
        const uint32_t offset = here().offset;
        NodePtr node = make(Op::Define, offset);
        node->function = definition();
        node->args.push_back(pipe());
        return measured(std::move(node));
      }
      NodePtr left = comma();
      const uint32_t offset = here().offset;
      if (!accept("|")) return left;
      return make(Op::Pipe, offset, std::move(left), pipe());
    });
  }

  NodePtr comma() {
    NodePtr left = binary(kAlternative);
    while (ok() && is(",")) {
      const uint32_t offset = here().offset;
      next();
      left = make(Op::Comma, offset, std::move(left), binary(kAlternative));
    }
    return left;
  }

  NodePtr binary(int level);
  NodePtr unary() {
    const uint32_t offset = here().offset;
    if (accept("-")) return nested([&] { return make(Op::Negate, offset, binary(kTimes)); });
    if (is("def")) return pipe();
    if (is("label")) {
      next();
      NodePtr node = make(Op::Label, offset);
      node->text = variable_name();
      expect("|");
      node->args.push_back(pipe());
      return measured(std::move(node));
    }
    NodePtr term = postfix();
    if (!accept("as")) return term;
    NodePtr node = make(Op::Bind, offset);
    node->patterns = patterns();
    expect("|");
    node->args.push_back(std::move(term));
    node->args.push_back(pipe());
    return measured(std::move(node));
  }

  std::string variable_name() {
    if (here().kind != Token::Kind::Variable) fail("expected a $name");
    const std::string name(ok() ? here().text.substr(1) : "");
    next();
    return name;
  }

  std::vector<Pattern> patterns() {
    std::vector<Pattern> out;
    do {
      out.push_back(pattern());
    } while (ok() && accept("?//"));
    return out;
  }

  Pattern pattern() {
    Pattern out;
    if (++depth_ > kNestingMax) fail("the expression nests too deep");
    if (accept("[")) {
      out.kind = Pattern::Kind::Array;
      do {
        out.elements.push_back(pattern());
      } while (ok() && accept(","));
      expect("]");
    } else if (accept("{")) {
      out.kind = Pattern::Kind::Object;
      do {
        pattern_entry(out);
      } while (ok() && accept(","));
      expect("}");
    } else {
      out.name = variable_name();
    }
    --depth_;
    return out;
  }

  void pattern_entry(Pattern& out) {
    const Token token = here();
    std::string bound;
    if (token.kind == Token::Kind::Variable) {
      bound = variable_name();
      out.keys.push_back(literal(token.offset, Value(bound)));
    } else if (accept("(")) {
      out.keys.push_back(pipe());
      expect(")");
    } else if (token.kind == Token::Kind::String) {
      out.keys.push_back(string(""));
    } else {
      if (token.kind != Token::Kind::Name) fail("expected a key");
      next();
      out.keys.push_back(literal(token.offset, Value(token.text)));
    }
    Pattern inner;
    if (accept(":")) {
      inner = pattern();
    } else if (bound.empty()) {
      fail("expected ':'");
    }
    out.elements.push_back(std::move(inner));
    out.bound.push_back(std::move(bound));
  }

  std::unique_ptr<Function> definition() {
    auto function = std::make_unique<Function>();
    expect("def");
    if (here().kind != Token::Kind::Name) fail("expected a name");
    function->name = here().text;
    next();
    if (accept("(")) {
      do {
        const bool value = here().kind == Token::Kind::Variable;
        if (!value && here().kind != Token::Kind::Name) fail("expected a parameter");
        function->params.push_back({std::string(here().text.substr(value ? 1 : 0)), value});
        next();
      } while (ok() && accept(";"));
      expect(")");
    }
    if (function->params.size() > 12) fail("too many parameters");
    expect(":");
    function->body = pipe();
    expect(";");
    return function;
  }

  NodePtr postfix() {
    NodePtr node = term();
    while (ok()) {
      const Token token = here();
      if (token.kind == Token::Kind::Field) {
        next();
        node = make(Op::Index, token.offset, std::move(node),
                    literal(token.offset, Value(token.text.substr(1))));
      } else if (is(".") && tokens_[at_ + 1].kind == Token::Kind::String) {
        next();
        NodePtr key = string("");
        node = make(Op::Index, token.offset, std::move(node), std::move(key));
      } else if (is(".") && tokens_[at_ + 1].text == "[") {
        next();
      } else if (accept("[")) {
        node = subscript(std::move(node), token.offset);
      } else if (accept("?")) {
        node = make(Op::Try, token.offset, std::move(node), NodePtr());
      } else {
        break;
      }
    }
    return node;
  }

  NodePtr subscript(NodePtr of, uint32_t offset) {
    if (accept("]")) return make(Op::Iterate, offset, std::move(of));
    NodePtr from;
    if (!is(":")) from = pipe();
    if (!accept(":")) {
      expect("]");
      return make(Op::Index, offset, std::move(of), std::move(from));
    }
    NodePtr to;
    if (!is("]")) to = pipe();
    expect("]");
    return make(Op::Slice, offset, std::move(of), std::move(from), std::move(to));
  }

  NodePtr term();
  NodePtr term_inner();
  NodePtr named(Op op, const Token& token, size_t skip);
  NodePtr number(const Token& token);
  NodePtr bracketed(const Token& token);
  NodePtr object(const Token& token);
  void entry(Node& node);
  NodePtr word(const Token& token);
  NodePtr condition(uint32_t offset);
  NodePtr fold(const Token& token);
  // The current string token; a format is applied to interpolated values.
  NodePtr string(std::string_view format);

  std::vector<Token> tokens_{Token{}};
  size_t at_ = 0;
  uint32_t depth_;
  std::string problem_;
  uint32_t problem_offset_ = 0;
};

}  // namespace pawl::expr::jq
