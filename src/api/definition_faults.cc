#include "api/definition_faults.h"

#include <algorithm>
#include <span>

#include "actions/params_judge.h"
#include "base/json_writer.h"
#include "plan/nearest.h"
#include "plan/source.h"

namespace pawl::api {
namespace {

std::string joined(std::string_view prefix, std::string_view path) {
  if (prefix.empty() || path.empty()) return std::string(prefix.empty() ? path : prefix);
  return std::string(prefix) + (path.front() == '[' ? "" : ".") + std::string(path);
}

}  // namespace

Result<json::Doc> parse_definition_body(Call& call) {
  if (call.request.header("content-type").find("yaml") == std::string_view::npos)
    return parse_body(call);
  plan::Source source = plan::read_source(call.request.body, {});
  if (!source.faults.empty() || !source.value.is_object()) {
    plan::ReadResult read;
    read.errors = source.faults;
    if (read.errors.empty()) read.errors.push_back({"", "type", "must be a mapping", "", 1});
    return fault_error(read, "");
  }
  call.request.body = source.value.json();
  return json::parse(call.request.body, {.depth_max = plan::kValueDepthMax});
}

plan::ReadResult read_given(App& app, const Call& call, const std::string& text) {
  plan::ReadOptions options;
  options.lenient = is_lenient(call);
  const std::vector<std::string>& known = app.config().action_names;
  if (!known.empty()) options.actions = &known;
  options.params = actions::judge_params;
  return plan::read_definition(text, options);
}

std::string faults_json(const std::vector<plan::Fault>& faults) {
  std::string text;
  json::Writer w(text);
  w.begin_array();
  for (const plan::Fault& fault : faults) {
    w.begin_object().field("path", fault.path).field("code", fault.code);
    w.field("message", fault.message);
    if (!fault.hint.empty()) w.field("hint", fault.hint);
    if (fault.line != 0) w.field_int("line", fault.line);
    w.end_object();
  }
  w.end_array();
  return text;
}

Error fault_error(const plan::ReadResult& read, std::string_view prefix) {
  size_t count = read.errors.size();
  Error error{ErrorCode::InvalidContent,
              count == 1 ? "the definition is not valid: "
                         : "the definition has " + std::to_string(count) + " errors; the first: "};
  for (const plan::Fault& fault : read.errors) {
    std::string message = fault.message;
    if (fault.line != 0) message += " (line " + std::to_string(fault.line) + ")";
    if (!fault.hint.empty()) message += "; " + fault.hint;
    if (error.complaints.empty())
      error.message += (fault.path.empty() ? "" : fault.path + ": ") + message;
    error.complaints.push_back({joined(prefix, fault.path), message, fault.code});
  }
  return error;
}

bool is_lenient(const Call& call) { return call.query("lenient") == "true"; }

void refuse_unknown(const Call& call, Fields& fields, std::initializer_list<std::string_view> known,
                    bool strict) {
  if (strict && !is_lenient(call)) refuse_unknown(fields, known);
}

void refuse_unknown(Fields& fields, std::initializer_list<std::string_view> known) {
  fields.object().each_member([&](json::View key, json::View) {
    std::string name = key.string();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::string hint = plan::meant(name, std::span(known.begin(), known.end()));
    fields.complain(name, "is no member that this call knows" + (hint.empty() ? "" : "; " + hint),
                    "unknown_field");
  });
}

}  // namespace pawl::api
