#include "expr/cel/macros.h"

#include "expr/cel/lexer.h"

namespace pawl::expr {
namespace {

struct Comprehension {
  std::string_view name;
  size_t arguments;
  Fold fold;
  bool pair;
  bool filtered;
};

constexpr Comprehension kComprehensions[] = {
    {"all", 2, Fold::All, false, false},
    {"all", 3, Fold::All, true, false},
    {"exists", 2, Fold::Exists, false, false},
    {"exists", 3, Fold::Exists, true, false},
    {"exists_one", 2, Fold::ExistsOne, false, false},
    {"existsOne", 2, Fold::ExistsOne, false, false},
    {"exists_one", 3, Fold::ExistsOne, true, false},
    {"existsOne", 3, Fold::ExistsOne, true, false},
    {"map", 2, Fold::Map, false, false},
    {"map", 3, Fold::Map, false, true},
    {"filter", 2, Fold::Filter, false, false},
    {"transformList", 3, Fold::TransformList, true, false},
    {"transformList", 4, Fold::TransformList, true, true},
    {"transformMap", 3, Fold::TransformMap, true, false},
    {"transformMap", 4, Fold::TransformMap, true, true},
    {"transformMapEntry", 3, Fold::TransformMapEntry, true, false},
    {"transformMapEntry", 4, Fold::TransformMapEntry, true, true},
    {"sortBy", 2, Fold::SortBy, false, false},
    {"optMap", 2, Fold::OptMap, false, false},
    {"optFlatMap", 2, Fold::OptFlatMap, false, false},
};

class Expander {
 public:
  Expander(std::string_view source, Ast& ast, AstNode& call)
      : source_(source), ast_(ast), call_(call) {}

  Status run() {
    if (!call_.receiver) {
      return call_.text == "has" && call_.kids.size() == 1 ? has() : ok_status();
    }
    const AstNode& target = ast_.at(call_.kids[0]);
    if (target.form == Form::Ident && (target.text == "cel" || target.text == ".cel"))
      return cel_macro();
    for (const Comprehension& macro : kComprehensions) {
      if (macro.name == call_.text && macro.arguments + 1 == call_.kids.size()) return fold(macro);
    }
    return ok_status();
  }

 private:
  Status cel_macro() {
    const size_t arguments = call_.kids.size() - 1;
    if (call_.text == "bind" && arguments == 3) return bind();
    if (call_.text == "block" && arguments == 2) return block();
    if (call_.text == "index" && arguments == 1) return numbered("@index", 1);
    if (call_.text == "iterVar" && arguments == 2) return numbered("@iter", 2);
    if (call_.text == "accuVar" && arguments == 2) return numbered("@accu", 2);
    return ok_status();
  }

  Error wrong(uint32_t node, const std::string& message) const {
    return error_at(ErrorCode::Malformed, source_, ast_.at(node).offset, message);
  }

  Status has() {
    const AstNode& argument = ast_.at(call_.kids[0]);
    if (argument.form != Form::Select || argument.test || argument.optional) {
      return wrong(call_.kids[0], "has() expects a field selection such as has(a.b)");
    }
    const uint32_t offset = call_.offset;
    call_ = argument;
    call_.test = true;
    call_.offset = offset;
    return ok_status();
  }

  Result<std::string> variable(uint32_t node) const {
    const AstNode& name = ast_.at(node);
    if (name.form != Form::Ident || name.text.front() == '.') {
      return wrong(node, call_.text + "() expects a plain variable name here");
    }
    return name.text;
  }

  Status fold(const Comprehension& macro) {
    PAWL_TRY(std::string first, variable(call_.kids[1]));
    std::string second;
    if (macro.pair) {
      PAWL_TRY(second, variable(call_.kids[2]));
      if (first == second) {
        return wrong(call_.kids[2], call_.text + "() expects two different variable names");
      }
    }
    call_.form = Form::Fold;
    call_.fold = macro.fold;
    call_.pair = macro.pair;
    call_.filtered = macro.filtered;
    call_.text = std::move(first);
    call_.text2 = std::move(second);
    call_.kids.erase(call_.kids.begin() + 1, call_.kids.begin() + (macro.pair ? 3 : 2));
    return ok_status();
  }

  Status bind() {
    PAWL_TRY(std::string name, variable(call_.kids[1]));
    call_.form = Form::Bind;
    call_.text = std::move(name);
    call_.kids = {call_.kids[2], call_.kids[3]};
    return ok_status();
  }

  Status block() {
    const AstNode& slots = ast_.at(call_.kids[1]);
    if (slots.form != Form::List || !slots.marks.empty()) {
      return wrong(call_.kids[1], "cel.block() expects a list literal as its first argument");
    }
    const uint32_t result = call_.kids[2];
    call_.form = Form::Block;
    call_.kids = slots.kids;
    call_.kids.push_back(result);
    return ok_status();
  }

  Status numbered(std::string name, size_t count) {
    for (size_t i = 1; i <= count; ++i) {
      const AstNode& number = ast_.at(call_.kids[i]);
      if (number.form != Form::Literal || !number.value.is(Kind::Int) ||
          number.value.as_int() < 0) {
        return wrong(call_.kids[i],
                     "cel." + call_.text + "() expects a non-negative integer literal");
      }
      name += ":" + std::to_string(number.value.as_int());
    }
    call_.form = Form::Ident;
    call_.receiver = false;
    call_.text = std::move(name);
    call_.kids.clear();
    return ok_status();
  }

  std::string_view source_;
  Ast& ast_;
  AstNode& call_;
};

}  // namespace

Status expand_macro(std::string_view source, Ast& ast, AstNode& call) {
  return Expander(source, ast, call).run();
}

}  // namespace pawl::expr
