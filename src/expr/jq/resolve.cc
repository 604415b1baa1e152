// Resolves the names of a program, and finds the filters that have at most one output.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/quote.h"
#include "expr/jq/machine.h"
#include "expr/jq/prelude.h"

namespace pawl::expr::jq {
namespace {

using Globals = std::map<std::pair<std::string, size_t>, const Function*, std::less<>>;

struct SpecialEntry {
  std::string_view name;
  size_t args;
  Special special;
};
constexpr SpecialEntry kSpecials[] = {
    {"empty", 0, Special::Empty},      {"path", 1, Special::Path},
    {"range", 1, Special::Range},      {"range", 2, Special::Range},
    {"range", 3, Special::Range},      {"limit", 2, Special::Limit},
    {"first", 1, Special::First},      {"last", 1, Special::Last},
    {"until", 2, Special::Until},      {"while", 2, Special::While},
    {"repeat", 1, Special::Repeat},    {"recurse", 0, Special::Recurse},
    {"recurse", 1, Special::Recurse},  {"isempty", 1, Special::IsEmpty},
    {"any", 0, Special::Any},          {"any", 1, Special::Any},
    {"any", 2, Special::Any},          {"all", 0, Special::All},
    {"all", 1, Special::All},          {"all", 2, Special::All},
    {"add", 1, Special::AddOf},        {"sort_by", 1, Special::SortBy},
    {"group_by", 1, Special::GroupBy}, {"unique_by", 1, Special::UniqueBy},
    {"min_by", 1, Special::MinBy},     {"max_by", 1, Special::MaxBy},
    {"sub", 2, Special::Sub},          {"sub", 3, Special::Sub},
    {"gsub", 2, Special::Gsub},        {"gsub", 3, Special::Gsub},
    {"getpath", 1, Special::GetPath},  {"debug", 0, Special::Debug},
    {"debug", 1, Special::Debug},      {"stderr", 0, Special::Debug},
};

// Builtins with outside access: there is no input stream, clock, module or process here.
constexpr std::string_view kRefused[] = {"input",      "inputs",          "now",
                                         "localtime",  "strflocaltime",   "halt",
                                         "halt_error", "input_filename",  "input_line_number",
                                         "modulemeta", "get_search_list", "builtins"};

struct Name {
  enum class Kind : uint8_t { Variable, Parameter, Closure, Function, Label };
  Kind kind;
  std::string name;
  const Function* function = nullptr;
};

class Resolver {
 public:
  Resolver(std::string_view source, const Globals& globals) : source_(source), globals_(globals) {}

  void function(Function& function) {
    for (const Param& param : function.params)
      names_.push_back({param.value ? Name::Kind::Parameter : Name::Kind::Closure, param.name});
    node(*function.body);
    names_.resize(names_.size() - function.params.size());
    function.single = function.body->single;
  }

  void node(Node& node);
  Status status() const {
    if (problem_.empty()) return ok_status();
    return error_at(source_, offset_, problem_);
  }

 private:
  void fail(const Node& node, std::string message) {
    if (!problem_.empty()) return;
    problem_ = std::move(message);
    offset_ = node.offset;
  }
  bool singles(const Node& node) const {
    return std::all_of(node.args.begin(), node.args.end(),
                       [](const NodePtr& arg) { return arg == nullptr || arg->single; });
  }
  void call(Node& node);
  bool local_call(Node& node);
  void variable(Node& node, Name::Kind wanted);
  void patterns(Node& node);
  void pattern(Node& node, Pattern& pattern);
  bool is_single(const Node& node) const;
  bool is_single_call(const Node& node) const;

