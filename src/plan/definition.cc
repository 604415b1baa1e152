#include "plan/definition.h"

#include <map>

#include "base/json.h"
#include "base/quote.h"
#include "expr/template/template.h"
#include "plan/canonical.h"
#include "plan/expressions.h"
#include "plan/field_names.h"
#include "plan/findings.h"
#include "plan/secret_rule.h"
#include "plan/source.h"
#include "plan/step_reader.h"

namespace pawl::plan {
namespace {

// Accepted text may have been read under wider limits than today's.
constexpr json::Limits kCanonicalJson{.depth_max = 4 * kValueDepthMax, .nodes_max = 16'000'000};
constexpr DefinitionLimits kCanonicalLimits{
    .bytes_max = SIZE_MAX, .steps_max = UINT32_MAX, .depth_max = kValueDepthMax};

constexpr Named<OnTimeout> kOnTimeouts[] = {
    {"fail", OnTimeout::Fail}, {"suspend", OnTimeout::Suspend}, {"cancel", OnTimeout::Cancel}};
constexpr Named<OnError> kOnErrors[] = {{"fail_workflow", OnError::Propagate},
                                        {"rollback", OnError::Rollback}};
constexpr Named<OnError> kOnFailures[] = {{"fail", OnError::Propagate},
                                          {"rollback", OnError::Rollback}};
constexpr Named<bool> kOnLimits[] = {{"queue", false}, {"reject", true}};
constexpr Named<bool> kCompats[] = {{"text", true}};

class DefinitionReader {
 public:
  DefinitionReader(const ReadOptions& options, bool checked)
      : options_(options),
        checked_(checked),
        findings_(options.lenient, options.limits.compile_steps_max) {}

  void read(const Cursor& at) {
    if (!findings_.expect_object(at)) return;
    const std::optional<Cursor> inner = at.field("definition");
    if (inner && inner->is_object() && !at.field("steps")) {
      findings_.only(at, names::kFile, "a definition's file");
      read_header(at);
      read_body(*inner);
    } else {
      read_body(at);
    }
  }

  ReadResult result() {
    ReadResult out;
    if (checked_) findings_.warn(findings_.references().judge(script_));
    if (!findings_.failed()) {
      if (checked_) out.canonical = canonical_definition(script_).json();
      out.script = std::make_shared<const Script>(std::move(script_));
    }
    out.errors = findings_.take_errors();
    out.warnings = findings_.take_warnings();
    return out;
  }

 private:
  void read_header(const Cursor& at) {
    read_text(at, "name", script_.name);
    read_text(at, "description", script_.description);
    if (const auto version = at.field("version")) {
      // An unquoted 1.0 is a number.
      script_.version =
          version->value().is_number() ? version->value().json() : findings_.text(*version);
    }
    if (const auto schema = at.field("input_schema")) {
      if (schema->value().is_bool() || findings_.expect_object(*schema)) {
        script_.input_schema = schema->value();
        if (checked_) check_schema(findings_, *schema);
      }
    }
  }

  void read_text(const Cursor& at, std::string_view name, std::string& out) {
    if (const auto field = at.field(name)) out = findings_.text(*field);
  }

  void read_body(const Cursor& at) {
    findings_.only(at, names::kDefinition, "a definition");
    read_header(at);
    read_values(at);
    read_names(at);
    read_policy(at);
    StepReader reader(script_, findings_, options_, checked_);
    const std::optional<Cursor> steps = at.field("steps");
    if (!steps) {
      findings_.error(at, "required", "a definition needs 'steps'");
    } else if (findings_.expect_array(*steps)) {
      if (steps->value().as_array().empty()) {
        findings_.error(*steps, "value", "a definition needs at least one step");
      }
      script_.root = reader.read_list(*steps, StepReader::Role::Root, kNoStep);
    }
    script_.on_complete = read_hook(reader, at.field("on_complete"), "on_complete");
    read_on_error(reader, at);
  }

  // workflow_id names the workflow; the name beside it is for people.
  void read_names(const Cursor& at) {
    const auto id = at.field("workflow_id");
    if (!id) return;
    const std::string title = script_.name;
    script_.name = findings_.text(*id);
    if (title.empty() || title == script_.name || !at.field("name")) return;
    if (script_.metadata.is_null()) script_.metadata = Value(Value::Object());
    Value::Object& metadata = script_.metadata.as_object();
    if (!metadata.contains("title")) metadata.set("title", Value(title));
  }

