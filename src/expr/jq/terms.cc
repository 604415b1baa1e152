// Operands: literals, names, brackets, conditions, folds.
#include "expr/jq/parser.h"

namespace pawl::expr::jq {
namespace {

constexpr std::string_view kKeywords[] = {"def",    "if",      "then",    "elif", "else",   "end",
                                          "as",     "reduce",  "foreach", "try",  "catch",  "label",
                                          "import", "include", "and",     "or",   "__loc__"};

bool is_keyword(std::string_view text) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), text) != std::end(kKeywords);
}

}  // namespace

NodePtr Parser::term() {
  return nested([&] { return term_inner(); });
}

NodePtr Parser::term_inner() {
  const Token token = here();
  switch (token.kind) {
    case Token::Kind::Number:
      next();
      return number(token);
    case Token::Kind::String:
      return string("");
    case Token::Kind::Format:
      next();
      if (here().kind == Token::Kind::String) return string(token.text.substr(1));
      return named(Op::Format, token, 1);
    case Token::Kind::Field:
      next();
      return make(Op::Index, token.offset, identity(),
                  literal(token.offset, Value(token.text.substr(1))));
    case Token::Kind::Variable:
      next();
      if (token.text == "$__loc__") fail("$__loc__ is not supported");
      return named(Op::Variable, token, 1);
    case Token::Kind::Name:
      return word(token);
    case Token::Kind::Operator:
      return bracketed(token);
    case Token::Kind::End:
      break;
  }
  fail("unexpected end");
  return identity();
}

NodePtr Parser::named(Op op, const Token& token, size_t skip) {
  NodePtr node = make(op, token.offset);
  node->text = token.text.substr(skip);
  return node;
}

NodePtr Parser::number(const Token& token) {
  const char* const first = token.text.data();
  const char* const last = first + token.text.size();
  int64_t whole = 0;
  const auto exact = std::from_chars(first, last, whole);
  if (exact.ec == std::errc() && exact.ptr == last) return literal(token.offset, Value(whole));
  double real = 0;
  const auto rough = std::from_chars(first, last, real);
  if (rough.ec == std::errc::result_out_of_range)
    real = token.text.find('-') == std::string_view::npos ? 1.7976931348623157e308 : 0;
  return literal(token.offset, Value(real));
}

NodePtr Parser::bracketed(const Token& token) {
  next();
  if (token.text == ".") {
    if (here().kind == Token::Kind::String) {
      NodePtr key = string("");
      return make(Op::Index, token.offset, identity(), std::move(key));
    }
    return make(Op::Identity, token.offset);
  }
  if (token.text == "..") return make(Op::RecurseDefault, token.offset);
  if (token.text == "(") {
    NodePtr inner = pipe();
    expect(")");
    return inner;
  }
  if (token.text == "[") {
    if (accept("]")) return make(Op::Array, token.offset);
    NodePtr inner = pipe();
    expect("]");
    return make(Op::Array, token.offset, std::move(inner));
  }
  if (token.text == "{") return object(token);
  --at_;
  fail("unexpected " + in_quotes(token.text));
  return identity();
}

NodePtr Parser::object(const Token& token) {
  NodePtr node = make(Op::Object, token.offset);
  while (ok() && !accept("}")) {
    entry(*node);
    if (!is("}")) expect(",");
  }
  return measured(std::move(node));
}

