#include "expr/template/template.h"

#include <algorithm>

#include "expr/cel/convert.h"
#include "expr/template/path.h"
#include "expr/text.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kOpen = "${{";
constexpr std::string_view kClose = "}}";
constexpr uint32_t kDepthMax = 256;

// Where the expression that starts at `from` ends: the first }} outside quotes and braces of the
// expression. Text that is no CEL, such as a key with an apostrophe, ends at the first }} of all.
size_t expression_end(std::string_view text, size_t from) {
  size_t braces = 0;
  char quote = '\0';
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++braces;
    } else if (c == '}' && braces > 0) {
      --braces;
    } else if (text.substr(i, kClose.size()) == kClose) {
      return i;
    }
  }
  return text.find(kClose, from);
}

class Interpolation {
 public:
  Interpolation(const Activation& activation, ProgramCache& cache, Budget& budget,
                const TemplateOptions& options)
      : activation_(activation), cache_(cache), budget_(budget), options_(options) {}

  Result<Interpolated> run(const Value& tree) {
    PAWL_TRY(Value value, visit(tree, 0));
    return Interpolated{std::move(value), std::move(secrets_)};
  }

 private:
  Error wrong(ErrorCode code, const std::string& message) const {
    return Error{code, path_ + ": " + message, {Complaint{path_, message}}};
  }

  Error spent() const {
    return wrong(ErrorCode::TooLarge, "the result is larger than the evaluation budget allows");
  }

  Result<Value> visit(const Value& node, uint32_t depth) {
    if (depth > kDepthMax)
      return wrong(ErrorCode::TooLarge,
                   "nests deeper than " + std::to_string(kDepthMax) + " levels");
    if (!budget_.spend_steps(1) || !budget_.spend_bytes(sizeof(Value))) return spent();
    if (node.is_string()) return string(node.as_string());
    const size_t path_size = path_.size();
    if (node.is_array()) {
      Value::Array elements;
      elements.reserve(node.as_array().size());
      for (size_t i = 0; i < node.as_array().size(); ++i) {
        path_ += "[" + std::to_string(i) + "]";
        PAWL_TRY(Value element, visit(node.as_array()[i], depth + 1));
        elements.push_back(std::move(element));
        path_.resize(path_size);
      }
      return Value(std::move(elements));
    }
    if (!node.is_object()) return node;
    Value::Object members;
    for (const Value::Member& member : node.as_object()) {
      path_ += "." + member.key;
      enter(member.key, depth);
      std::string key = member.key;
      if (has_template(key)) {
        PAWL_TRY(key, render(member.key, true));
        if (members.contains(key))
          return wrong(ErrorCode::InvalidContent, "two keys of one object read '" + key + "'");
        enter(key, depth);  // the places of secrets are reported with filled-in names
      }
      if (!budget_.spend_bytes(key.size() + 32)) return spent();
      PAWL_TRY(Value value, visit(member.value, depth + 1));
      members.set(key, std::move(value));
      path_.resize(path_size);
    }
    return Value(std::move(members));
  }

  void enter(std::string_view key, uint32_t depth) {
    if (depth == 0) param_ = key, member_ = {};
    if (depth == 1) member_ = key;
  }

  Result<Value> string(const std::string& text) {
    if (!has_template(text)) {
      if (!budget_.spend_bytes(text.size())) return spent();
      return Value(text);
    }
    const std::string_view whole = trimmed(text);
    const bool alone = whole.substr(0, kOpen.size()) == kOpen &&
                       expression_end(whole, kOpen.size()) == whole.size() - kClose.size();
    if (!alone || options_.always_text) {
      PAWL_TRY(std::string rendered, render(text));
      return Value(std::move(rendered));
    }
    PAWL_TRY(Val value,
             evaluate(whole.substr(kOpen.size(), whole.size() - kOpen.size() - kClose.size())));
    Result<Value> json = to_json(value, budget_);
    if (!json.ok()) return wrong(json.error().code, json.error().message);
    return std::move(*json);
  }

