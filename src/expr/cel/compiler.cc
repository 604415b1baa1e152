#include "expr/cel/compiler.h"

#include <algorithm>

#include "expr/cel/evaluator.h"
#include "expr/cel/lexer.h"

namespace pawl::expr {
namespace {

constexpr uint32_t kSlotsMax = 4096;

struct Operation {
  std::string_view function;
  Op op;
};
constexpr Operation kUnaryOps[] = {{"!_", Op::Not}, {"-_", Op::Negate}};
constexpr Operation kBinaryOps[] = {
    {"_==_", Op::Equal},   {"_!=_", Op::NotEqual},     {"_<_", Op::Less},   {"_<=_", Op::LessEqual},
    {"_>_", Op::Greater},  {"_>=_", Op::GreaterEqual}, {"_+_", Op::Add},    {"_-_", Op::Subtract},
    {"_*_", Op::Multiply}, {"_/_", Op::Divide},        {"_%_", Op::Modulo}, {"@in", Op::In},
};
constexpr Operation kManyOps[] = {{"_&&_", Op::And}, {"_||_", Op::Or}, {"_?_:_", Op::Cond}};

constexpr Kind kNamedTypes[] = {Kind::Null,     Kind::Bool,   Kind::Int,       Kind::Uint,
                                Kind::Double,   Kind::String, Kind::Bytes,     Kind::List,
                                Kind::Map,      Kind::Type,   Kind::Timestamp, Kind::Duration,
                                Kind::Optional, Kind::Ip,     Kind::Cidr};

class Compiler {
 public:
  Compiler(std::string_view source, const Ast& ast, const CompileOptions& options, Budget& budget)
      : source_(source), ast_(ast), options_(options), compiling_(budget) {
    code_.mixed_arithmetic = options.mixed_arithmetic;
    for (std::string space = options.container; !space.empty();) {
      spaces_.push_back(space + ".");
      const size_t dot = space.rfind('.');
      space.resize(dot == std::string::npos ? 0 : dot);
    }
    spaces_.push_back("");
  }

  Result<Code> run() {
    PAWL_TRY(code_.root, emit(ast_.root));
    if (compiling_.exceeded() != Budget::Exceeded::None) return too_costly(0);
    std::sort(code_.variables.begin(), code_.variables.end());
    code_.variables.erase(std::unique(code_.variables.begin(), code_.variables.end()),
                          code_.variables.end());
    return std::move(code_);
  }

 private:
  struct Local {
    std::string_view name;
    uint16_t slot;
  };

  Error wrong(uint32_t offset, ErrorCode code, const std::string& message) const {
    return error_at(code, source_, offset, message);
  }

  Error too_costly(uint32_t offset) const {
    return wrong(offset, ErrorCode::TooLarge,
                 "compiling this, and what was compiled with it, needs more than " +
                     std::to_string(compiling_.limits().steps_max) + " steps");
  }

  uint32_t add(Step step) {
    code_.steps.push_back(step);
    return static_cast<uint32_t>(code_.steps.size() - 1);
  }
  uint32_t constant(Val value) {
    code_.constants.push_back(std::move(value));
    return static_cast<uint32_t>(code_.constants.size() - 1);
  }
  uint32_t operands(const std::vector<uint32_t>& steps) {
    const auto first = static_cast<uint32_t>(code_.operands.size());
    code_.operands.insert(code_.operands.end(), steps.begin(), steps.end());
    return first;
  }
  bool is_const(uint32_t step) const { return code_.steps[step].op == Op::Const; }

  // Adds a step whose operands are `inputs`; if all are constants and it succeeds, its value
  // instead.
  uint32_t fold(Step step, const std::vector<uint32_t>& inputs) {
    const uint32_t at = add(step);
    if (folding_.exceeded() != Budget::Exceeded::None) return at;
    if (!std::all_of(inputs.begin(), inputs.end(), [&](uint32_t i) { return is_const(i); }))
      return at;
    const Variables nothing;
    Val value = Evaluator(code_, nothing, folding_).run(at);
    if (value.is_error()) return at;
    Val owned = value.own(folding_);
    if (folding_.exceeded() != Budget::Exceeded::None) return at;
    code_.steps[at] = Step{.op = Op::Const, .a = constant(std::move(owned)), .offset = step.offset};
    return at;
  }

  Result<std::vector<uint32_t>> plan_all(const std::vector<uint32_t>& kids, size_t from = 0) {
    std::vector<uint32_t> steps;
    for (size_t i = from; i < kids.size(); ++i) {
      PAWL_TRY(uint32_t step, emit(kids[i]));
      steps.push_back(step);
    }
    return steps;
  }