  std::string_view source_;
  const Globals& globals_;
  std::vector<Name> names_;
  std::string problem_;
  uint32_t offset_ = 0;
};

void Resolver::variable(Node& node, Name::Kind wanted) {
  for (size_t i = names_.size(); i > 0; --i) {
    const Name& name = names_[i - 1];
    const bool fits = name.kind == wanted ||
                      (wanted == Name::Kind::Variable && name.kind == Name::Kind::Parameter);
    if (!fits || name.name != node.text) continue;
    node.target = Target::Value;
    node.hops = static_cast<uint32_t>(names_.size() - i);
    return;
  }
  if (wanted == Name::Kind::Label) fail(node, "there is no label $" + node.text);
  if (node.text == "ENV") {
    node.op = Op::Literal;
    node.literal = Datum();
  }
}

bool Resolver::local_call(Node& node) {
  for (size_t i = names_.size(); i > 0; --i) {
    const Name& name = names_[i - 1];
    if (name.name != node.text) continue;
    if (name.kind == Name::Kind::Function) {
      if (name.function->params.size() != node.args.size()) continue;
      node.target = Target::Function;
      node.global = name.function;
    } else if (node.args.empty() && name.kind == Name::Kind::Closure) {
      node.target = Target::Closure;
    } else if (node.args.empty() && name.kind == Name::Kind::Parameter) {
      node.target = Target::Value;
    } else {
      continue;
    }
    node.hops = static_cast<uint32_t>(names_.size() - i);
    return true;
  }
  return false;
}

void Resolver::call(Node& node) {
  if (local_call(node)) return;
  for (const SpecialEntry& entry : kSpecials) {
    if (entry.name != node.text || entry.args != node.args.size()) continue;
    node.target = Target::Special;
    node.special = entry.special;
    return;
  }
  if (node.native = find_native(node.text, node.args.size()); node.native != nullptr) {
    node.target = Target::Native;
    return;
  }
  const auto global = globals_.find(std::pair<std::string, size_t>(node.text, node.args.size()));
  if (global != globals_.end()) {
    node.target = Target::Global;
    node.global = global->second;
    return;
  }
  const bool refused =
      std::find(std::begin(kRefused), std::end(kRefused), node.text) != std::end(kRefused);
  const std::string name = node.text.substr(0, 64) + "/" + std::to_string(node.args.size());
  fail(node, refused ? name + " is not available: there is nothing outside the expression"
                     : name + " is not defined");
}

void Resolver::pattern(Node& node, Pattern& pattern) {
  const auto add = [&](const std::string& name) {
    auto& known = node.variables;
    if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  };
  if (pattern.kind == Pattern::Kind::Variable && !pattern.name.empty()) add(pattern.name);
  for (NodePtr& key : pattern.keys) this->node(*key);
  for (const std::string& name : pattern.bound) {
    if (!name.empty()) add(name);
  }
  for (Pattern& element : pattern.elements) this->pattern(node, element);
}

void Resolver::patterns(Node& node) {
  for (Pattern& each : node.patterns) pattern(node, each);
  for (const std::string& name : node.variables) names_.push_back({Name::Kind::Variable, name});
}

bool Resolver::is_single_call(const Node& node) const {
  switch (node.target) {
    case Target::Native:
      return singles(node);
    case Target::Value:
      return true;
    case Target::Function:
    case Target::Global:
      return node.global->single &&
             std::all_of(node.args.begin(), node.args.end(), [&](const NodePtr& arg) {
               const size_t i = static_cast<size_t>(&arg - node.args.data());
               return arg->single || !node.global->params[i].value;
             });
    case Target::Special:
      return node.special == Special::Empty || node.special == Special::First ||
             node.special == Special::Last || node.special == Special::IsEmpty ||
             node.special == Special::Any || node.special == Special::All ||
             node.special == Special::AddOf || node.special == Special::SortBy ||
             node.special == Special::GroupBy || node.special == Special::UniqueBy ||
             node.special == Special::MinBy || node.special == Special::MaxBy ||
             (node.special == Special::GetPath && singles(node));
    case Target::None:
    case Target::Closure:
      return false;
  }
  return false;
}

bool Resolver::is_single(const Node& node) const {
  switch (node.op) {
    case Op::Iterate:
    case Op::Comma:
    case Op::RecurseDefault:
    case Op::Foreach:
    case Op::Label:
      return false;
    case Op::Array:
      return true;
    case Op::Reduce:
      return node.args[1]->single;
    case Op::Update:
      return true;
    case Op::Assign:
    case Op::Arithmetic:
      return node.args[1]->single;
    case Op::Define:
      return node.args[0]->single;
    case Op::Bind:
      return node.patterns.size() == 1 && node.patterns[0].kind == Pattern::Kind::Variable &&
             singles(node);
    case Op::Call:
      return is_single_call(node);
    case Op::Identity:
    case Op::Literal:
    case Op::Index:
    case Op::Slice:
    case Op::String:
    case Op::Format:
    case Op::Object:
    case Op::Pipe:
    case Op::Negate:
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Divide:
    case Op::Modulo:
    case Op::Equal:
    case Op::NotEqual:
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual:
    case Op::And:
    case Op::Or:
    case Op::Alternative:
    case Op::If:
    case Op::Try:
    case Op::Variable:
    case Op::Break:
      return singles(node);
  }
  return false;
}

void Resolver::node(Node& node) {
  const size_t names_before = names_.size();
  const bool binds = node.op == Op::Bind || node.op == Op::Reduce || node.op == Op::Foreach;
  if (node.op == Op::Define) {
    names_.push_back({Name::Kind::Function, node.function->name, node.function.get()});
    function(*node.function);
  }
  if (node.op == Op::Label) names_.push_back({Name::Kind::Label, node.text});
  for (size_t i = 0; i < node.args.size(); ++i) {
    // The source cannot see the variables; neither can the start value of a fold.
    const size_t outside = node.op == Op::Bind ? 1 : 2;
    if (binds && i == outside) patterns(node);
    if (node.args[i] != nullptr) this->node(*node.args[i]);
  }
  names_.resize(names_before);
  if (node.op == Op::Call) call(node);
  if (node.op == Op::Variable) variable(node, Name::Kind::Variable);
  if (node.op == Op::Break) variable(node, Name::Kind::Label);
  if ((node.op == Op::Format || (node.op == Op::String && !node.text.empty())) &&
      !is_format(node.text))
    fail(node, "unknown format @" + node.text.substr(0, 64));
  if (problem_.empty()) node.single = is_single(node);
}

struct Prelude {
  Prelude() {
    auto parsed = parse_definitions(kPrelude);
    PAWL_CHECK(parsed.ok());
    functions = std::move(*parsed);
    for (const auto& function : functions)
      globals[{function->name, function->params.size()}] = function.get();
    for (const auto& function : functions) {
      strip(*function->body);
      Resolver resolver(kPrelude, globals);
      resolver.function(*function);
      PAWL_CHECK(resolver.status().ok());
    }
  }
  // Positions in the prelude mean nothing to a caller.
  static void strip(Node& node) {
    node.offset = kNowhere;
    for (const NodePtr& arg : node.args) {
      if (arg != nullptr) strip(*arg);
    }
    if (node.function != nullptr) strip(*node.function->body);
  }

  std::vector<std::unique_ptr<Function>> functions;
  Globals globals;
};

const Prelude& prelude() {
  static const Prelude* const kLoaded = new Prelude();
  return *kLoaded;
}

}  // namespace

const NativeEntry* find_native(std::string_view name, size_t args) {
  static const auto* const kTable = [] {
    auto* table = new std::map<std::pair<std::string_view, size_t>, NativeEntry>();
    for (const auto& family :
         {core_natives(), math_natives(), text_natives(), regex_natives(), time_natives()}) {
      for (const NativeEntry& entry : family) (*table)[{entry.name, entry.args}] = entry;
    }
    return table;
  }();
  const auto found = kTable->find({name, args});
  return found == kTable->end() ? nullptr : &found->second;
}

Status resolve(Node& root, std::string_view source) {
  Resolver resolver(source, prelude().globals);
  resolver.node(root);
  return resolver.status();
}

}  // namespace pawl::expr::jq