  Result<std::string> render(std::string_view text, bool in_key = false) {
    std::string out;
    size_t at = 0;
    for (;;) {
      const size_t open = text.find(kOpen, at);
      if (!budget_.spend_bytes(std::min(open, text.size()) - at)) return spent();
      out.append(text.substr(at, open - at));
      if (open == std::string_view::npos) return out;
      const size_t from = open + kOpen.size();
      const size_t close = expression_end(text, from);
      if (close == std::string_view::npos)
        return wrong(ErrorCode::InvalidContent, "expected }} to close ${{");
      PAWL_TRY(Val value, evaluate(text.substr(from, close - from), out, in_key));
      Result<std::string> part = to_text(value, budget_);
      if (!part.ok()) return wrong(part.error().code, part.error().message);
      out += *part;
      at = close + kClose.size();
    }
  }

  Error denied(std::string_view expression, const std::string& why) const {
    Error error = wrong(ErrorCode::Forbidden,
                        "in ${{ " + std::string(expression.substr(0, 120)) + " }}: " + why);
    error.complaints[0].code = "secret_denied";
    return error;
  }

  Result<Val> secret(std::string_view expression, std::string_view name, std::string_view before,
                     bool in_key) {
    if (options_.secrets == nullptr)
      return denied(expression, "a secret may not be used here: what is kept of it could be read");
    Result<OpenedSecret> opened = options_.secrets->reveal({name, param_, member_, before, in_key});
    if (!opened.ok() && opened.error().code == ErrorCode::Forbidden)
      return denied(expression, opened.error().message);
    if (!opened.ok())
      return wrong(ErrorCode::InvalidContent, "in ${{ " + std::string(expression.substr(0, 120)) +
                                                  " }}: " + opened.error().message);
    if (!budget_.spend_bytes(opened->text.size())) return spent();
    secrets_.push_back({path_, opened->text, std::string(name), std::string(param_),
                        std::string(member_), std::move(opened->hosts)});
    return Val::string(std::move(opened->text));
  }

  Result<Val> evaluate(std::string_view expression, std::string_view before = {},
                       bool in_key = false) {
    constexpr const char* kOnlyPlain =
        "a secret may only be referred to as ${{ secrets.NAME }}: an expression that computes with "
        "it could read it";
    expression = trimmed(expression);
    if (expression.empty())
      return wrong(ErrorCode::InvalidContent, "expected an expression between ${{ and }}");
    if (const auto name = plain_secret(expression))
      return secret(expression, *name, before, in_key);
    if (is_secret_path(expression)) return denied(expression, kOnlyPlain);
    PathLookup lookup = look_up_path(expression, activation_, budget_);
    if (!lookup.value.is_absent()) return lookup.value;
    Result<std::shared_ptr<const Program>> program = cache_.get(expression);
    if (program.ok() && names_secrets(**program)) return denied(expression, kOnlyPlain);
    Result<Val> value =
        program.ok() ? (*program)->evaluate(activation_, budget_) : Result<Val>(program.error());
    if (value.ok()) return value;
    // Report a plain path as a path: its author did not mean CEL.
    const bool say_path = !lookup.problem.empty() && value.error().code != ErrorCode::TooLarge;
    return wrong(say_path ? ErrorCode::InvalidContent : value.error().code,
                 "in ${{ " + std::string(expression.substr(0, 120)) +
                     " }}: " + (say_path ? lookup.problem : value.error().message));
  }

  static bool is_secret_path(std::string_view path) {
    return path == "secrets" || path.starts_with("secrets.");
  }
  static bool names_secrets(const Program& program) {
    return std::binary_search(program.variables().begin(), program.variables().end(), "secrets");
  }

  const Activation& activation_;
  ProgramCache& cache_;
  Budget& budget_;
  const TemplateOptions& options_;
  std::string path_ = "$";
  std::string_view param_, member_;  // of the tree, as far as the path goes
  std::vector<Secret> secrets_;
};

}  // namespace

Result<Interpolated> interpolate(const Value& tree, const Activation& activation,
                                 ProgramCache& cache, Budget& budget,
                                 const TemplateOptions& options) {
  return Interpolation(activation, cache, budget, options).run(tree);
}

bool has_template(std::string_view text) { return text.find(kOpen) != std::string_view::npos; }

std::string_view unwrap_template(std::string_view text) {
  const std::string_view whole = trimmed(text);
  if (whole.substr(0, kOpen.size()) != kOpen) return whole;
  const size_t end = expression_end(whole, kOpen.size());
  if (end == std::string_view::npos || end + kClose.size() != whole.size()) return whole;
  return trimmed(whole.substr(kOpen.size(), end - kOpen.size()));
}

}  // namespace pawl::expr
