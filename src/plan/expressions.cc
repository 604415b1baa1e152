#include "plan/expressions.h"

#include <algorithm>
#include <array>

#include "expr/cel/program.h"
#include "expr/jq/jq.h"
#include "expr/schema/json_schema.h"
#include "expr/template/template.h"
#include "plan/secret_rule.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kOpen = "${{";
constexpr std::string_view kClose = "}}";
constexpr std::array<std::string_view, 9> kScopes = {
    "steps", "inputs", "workflow", "context", "loop", "iter", "secrets", "results", "error"};

bool is_scope(std::string_view name) {
  return std::find(kScopes.begin(), kScopes.end(), name) != kScopes.end();
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Result<std::shared_ptr<const expr::Program>> compile(Findings& findings, std::string_view cel) {
  return expr::Program::compile(cel, expr::CompileOptions::workflow(), findings.compiling());
}

void append_segment(std::string& out, std::string_view segment) {
  if (std::all_of(segment.begin(), segment.end(), is_digit)) {
    out.append("[").append(segment).append("]");
  } else if (!is_digit(segment[0]) && segment.find('-') == std::string_view::npos) {
    out.append(".").append(segment);
  } else {
    out.append("['").append(segment).append("']");
  }
}

// The CEL form of a dotted path whose segments are words, with or without '-'; "" if the text is
// not such a path.
std::string path_as_cel(std::string_view text) {
  std::string out;
  size_t segments = 0;
  while (true) {
    const size_t dot = text.find('.');
    const std::string_view segment = text.substr(0, dot);
    const bool word = !segment.empty() && std::all_of(segment.begin(), segment.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '-';
    });
    if (!word || (segments == 0 && !is_scope(segment))) return {};
    if (segments == 0) {
      out = segment == "loop" ? "iter" : segment;
    } else {
      append_segment(out, segment);
    }
    ++segments;
    if (dot == std::string_view::npos) break;
    text.remove_prefix(dot + 1);
  }
  return segments > 1 ? out : std::string();
}

std::string as_cel(std::string_view text) {
  const std::string_view inner = expr::unwrap_template(text);
  if (!expr::has_template(text)) return std::string(inner);
  const std::string path = path_as_cel(inner);
  return path.empty() ? std::string(inner) : path;
}

// One ${{ … }}, alone in its text or not. Anything but a path is compiled, since a run compiles it
// too: it counts towards the cost of the definition. A text that begins like a path may be one that
// CEL cannot read, and faults among other text are reported by the run.
void check_inner(Findings& findings, const Cursor& at, std::string_view inner, bool alone) {
  const size_t first = inner.find_first_not_of(" \t\r\n");
  const size_t last = inner.find_last_not_of(" \t\r\n");
  inner = inner.substr(first, last - first + 1);
  if (!path_as_cel(inner).empty() || findings.too_costly(at)) return;
  size_t word = 0;
  while (word < inner.size() && (is_letter(inner[word]) || is_digit(inner[word]))) ++word;
  const bool path_like = word > 0 && word < inner.size() && inner[word] == '.';
  const auto program = compile(findings, inner);
  if (program.ok() || findings.too_costly(at)) return;
  if (alone && !path_like) findings.error(at, "expression", "template: " + program.error().message);
}

void check_text(Findings& findings, const Cursor& at, const std::string& text) {
  size_t from = text.find(kOpen);
  if (from == std::string::npos) return;
  const std::string_view whole = expr::unwrap_template(text);
  const bool alone =
      whole.find(kOpen) == std::string_view::npos && text.find_first_not_of(" \t\r\n") == from;
  while (from != std::string::npos) {
    const size_t end = text.find(kClose, from + kOpen.size());
    if (end == std::string::npos) {
      findings.error(at, "template",
                     "'${{' at character " + std::to_string(from + 1) + " is not closed",
                     "close it with '}}'");
      return;
    }
    const std::string_view inner =
        std::string_view(text).substr(from + kOpen.size(), end - from - kOpen.size());
    if (is_blank(inner)) {
      findings.error(at, "template", "'${{ }}' says nothing");
      return;
    }
    findings.references().note(at, inner, true);
    if (!alone) check_inner(findings, at, inner, false);
    from = text.find(kOpen, end + kClose.size());
  }
  if (alone) check_inner(findings, at, whole, true);
}

}  // namespace

std::string read_expression(Findings& findings, const Cursor& at, bool checked) {
  if (at.value().is_bool()) return at.value().as_bool() ? "true" : "false";
  const std::string text = findings.text(at);
  if (!checked || is_blank(text)) return is_blank(text) ? std::string() : text;
  const std::string cel = as_cel(text);
  check_no_secrets(findings, at, cel);
  findings.references().note(at, cel, false);
  if (expr::has_template(cel)) {
    findings.error(at, "expression", "an expression cannot hold templates among other text",
                   "write the names without ${{ }}: inputs.x == 'a'");
    return cel;
  }
  if (findings.too_costly(at)) return cel;
  if (const auto program = compile(findings, cel); !program.ok() && !findings.too_costly(at)) {
    findings.error(at, "expression", program.error().message);
  }
  return cel;
}

Value read_over(Findings& findings, const Cursor& at, bool checked) {
  if (at.is_array()) {
    if (checked) check_templates(findings, at);
    if (checked) check_secrets(findings, at, {});
    return at.value();
  }
  if (!at.is_string()) {
    findings.error(at, "type", "must be a list, or an expression that gives one");
    return {};
  }
  const std::string& text = at.value().as_string();
  if (!checked) return text;
  std::string cel = as_cel(text);
  if (findings.too_costly(at)) return text;
  if (const auto program = compile(findings, cel); !program.ok()) {
    const auto jq = expr::JqProgram::compile(text, findings.compiling());
    if (!jq.ok() && !findings.too_costly(at)) {
      findings.error(
          at, "expression",
          "neither CEL (" + program.error().message + ") nor jq (" + jq.error().message + ")");
    }
    return text;
  }
  check_no_secrets(findings, at, cel);
  findings.references().note(at, cel, false);
  return cel;
}

void check_schema(Findings& findings, const Cursor& at) {
  if (findings.too_costly(at)) return;
  const auto schema = expr::JsonSchema::compile(at.value(), findings.compiling());
  if (!schema.ok() && !findings.too_costly(at))
    findings.error(at, "schema", schema.error().message);
}

Value read_output(Findings& findings, const Cursor& at) {
  const Value& value = at.value();
  if (!value.is_string() || expr::has_template(value.as_string())) return value;
  if (findings.too_costly(at)) return value;
  const auto program = compile(findings, value.as_string());
  if (!program.ok()) {
    (void)findings.too_costly(at);
    return value;
  }
  for (const std::string& name : (*program)->variables()) {
    if (is_scope(name)) return "${{ " + value.as_string() + " }}";
  }
  return value;
}

void check_templates(Findings& findings, const Cursor& tree) {
  if (tree.is_string()) return check_text(findings, tree, tree.value().as_string());
  if (tree.is_array()) {
    for (size_t i = 0; i < tree.value().as_array().size(); ++i) {
      check_templates(findings, tree.element(i));
    }
  } else if (tree.is_object()) {
    for (size_t i = 0; i < tree.value().as_object().size(); ++i) {
      const Cursor member = tree.member(i);
      check_text(findings, member, tree.value().as_object().at(i).key);
      check_templates(findings, member);
    }
  }
}

}  // namespace pawl::plan