void Parser::entry(Node& node) {
  const Token token = here();
  NodePtr key;
  NodePtr implied;  // the value if none is written
  if (token.kind == Token::Kind::Variable) {
    next();
    key = literal(token.offset, Value(token.text.substr(1)));
    implied = named(Op::Variable, token, 1);
  } else if (accept("(")) {
    key = pipe();
    expect(")");
  } else if (token.kind == Token::Kind::String || token.kind == Token::Kind::Format) {
    const size_t start = at_;
    const auto read = [&] {
      const bool format = here().kind == Token::Kind::Format;
      if (format) next();
      return string(format ? token.text.substr(1) : "");
    };
    key = read();
    at_ = ok() ? start : at_;
    implied = make(Op::Index, token.offset, identity(), read());
  } else {
    if (token.kind != Token::Kind::Name && token.kind != Token::Kind::Number)
      fail("expected a key");
    next();
    key = literal(token.offset, Value(token.text));
    implied = make(Op::Index, token.offset, identity(), literal(token.offset, Value(token.text)));
  }
  if (accept(":")) {
    implied = binary(kAlternative);
    while (ok() && is("|")) {
      const uint32_t offset = here().offset;
      next();
      implied = make(Op::Pipe, offset, std::move(implied), binary(kAlternative));
    }
  } else if (implied == nullptr) {
    fail("expected ':'");
    implied = identity();
  }
  node.args.push_back(std::move(key));
  node.args.push_back(std::move(implied));
}

NodePtr Parser::word(const Token& token) {
  next();
  if (token.text == "if") return condition(token.offset);
  if (token.text == "try") {
    NodePtr body = postfix();
    NodePtr handler;
    if (accept("catch")) handler = postfix();
    return make(Op::Try, token.offset, std::move(body), std::move(handler));
  }
  if (token.text == "reduce" || token.text == "foreach") return fold(token);
  if (token.text == "break" && here().kind == Token::Kind::Variable) {
    NodePtr node = make(Op::Break, token.offset);
    node->text = variable_name();
    return node;
  }
  if (token.text == "import" || token.text == "include") {
    --at_;
    fail("modules are not available");
  } else if (is_keyword(token.text)) {
    --at_;
    fail("unexpected " + in_quotes(token.text));
  }
  if (token.text == "true" || token.text == "false")
    return literal(token.offset, Value(token.text == "true"));
  if (token.text == "null") return literal(token.offset, Value());
  NodePtr node = named(Op::Call, token, 0);
  if (accept("(")) {
    do {
      node->args.push_back(pipe());
    } while (ok() && accept(";"));
    expect(")");
  }
  if (node->args.size() > 12) fail("too many arguments");
  return measured(std::move(node));
}

NodePtr Parser::condition(uint32_t offset) {
  NodePtr test = pipe();
  expect("then");
  NodePtr yes = pipe();
  NodePtr no;
  const uint32_t at = here().offset;
  if (accept("elif")) {
    no = nested([&] { return condition(at); });
  } else if (accept("else")) {
    no = pipe();
    expect("end");
  } else {
    expect("end");
    no = identity();
  }
  return make(Op::If, offset, std::move(test), std::move(yes), std::move(no));
}

NodePtr Parser::fold(const Token& token) {
  const bool each = token.text == "foreach";
  NodePtr node = make(each ? Op::Foreach : Op::Reduce, token.offset);
  node->args.push_back(postfix());
  expect("as");
  node->patterns = patterns();
  expect("(");
  node->args.push_back(pipe());
  expect(";");
  node->args.push_back(pipe());
  if (each) node->args.push_back(accept(";") ? pipe() : NodePtr());
  expect(")");
  return measured(std::move(node));
}

// The current string token; a format is applied to interpolated values.
NodePtr Parser::string(std::string_view format) {
  const Token token = here();
  if (token.kind != Token::Kind::String) fail("expected a string");
  if (!ok()) return identity();
  next();
  const std::vector<StringPart> parts = split_string(token);
  NodePtr node = make(Op::String, token.offset);
  node->text = format;
  for (const StringPart& part : parts) {
    if (!part.problem.empty()) {
      fail(part.problem);
      problem_offset_ = token.offset;
    } else if (!part.filter) {
      node->args.push_back(literal(token.offset, Value(part.text)));
    } else {
      Parser inner(depth_ + 1);
      node->args.push_back(inner.whole(part.source, part.offset));
      if (inner.ok()) continue;
      fail(inner.problem());
      problem_offset_ = inner.offset();
    }
    if (!ok()) return identity();
  }
  if (node->args.size() > 1) return measured(std::move(node));
  return std::move(node->args[0]);
}

}  // namespace pawl::expr::jq
