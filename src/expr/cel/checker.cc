#include "expr/cel/checker.h"

#include <algorithm>

#include "expr/cel/functions.h"
#include "expr/cel/lexer.h"
#include "expr/cel/val.h"

namespace pawl::expr {
namespace {

constexpr size_t kTypeSizeMax = 500;  // beyond, a type is simply dyn

Type type_of_kind(Kind kind) {
  if (kind == Kind::Null) return Type::named("null");
  return Type::named(std::string(type_name(kind)));
}

// The name a type is written with in the source, as a value: int, google.protobuf.Timestamp.
bool denoted_type(std::string_view name, Type& type) {
  for (const std::string_view simple : {"bool", "int", "uint", "double", "string", "bytes",
                                        "null_type", "type", "net.IP", "net.CIDR"}) {
    if (name == simple) {
      type =
          Type::named("type", {Type::named(simple == "null_type" ? "null" : std::string(simple))});
      return true;
    }
  }
  if (name == "google.protobuf.Timestamp")
    type = Type::named("type", {Type::named("timestamp")});
  else if (name == "google.protobuf.Duration")
    type = Type::named("type", {Type::named("duration")});
  else if (name == "list")
    type = Type::named("type", {Type::list(Type::dyn())});
  else if (name == "map")
    type = Type::named("type", {Type::map(Type::dyn(), Type::dyn())});
  else if (name == "optional_type")
    type = Type::named("type", {Type::optional(Type::dyn())});
  else
    return false;
  return true;
}

bool is_numeric(const Type& type) { return type.is("int") || type.is("uint") || type.is("double"); }

class Checker {
 public:
  Checker(std::string_view source, const Ast& ast, const Declarations& declarations)
      : source_(source), ast_(ast), declarations_(declarations) {
    for (std::string space = declarations.container; !space.empty();) {
      spaces_.push_back(space + ".");
      const size_t dot = space.rfind('.');
      space.resize(dot == std::string::npos ? 0 : dot);
    }
    spaces_.push_back("");
  }

  Result<Type> run() {
    PAWL_TRY(Type type, check(ast_.root));
    return known_.resolve(type, true);
  }

 private:
  using Checked = Result<Type>;

  Error wrong(const AstNode& node, const std::string& message) const {
    return error_at(ErrorCode::InvalidContent, source_, node.offset, message);
  }

  Type fresh(std::string_view hint) {
    return Type::param(std::string(hint) + "~" + std::to_string(++fresh_));
  }
  static Type bounded(const Type& type) { return type.size() > kTypeSizeMax ? Type::dyn() : type; }
  Type resolved(const Type& type) const { return known_.resolve(type, false); }

  Result<std::vector<Type>> check_all(const std::vector<uint32_t>& kids, size_t from = 0) {
    std::vector<Type> types;
    for (size_t i = from; i < kids.size(); ++i) {
      PAWL_TRY(Type type, check(kids[i]));
      types.push_back(std::move(type));
    }
    return types;
  }

  Checked check(uint32_t index) {
    const AstNode& node = ast_.at(index);
    switch (node.form) {
      case Form::Literal:
        return type_of_kind(node.value.kind());
      case Form::Ident:
        return name(node);
      case Form::Select:
        return select(index);
      case Form::Index:
        return element(node);
      case Form::Call:
        return call(node);
      case Form::List:
        return list(node);
      case Form::Map:
        return map(node);
      case Form::Struct:
        return wrong(node, "undeclared type '" + node.text + "'");
      case Form::Fold:
        return fold(node);
      case Form::Bind: {
        PAWL_TRY(Type value, check(node.kids[0]));
        locals_.emplace_back(node.text, std::move(value));
        Checked body = check(node.kids[1]);
        locals_.pop_back();
        return body;
      }
      case Form::Block: {
        const size_t before = locals_.size();
        for (size_t i = 0; i + 1 < node.kids.size(); ++i) {
          PAWL_TRY(Type value, check(node.kids[i]));
          locals_.emplace_back("@index:" + std::to_string(i), std::move(value));
        }
        Checked body = check(node.kids.back());
        locals_.resize(before);
        return body;
      }
    }
    return Type::dyn();
  }