  Result<uint32_t> emit(uint32_t index) {
    const AstNode& node = ast_.at(index);
    switch (node.form) {
      case Form::Literal:
        return add({.op = Op::Const, .a = constant(node.value), .offset = node.offset});
      case Form::Ident:
        return name(node, {});
      case Form::Select:
        return select(node);
      case Form::Index: {
        PAWL_TRY(uint32_t operand, emit(node.kids[0]));
        PAWL_TRY(uint32_t key, emit(node.kids[1]));
        return fold({.op = node.optional ? Op::IndexOpt : Op::Index,
                     .a = operand,
                     .b = key,
                     .offset = node.offset},
                    {operand, key});
      }
      case Form::Call:
        return call(node);
      case Form::List:
      case Form::Map: {
        PAWL_TRY(std::vector<uint32_t> kids, plan_all(node.kids));
        Step step{.op = node.form == Form::List ? Op::List : Op::Map, .offset = node.offset};
        step.b = operands(kids);
        step.c = static_cast<uint32_t>(kids.size());
        if (!node.marks.empty()) {
          code_.marks.push_back(node.marks);
          step.a = static_cast<uint32_t>(code_.marks.size());
        }
        return fold(step, kids);
      }
      case Form::Struct:
        return fail(node, "unknown type '" + node.text + "': message literals are not supported");
      case Form::Fold:
        return fold_macro(node);
      case Form::Bind:
        return bind(node);
      case Form::Block:
        return block(node);
    }
    return wrong(node.offset, ErrorCode::Internal, "unknown syntax");
  }

  // A failure at evaluation time, or at compile time if bindings must be known by then.
  Result<uint32_t> fail(const AstNode& node, const std::string& message) {
    if (!options_.late_binding) return wrong(node.offset, ErrorCode::InvalidContent, message);
    return add({.op = Op::Fail, .a = constant(Val::string(message)), .offset = node.offset});
  }

  const Local* local(std::string_view name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->name == name) return &*it;
    }
    return nullptr;
  }

  Result<uint16_t> new_slots(uint32_t offset, size_t count) {
    const uint32_t first = slots_;
    slots_ += static_cast<uint32_t>(count);
    if (slots_ > kSlotsMax)
      return wrong(offset, ErrorCode::TooLarge, "the expression has too many local variables");
    code_.slots = std::max(code_.slots, slots_);
    return static_cast<uint16_t>(first);
  }

  static Val type_named(std::string_view name) {
    for (const Kind kind : kNamedTypes) {
      if (type_name(kind) == name) return Val::type(kind);
    }
    return Val();
  }

  // The identifier `root` followed by plain field selections.
  Result<uint32_t> name(const AstNode& root, const std::vector<std::string>& fields) {
    const bool rooted = root.text.front() == '.';
    const std::string first = rooted ? root.text.substr(1) : root.text;
    if (const Local* found = rooted ? nullptr : local(first)) {
      uint32_t step = add({.op = Op::Local, .slot = found->slot, .offset = root.offset});
      for (const std::string& field : fields) {
        step = add({.op = Op::Select,
                    .a = step,
                    .b = constant(Val::string(field)),
                    .offset = root.offset});
      }
      return step;
    }
    if (first.front() == '@') {
      return wrong(root.offset, ErrorCode::Malformed,
                   "cel.index() and cel.iterVar() expect a cel.block() or macro around them");
    }
    NameLookup lookup;
    lookup.root = first;
    lookup.fields.push_back(Val::string(first));
    std::vector<std::string> prefixes = {first};
    for (const std::string& field : fields) {
      lookup.fields.push_back(Val::string(field));
      prefixes.push_back(prefixes.back() + "." + field);
    }
    lookup.bytes = prefixes.back().size();
    // One candidate for each prefix of the name: long names with many parts cost more.
    if (!compiling_.spend_steps(price::scanning(prefixes.size() * lookup.bytes)))
      return too_costly(root.offset);
    for (size_t parts = prefixes.size(); parts > 0; --parts) {
      for (const std::string& space : spaces_) {
        if (rooted && !space.empty()) continue;
        NameLookup::Candidate candidate;
        candidate.name = space + prefixes[parts - 1];
        candidate.parts = static_cast<uint32_t>(parts);
        candidate.dotted = candidate.name.find('.') != std::string::npos;
        candidate.type = type_named(candidate.name);
        lookup.candidates.push_back(std::move(candidate));
      }
    }
    if (options_.output_alias && first == "steps" && fields.size() > 1 && fields[1] == "output")
      lookup.alias = 2;
    code_.variables.push_back(first);
    code_.names.push_back(std::move(lookup));
    return add({.op = Op::Name,
                .a = static_cast<uint32_t>(code_.names.size() - 1),
                .offset = root.offset});
  }

