#include "expr/template.h"

#include <algorithm>
#include <bitset>

#include "expr/convert.h"
#include "expr/path.h"

namespace pawl::expr {
namespace {

constexpr std::string_view kOpen = "${{";
constexpr std::string_view kClose = "}}";
constexpr uint32_t kDepthMax = 256;
constexpr size_t kRedactMin = 3;

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

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
  struct Outcome {
    Val value;
    bool secret = false;
  };

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
      std::string key = member.key;
      if (has_template(key)) {
        PAWL_TRY(key, render(member.key));
        if (members.contains(key))
          return wrong(ErrorCode::InvalidContent, "two keys of one object read '" + key + "'");
      }
      if (!budget_.spend_bytes(key.size() + 32)) return spent();
      PAWL_TRY(Value value, visit(member.value, depth + 1));
      members.set(key, std::move(value));
      path_.resize(path_size);
    }
    return Value(std::move(members));
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
    PAWL_TRY(Outcome outcome,
             evaluate(whole.substr(kOpen.size(), whole.size() - kOpen.size() - kClose.size())));
    Result<Value> json = to_json(outcome.value, budget_);
    if (!json.ok()) return wrong(json.error().code, json.error().message);
    if (outcome.secret) note_secret(path_, *json);
    return std::move(*json);
  }

  Result<std::string> render(std::string_view text) {
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
      PAWL_TRY(Outcome outcome, evaluate(text.substr(from, close - from)));
      Result<std::string> part = to_text(outcome.value, budget_);
      if (!part.ok()) return wrong(part.error().code, part.error().message);
      if (outcome.secret) {
        secrets_.push_back({path_, *part});
        if (outcome.value.is(Kind::List) || outcome.value.is(Kind::Map)) {
          PAWL_TRY(const Value leaves, to_json(outcome.value, budget_));
          note_secret(path_, leaves);
        }
      }
      out += *part;
      at = close + kClose.size();
    }
  }

  // Every scalar inside counts: a caller prints parts of a value as well as the whole.
  void note_secret(const std::string& path, const Value& value) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.as_array().size(); ++i)
        note_secret(path + "[" + std::to_string(i) + "]", value.as_array()[i]);
    } else if (value.is_object()) {
      for (const Value::Member& member : value.as_object())
        note_secret(path + "." + member.key, member.value);
    } else {
      secrets_.push_back({path, value.is_string() ? value.as_string() : value.json()});
    }
  }

  Result<Outcome> evaluate(std::string_view expression) {
    expression = trimmed(expression);
    if (expression.empty())
      return wrong(ErrorCode::InvalidContent, "expected an expression between ${{ and }}");
    PathLookup lookup = look_up_path(expression, activation_, budget_);
    if (!lookup.value.is_absent()) return Outcome{lookup.value, is_secret_path(expression)};
    Result<std::shared_ptr<const Program>> program = cache_.get(expression);
    Result<Val> value =
        program.ok() ? (*program)->evaluate(activation_, budget_) : Result<Val>(program.error());
    if (value.ok()) {
      return Outcome{std::move(*value), names_secrets(**program)};
    }
    // Messages quote values, so a failure that involves a secret must not explain itself.
    if (program.ok() && names_secrets(**program) && lookup.problem.empty() &&
        value.error().code != ErrorCode::TooLarge) {
      return wrong(value.error().code,
                   "in ${{ " + std::string(expression.substr(0, 120)) +
                       " }}: the expression failed; it names secrets, so the reason is not shown");
    }
    // A plain path is judged as a path: its author did not mean CEL.
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

std::string redact(std::string_view text, const std::vector<Secret>& secrets) {
  std::vector<std::string_view> wanted;
  for (const Secret& secret : secrets) {
    if (secret.text.size() >= kRedactMin) wanted.push_back(secret.text);
  }
  // A secret may contain another one: the longer goes first.
  std::sort(wanted.begin(), wanted.end(), [](auto a, auto b) { return a.size() > b.size(); });
  std::bitset<256> firsts;
  for (const std::string_view secret : wanted) firsts.set(static_cast<unsigned char>(secret[0]));
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!firsts[static_cast<unsigned char>(text[at])]) {
      out += text[at++];
      continue;
    }
    const auto hit = std::find_if(wanted.begin(), wanted.end(), [&](std::string_view secret) {
      return text.substr(at, secret.size()) == secret;
    });
    if (hit == wanted.end()) {
      out += text[at++];
    } else {
      out += "***";
      at += hit->size();
    }
  }
  return out;
}

}  // namespace pawl::expr