  const Type* local(std::string_view wanted) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->first == wanted) return &it->second;
    }
    return nullptr;
  }

  // A variable or type with this dotted name, innermost namespace first.
  bool declared(const std::string& dotted, bool rooted, Type& type) const {
    for (const std::string& space : spaces_) {
      if (rooted && !space.empty()) continue;
      const std::string full = space + dotted;
      if (const auto found = declarations_.variables.find(full);
          found != declarations_.variables.end()) {
        type = found->second;
        return true;
      }
      if (denoted_type(full, type)) return true;
    }
    return false;
  }

  Checked name(const AstNode& node) {
    const bool rooted = node.text.front() == '.';
    if (const Type* found = rooted ? nullptr : local(node.text)) return *found;
    Type type;
    if (declared(rooted ? node.text.substr(1) : node.text, rooted, type)) return type;
    return wrong(node, "undeclared reference to '" + node.text + "'");
  }

  // "a.b.c" if no local variable is its root.
  std::string dotted_name(uint32_t index, bool& rooted) const {
    const AstNode& node = ast_.at(index);
    if (node.form == Form::Ident) {
      rooted = node.text.front() == '.';
      if (rooted) return node.text.substr(1);
      return local(node.text) == nullptr ? node.text : "";
    }
    if (node.form != Form::Select || node.test || node.optional) return {};
    const std::string prefix = dotted_name(node.kids[0], rooted);
    return prefix.empty() ? prefix : prefix + "." + node.text;
  }

  Checked select(uint32_t index) {
    const AstNode& node = ast_.at(index);
    bool rooted = false;
    Type type;
    if (const std::string dotted = dotted_name(index, rooted);
        !dotted.empty() && declared(dotted, rooted, type))
      return type;
    PAWL_TRY(Type operand, check(node.kids[0]));
    operand = resolved(operand);
    const bool chained = operand.is("optional_type");
    if (chained) operand = resolved(operand.params[0]);
    if (operand.is("map")) {
      type = operand.params[1];
    } else if (operand.form == Type::Form::Named) {
      return wrong(node, "type '" + operand.text() + "' does not support field selection");
    }
    if (node.test) return Type::named("bool");
    return chained || node.optional ? Type::optional(type) : type;
  }

  Checked element(const AstNode& node) {
    PAWL_TRY(std::vector<Type> types, check_all(node.kids));
    types[0] = resolved(types[0]);
    const bool chained = types[0].is("optional_type");
    if (chained) types[0] = resolved(types[0].params[0]);
    PAWL_TRY(Type type, apply(node, "_[_]", types, false));
    return chained || node.optional ? Type::optional(type) : type;
  }

  Checked list(const AstNode& node) {
    PAWL_TRY(std::vector<Type> types, check_all(node.kids));
    Type joined;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!node.marks.empty() && node.marks[i]) {
        PAWL_TRY(types[i], inner_of_optional(ast_.at(node.kids[i]), types[i]));
      }
      joined = i == 0 ? types[0] : join(joined, types[i]);
    }
    return bounded(Type::list(types.empty() ? fresh("A") : joined));
  }

  Checked inner_of_optional(const AstNode& node, const Type& type) {
    const Type inner = fresh("A");
    if (!known_.assign(type, Type::optional(inner)))
      return wrong(node, "expected an optional value, found " + shown(type));
    return resolved(inner);
  }

  // The type of both, or dyn: literals may mix.
  Type join(const Type& a, const Type& b) {
    if (known_.assign(a, b)) return most_general(resolved(a), resolved(b));
    return Type::dyn();
  }

  Checked map(const AstNode& node) {
    PAWL_TRY(std::vector<Type> types, check_all(node.kids));
    if (types.empty()) return Type::map(fresh("A"), fresh("B"));
    Type key;
    Type value;
    for (size_t i = 0; i < types.size(); i += 2) {
      const Type& kind = types[i] = resolved(types[i]);
      if (kind.form == Type::Form::Named && !kind.is("int") && !kind.is("uint") &&
          !kind.is("bool") && !kind.is("string")) {
        return wrong(ast_.at(node.kids[i]), "unsupported key type: " + kind.text());
      }
      if (!node.marks.empty() && node.marks[i / 2]) {
        PAWL_TRY(types[i + 1], inner_of_optional(ast_.at(node.kids[i + 1]), types[i + 1]));
      }
      key = i == 0 ? types[0] : join(key, types[i]);
      value = i == 0 ? types[1] : join(value, types[i + 1]);
    }
    return bounded(Type::map(key, value));
  }

  std::string shown(const Type& type) const { return known_.resolve(type, true).text(); }

  Checked no_match(const AstNode& node, const std::string& function,
                   const std::vector<Type>& arguments) const {
    std::string list;
    for (const Type& argument : arguments) list += (list.empty() ? "" : ", ") + shown(argument);
    return wrong(node,
                 "found no matching overload for '" + function + "' applied to '(" + list + ")'");
  }

  static void instantiate(Type& type, const std::string& suffix) {
    if (type.form == Type::Form::Param) type.name += suffix;
    for (Type& param : type.params) instantiate(param, suffix);
  }

  // Every overload that fits counts; if they disagree about the result it is dyn.
  bool try_overloads(const std::vector<Overload>& overloads, const std::vector<Type>& arguments,
                     bool receiver, bool& matched, Type& result) {
    for (Overload overload : overloads) {
      if (overload.receiver != receiver || overload.arguments.size() != arguments.size()) continue;
      const std::string suffix = "~" + std::to_string(++fresh_);
      for (Type& argument : overload.arguments) instantiate(argument, suffix);
      instantiate(overload.result, suffix);
      if (!known_.assign_all(arguments, overload.arguments)) continue;
      const Type type = resolved(overload.result);
      result = !matched ? type : result == type ? result : Type::dyn();
      matched = true;
    }
    return matched;
  }

  Checked apply(const AstNode& node, const std::string& function,
                const std::vector<Type>& arguments, bool receiver) {
    bool matched = false;
    bool exists = false;
    Type result;
    for (const auto* table : {&declarations_.functions, &library_overloads()}) {
      const auto found = table->find(function);
      if (found == table->end()) continue;
      exists = true;
      try_overloads(found->second, arguments, receiver, matched, result);
    }
    if (matched) return bounded(result);
    if (!exists) return wrong(node, "undeclared reference to function '" + function + "'");
    if (declarations_.mixed_arithmetic && arguments.size() == 2 && is_arithmetic(function)) {
      const Type left = resolved(arguments[0]);
      const Type right = resolved(arguments[1]);
      if (is_numeric(left) && is_numeric(right)) return Type::dyn();
    }
    return no_match(node, function, arguments);
  }

  static bool is_arithmetic(std::string_view function) {
    return function == "_+_" || function == "_-_" || function == "_*_" || function == "_/_" ||
           function == "_%_";
  }

  bool is_declared_function(const std::string& function) const {
    return declarations_.functions.contains(function) || library_overloads().contains(function) ||
           is_extreme(function);
  }
  static bool is_extreme(std::string_view function) {
    return function == "math.greatest" || function == "math.least";
  }

  std::string qualified_function(const std::string& function) const {
    for (const std::string& space : spaces_) {
      if (is_declared_function(space + function)) return space + function;
    }
    return {};
  }

  Checked call(const AstNode& node) {
    if (node.receiver) {
      bool rooted = false;
      if (const std::string space = dotted_name(node.kids[0], rooted); !space.empty()) {
        if (const std::string full = qualified_function(space + "." + node.text); !full.empty()) {
          PAWL_TRY(std::vector<Type> types, check_all(node.kids, 1));
          return is_extreme(full) ? extreme(node, full, types) : apply(node, full, types, false);
        }
      }
      PAWL_TRY(std::vector<Type> types, check_all(node.kids));
      return apply(node, node.text, types, true);
    }
    PAWL_TRY(std::vector<Type> types, check_all(node.kids));
    if (node.text == "_&&_" || node.text == "_||_") {
      for (size_t i = 0; i < types.size(); ++i) PAWL_TRY_DO(expect_bool(node.kids[i], types[i]));
      return Type::named("bool");
    }
    const std::string plain = node.text.front() == '.' ? node.text.substr(1) : node.text;
    const std::string full = qualified_function(plain);
    return apply(node, full.empty() ? plain : full, types, false);
  }

  Status expect_bool(uint32_t index, const Type& type) {
    if (known_.assign(type, Type::named("bool"))) return ok_status();
    return wrong(ast_.at(index), "expected bool, found " + shown(type));
  }

  // math.greatest and math.least take any number of numbers, or one list of them.
  Checked extreme(const AstNode& node, const std::string& function,
                  const std::vector<Type>& types) {
    std::vector<Type> numbers;
    numbers.reserve(types.size());
    for (const Type& type : types) numbers.push_back(resolved(type));
    if (numbers.size() == 1 && numbers[0].is("list")) numbers = {resolved(numbers[0].params[0])};
    for (const Type& number : numbers) {
      if (number.form == Type::Form::Named && !is_numeric(number))
        return no_match(node, function, types);
    }
    const bool same =
        std::all_of(numbers.begin(), numbers.end(), [&](const Type& n) { return n == numbers[0]; });
    return !numbers.empty() && same && is_numeric(numbers[0]) ? numbers[0] : Type::dyn();
  }

  Checked fold(const AstNode& node) {
    PAWL_TRY(Type range, check(node.kids[0]));
    range = resolved(range);
    if (node.fold == Fold::OptMap || node.fold == Fold::OptFlatMap) return fold_option(node, range);
    Type first;
    Type second;
    if (range.is("list")) {
      first = node.pair ? Type::named("int") : range.params[0];
      second = range.params[0];
    } else if (range.is("map")) {
      first = range.params[0];
      second = range.params[1];
    } else if (range.form == Type::Form::Named) {
      return wrong(ast_.at(node.kids[0]), "expression of type '" + range.text() +
                                              "' cannot be the range of a comprehension");
    }
    const size_t before = locals_.size();
    locals_.emplace_back(node.text, first);
    if (node.pair) locals_.emplace_back(node.text2, second);
    if (node.filtered) {
      PAWL_TRY(Type keep, check(node.kids[1]));
      PAWL_TRY_DO(expect_bool(node.kids[1], keep));
    }
    PAWL_TRY(Type result, check(node.kids.back()));
    locals_.resize(before);
    switch (node.fold) {
      case Fold::All:
      case Fold::Exists:
      case Fold::ExistsOne:
        PAWL_TRY_DO(expect_bool(node.kids.back(), result));
        return Type::named("bool");
      case Fold::Filter:
        PAWL_TRY_DO(expect_bool(node.kids.back(), result));
        return bounded(Type::list(first));
      case Fold::Map:
      case Fold::TransformList:
        return bounded(Type::list(result));
      case Fold::TransformMap:
        return bounded(Type::map(first, result));
      case Fold::SortBy:
        return bounded(Type::list(second.is_dyn() ? first : second));
      case Fold::TransformMapEntry:
        return result;
      case Fold::OptMap:
      case Fold::OptFlatMap:
        break;
    }
    return Type::dyn();
  }

  Checked fold_option(const AstNode& node, const Type& range) {
    PAWL_TRY(Type value, inner_of_optional(ast_.at(node.kids[0]), range));
    locals_.emplace_back(node.text, value);
    Checked result = check(node.kids.back());
    locals_.pop_back();
    if (!result.ok() || node.fold == Fold::OptMap)
      return result.ok() ? Checked(bounded(Type::optional(*result))) : std::move(result);
    PAWL_TRY(Type inner, inner_of_optional(ast_.at(node.kids.back()), *result));
    return Type::optional(inner);
  }

  std::string_view source_;
  const Ast& ast_;
  const Declarations& declarations_;
  std::vector<std::string> spaces_;
  std::vector<std::pair<std::string, Type>> locals_;
  Substitution known_;
  uint64_t fresh_ = 0;
};

}  // namespace

Result<Type> check(std::string_view source, const Ast& ast, const Declarations& declarations) {
  return Checker(source, ast, declarations).run();
}

}  // namespace pawl::expr