  Result<uint32_t> select(const AstNode& node) {
    if (!node.test && !node.optional) {
      std::vector<std::string> fields = {node.text};
      const AstNode* at = &ast_.at(node.kids[0]);
      while (at->form == Form::Select && !at->test && !at->optional) {
        fields.insert(fields.begin(), at->text);
        at = &ast_.at(at->kids[0]);
      }
      if (at->form == Form::Ident) return name(*at, fields);
    }
    PAWL_TRY(uint32_t operand, emit(node.kids[0]));
    const Op op = node.test ? Op::Has : node.optional ? Op::SelectOpt : Op::Select;
    Step step{.op = op, .a = operand, .b = constant(Val::string(node.text)), .offset = node.offset};
    if (op == Op::Select && is_output_alias(node)) step.slot = 1;
    return fold(step, {operand});
  }

  // steps['X'].output
  bool is_output_alias(const AstNode& node) const {
    if (!options_.output_alias || node.text != "output") return false;
    const AstNode& operand = ast_.at(node.kids[0]);
    if (operand.form != Form::Index || operand.optional) return false;
    const AstNode& root = ast_.at(operand.kids[0]);
    return root.form == Form::Ident && root.text == "steps" && local("steps") == nullptr;
  }

  // "a.b" if the node is a dotted name that no local variable hides, else empty.
  std::string function_space(uint32_t index) const {
    const AstNode& node = ast_.at(index);
    if (node.form == Form::Ident) {
      if (node.text.front() == '.') return node.text.substr(1);
      return local(node.text) == nullptr ? node.text : "";
    }
    if (node.form != Form::Select || node.test || node.optional) return {};
    const std::string prefix = function_space(node.kids[0]);
    return prefix.empty() ? prefix : prefix + "." + node.text;
  }

  const Function* global_function(const std::string& name, size_t arguments) const {
    for (const std::string& space : spaces_) {
      if (const Function* found = find_function(space + name, false, arguments)) return found;
    }
    return nullptr;
  }

  Result<uint32_t> call(const AstNode& node) {
    if (node.receiver) return receiver_call(node);
    for (const auto& [function, op] : kUnaryOps) {
      if (function != node.text) continue;
      PAWL_TRY(uint32_t operand, emit(node.kids[0]));
      return fold({.op = op, .a = operand, .offset = node.offset}, {operand});
    }
    for (const auto& [function, op] : kBinaryOps) {
      if (function != node.text) continue;
      PAWL_TRY(uint32_t left, emit(node.kids[0]));
      PAWL_TRY(uint32_t right, emit(node.kids[1]));
      return fold({.op = op, .a = left, .b = right, .offset = node.offset}, {left, right});
    }
    PAWL_TRY(std::vector<uint32_t> kids, plan_all(node.kids));
    for (const auto& [function, op] : kManyOps) {
      if (function == node.text) return many(op, node.offset, kids);
    }
    const std::string name = node.text.front() == '.' ? node.text.substr(1) : node.text;
    const Function* function = global_function(name, kids.size());
    if (function == nullptr) return unknown_function(node, name);
    return library_call(node, *function, kids);
  }

  uint32_t many(Op op, uint32_t offset, const std::vector<uint32_t>& kids) {
    return fold(
        {.op = op, .b = operands(kids), .c = static_cast<uint32_t>(kids.size()), .offset = offset},
        kids);
  }

  Result<uint32_t> unknown_function(const AstNode& node, const std::string& name) {
    if (is_function_name(name)) {
      return fail(node, "no such overload: " + name + "() is not called like this, or not with " +
                            std::to_string(node.kids.size() - (node.receiver ? 1 : 0)) +
                            " arguments");
    }
    return fail(node, "unbound function '" + name + "'");
  }

  Result<uint32_t> receiver_call(const AstNode& node) {
    if (const std::string space = function_space(node.kids[0]); !space.empty()) {
      const std::string full = space + "." + node.text;
      if (const Function* function = global_function(full, node.kids.size() - 1)) {
        PAWL_TRY(std::vector<uint32_t> kids, plan_all(node.kids, 1));
        return library_call(node, *function, kids);
      }
      if (is_function_name(full)) return unknown_function(node, full);
    }
    PAWL_TRY(std::vector<uint32_t> kids, plan_all(node.kids));
    if (kids.size() == 2 && (node.text == "or" || node.text == "orValue")) {
      const Op op = node.text == "or" ? Op::OptOr : Op::OptOrValue;
      return fold({.op = op, .a = kids[0], .b = kids[1], .offset = node.offset}, kids);
    }
    const Function* function = find_function(node.text, true, kids.size() - 1);
    if (function == nullptr) return unknown_function(node, node.text);
    return library_call(node, *function, kids);
  }