  void read_values(const Cursor& at) {
    script_.inputs = Value(Value::Object());
    if (const auto inputs = at.field("inputs"); inputs && findings_.expect_object(*inputs)) {
      if (checked_) check_templates(findings_, *inputs);
      if (checked_) check_secrets(findings_, *inputs, {});
      script_.inputs = inputs->value();
    }
    if (const auto metadata = at.field("metadata");
        metadata && findings_.expect_object(*metadata)) {
      script_.metadata = metadata->value();
    }
    const auto outputs = at.field("outputs");
    if (!outputs || !findings_.expect_object(*outputs)) return;
    if (checked_) check_templates(findings_, *outputs);
    if (checked_) check_secrets(findings_, *outputs, {});
    for (size_t i = 0; checked_ && i < outputs->value().as_object().size(); ++i) {
      const Cursor output = outputs->member(i);
      if (output.is_string() && !expr::has_template(output.value().as_string()))
        check_no_secrets(findings_, output, output.value().as_string());
    }
    for (size_t i = 0; i < outputs->value().as_object().size(); ++i) {
      const Value::Member& member = outputs->value().as_object().at(i);
      script_.outputs.push_back(
          {member.key, checked_ ? read_output(findings_, outputs->member(i)) : member.value});
    }
  }

  void read_policy(const Cursor& at) {
    if (const auto timeout = at.field("timeout")) {
      script_.timeout_ms = findings_.duration_ms(*timeout);
    }
    if (const auto action = findings_.pick(at, {"on_timeout", "timeout_action"})) {
      script_.on_timeout = findings_.choice(*action, kOnTimeouts).value_or(OnTimeout::Fail);
    }
    if (const auto priority = at.field("priority")) {
      script_.priority = static_cast<int32_t>(findings_.whole(*priority, INT32_MIN, INT32_MAX, 0));
    }
    if (const auto max = at.field("max_concurrent")) {
      script_.max_concurrent = static_cast<uint32_t>(findings_.whole(*max, 0, UINT32_MAX, 0));
    }
    if (const auto limit = at.field("on_limit")) {
      script_.reject_at_limit = findings_.choice(*limit, kOnLimits).value_or(false);
    }
    if (const auto compat = at.field("compat")) {
      script_.text_mode = findings_.choice(*compat, kCompats).value_or(false);
    }
    if (const auto on_failure = at.field("on_failure")) {
      script_.on_failure = findings_.choice(*on_failure, kOnFailures).value_or(OnError::Propagate);
    }
  }

  void read_on_error(StepReader& reader, const Cursor& at) {
    const auto on_error = at.field("on_error");
    const auto strategy = on_error ? on_error->field("strategy") : std::nullopt;
    const bool plain = on_error && on_error->is_string();
    if (!strategy && !plain) {
      script_.on_error = read_hook(reader, on_error, "on_error");
      return;
    }
    if (strategy) {
      constexpr std::string_view kOnly[] = {"strategy"};
      findings_.only(*on_error, kOnly, "a workflow's error handler");
    }
    script_.on_failure =
        findings_.choice(plain ? *on_error : *strategy, kOnErrors).value_or(OnError::Propagate);
  }

  uint32_t read_hook(StepReader& reader, const std::optional<Cursor>& at, std::string_view name) {
    if (!at || at->value() == Value(Value::Array())) return kNoList;
    const uint32_t list = reader.read_list(*at, StepReader::Role::Hook, kNoStep, name);
    // Hooks share their ids with the steps: an id must be unique among both.
    for (const uint32_t place : script_.lists[list].steps) {
      const std::string& id = script_.steps[place].id;
      for (const uint32_t other : {script_.root, script_.on_complete}) {
        if (other != kNoList && !id.empty() && script_.find(other, id) != kNoStep) {
          findings_.error(*at, "duplicate",
                          "the id " + in_quotes(id) + " of this hook is another step's too");
        }
      }
    }
    return list;
  }

  const ReadOptions& options_;
  const bool checked_;
  Findings findings_;
  Script script_;
};

ReadResult read(const Value& value, const Lines* lines, const ReadOptions& options, bool checked) {
  DefinitionReader reader(options, checked);
  reader.read(Cursor(value, lines));
  return reader.result();
}

}  // namespace

ReadResult read_definition(std::string_view text, const ReadOptions& options) {
  Source source = read_source(text, options.limits);
  if (!source.faults.empty()) {
    ReadResult out;
    out.errors = std::move(source.faults);
    return out;
  }
  return read(source.value, &source.lines, options, true);
}

ReadResult read_definition(const Value& definition, const ReadOptions& options) {
  return read(definition, nullptr, options, true);
}

Result<Value> parse_canonical(std::string_view canonical) {
  return Value::parse(canonical, kCanonicalJson);
}

Result<std::shared_ptr<const Script>> compile_canonical(std::string_view canonical) {
  Result<Value> value = parse_canonical(canonical);
  if (!value.ok()) return Error{ErrorCode::Corrupt, "definition: " + value.error().message};
  ReadOptions options;
  options.lenient = true;
  options.limits = kCanonicalLimits;
  ReadResult read_back = read(*value, nullptr, options, false);
  if (read_back.valid()) return read_back.script;
  const Fault& fault = read_back.errors[0];
  return Error{ErrorCode::Corrupt, "definition: " + fault.path + ": " + fault.message};
}

}  // namespace pawl::plan