  Result<uint32_t> library_call(const AstNode& node, const Function& function,
                                const std::vector<uint32_t>& kids) {
    if (function.name == "matches" && is_const(kids[1])) {
      const Val& pattern = code_.constants[code_.steps[kids[1]].a];
      if (pattern.is(Kind::String)) {
        std::string error;
        Regex regex = compile_regex(pattern.as_string(), compiling_, error);
        if (compiling_.exceeded() != Budget::Exceeded::None) return too_costly(node.offset);
        if (regex == nullptr) return fail(node, error);
        code_.regexes.push_back(std::move(regex));
        return fold({.op = Op::Match,
                     .a = kids[0],
                     .b = static_cast<uint32_t>(code_.regexes.size() - 1),
                     .offset = node.offset},
                    {kids[0]});
      }
    }
    code_.functions.push_back(&function);
    return fold({.op = Op::Call,
                 .a = static_cast<uint32_t>(code_.functions.size() - 1),
                 .b = operands(kids),
                 .c = static_cast<uint32_t>(kids.size()),
                 .offset = node.offset},
                kids);
  }

  Result<uint32_t> fold_macro(const AstNode& node) {
    FoldLoop loop;
    loop.fold = node.fold;
    loop.pair = node.pair;
    loop.filtered = node.filtered;
    PAWL_TRY(loop.range, emit(node.kids[0]));
    const uint32_t slots_before = slots_;
    PAWL_TRY(loop.slot, new_slots(node.offset, 2));
    locals_.push_back({node.text, loop.slot});
    if (node.pair) locals_.push_back({node.text2, static_cast<uint16_t>(loop.slot + 1)});
    if (node.filtered) {
      PAWL_TRY(loop.filter, emit(node.kids[1]));
    }
    PAWL_TRY(loop.result, emit(node.kids.back()));
    locals_.resize(locals_.size() - (node.pair ? 2 : 1));
    slots_ = slots_before;
    code_.folds.push_back(loop);
    return add({.op = Op::Fold,
                .a = static_cast<uint32_t>(code_.folds.size() - 1),
                .offset = node.offset});
  }

  Result<uint32_t> bind(const AstNode& node) {
    PAWL_TRY(uint32_t value, emit(node.kids[0]));
    const uint32_t slots_before = slots_;
    PAWL_TRY(uint16_t slot, new_slots(node.offset, 1));
    locals_.push_back({node.text, slot});
    PAWL_TRY(uint32_t body, emit(node.kids[1]));
    locals_.pop_back();
    slots_ = slots_before;
    return add({.op = Op::Bind, .slot = slot, .a = value, .b = body, .offset = node.offset});
  }

  Result<uint32_t> block(const AstNode& node) {
    const size_t count = node.kids.size() - 1;
    const uint32_t slots_before = slots_;
    const size_t locals_before = locals_.size();
    PAWL_TRY(uint16_t slot, new_slots(node.offset, count));
    std::vector<std::string> names(count);  // outlives the locals that point to it
    std::vector<uint32_t> values;
    for (size_t i = 0; i < count; ++i) {
      PAWL_TRY(uint32_t value, emit(node.kids[i]));
      values.push_back(value);
      names[i] = "@index:" + std::to_string(i);
      locals_.push_back({names[i], static_cast<uint16_t>(slot + i)});
    }
    PAWL_TRY(uint32_t body, emit(node.kids[count]));
    locals_.resize(locals_before);
    slots_ = slots_before;
    return add({.op = Op::Block,
                .slot = slot,
                .a = body,
                .b = operands(values),
                .c = static_cast<uint32_t>(count),
                .offset = node.offset});
  }

  std::string_view source_;
  const Ast& ast_;
  const CompileOptions& options_;
  std::vector<std::string> spaces_;  // namespaces with a trailing dot, innermost first, "" last
  std::vector<Local> locals_;
  uint32_t slots_ = 0;
  Code code_;
  Budget& compiling_;
  Budget folding_{BudgetLimits{.steps_max = 20'000, .bytes_max = 256u << 10, .depth_max = 64}};
};

}  // namespace

Result<Code> compile_code(std::string_view source, const Ast& ast, const CompileOptions& options,
                          Budget& budget) {
  return Compiler(source, ast, options, budget).run();
}

}  // namespace pawl::expr
