// pawl validate, graph and eval: check definitions and expressions without running them.
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "api/definition_faults.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/json_layout.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "expr/cel/cache.h"
#include "expr/cel/convert.h"
#include "expr/exprlang/exprlang.h"
#include "expr/jq/jq.h"
#include "expr/template/template.h"
#include "main/definition_file.h"
#include "main/local.h"
#include "plan/diagram.h"

namespace pawl {
namespace {

using cli::Invocation;

int definitions_usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

// --- validate

int validate(const Invocation& given) {
  bool json = given.has("--json");
  int code = cli::kDone;
  json::ObjectWriter w;
  w.key("files").begin_array();
  for (const std::string& file : given.arguments) {
    auto text = read_definition_file(file);
    if (!text.ok()) return definitions_usage(text.error().message);
    plan::ReadResult read = read_definition_text(*text, given.has("--lenient"));
    if (!read.valid()) code = cli::kRefused;
    w.begin_object().field("file", file).field_bool("valid", read.valid());
    w.field_raw("errors", api::faults_json(read.errors));
    w.field_raw("warnings", api::faults_json(read.warnings)).end_object();
    if (json) continue;
    std::fputs(fault_lines(file, read, cli::colours_on(stderr)).c_str(), stderr);
    if (read.valid())
      cli::print_text(cli::printable(file) + ": valid, " +
                      std::to_string(read.script->steps.size()) + " steps\n");
  }
  w.end_array().field_bool("valid", code == cli::kDone);
  if (json) cli::print_text(w.close() + "\n");
  return code;
}

// --- graph

Status write_out(const std::string& file, const std::string& text) {
  if (file.empty()) {
    cli::print_text(text);
    return ok_status();
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) return Error{ErrorCode::Unavailable, "cannot write " + file};
  return ok_status();
}

bool is_file(const std::string& name) {
  struct stat info {};
  return name == "-" || ::stat(name.c_str(), &info) == 0;
}

// Names that cannot be run ids, so a file was meant.
bool looks_like_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('.') != std::string::npos;
}

// A run of a server, with the status of its steps.
int graph_of_run(const Invocation& given, const std::string& format, std::string& picture) {
  cli::Session session(given);
  auto text = session.fetch_text(cli::path_of("/v1/runs/", given.argument(0), "/diagram") +
                                 cli::query_of({{"format", format}}));
  if (text) {
    picture = std::move(*text);
    return cli::kDone;
  }
  std::fputs("      There is no file of that name either.\n", stderr);
  return session.exit_code();
}

int graph(const Invocation& given) {
  std::string format_name = given.text("--format", "ascii");
  auto format = plan::parse_diagram_format(format_name);
  if (!format.ok()) return definitions_usage(format.error().message);
  std::string file = given.argument(0);
  std::string picture;
  if (is_file(file) || looks_like_file(file)) {
    auto text = read_definition_file(file);
    if (!text.ok()) return definitions_usage(text.error().message);
    plan::ReadResult read = read_definition_text(*text, true);
    if (!read.valid()) {
      std::fputs(fault_lines(file, read, cli::colours_on(stderr)).c_str(), stderr);
      return cli::kUsage;
    }
    picture = plan::draw_diagram(*read.script, *format);
  } else if (int code = graph_of_run(given, format_name, picture); code != cli::kDone) {
    return code;
  }
  if (given.has("--json")) picture = cli::diagram_json(format_name, picture);
  if (picture.empty() || picture.back() != '\n') picture += '\n';
  Status written = write_out(given.text("--output"), picture);
  if (written.ok()) return cli::kDone;
  cli::complain(written.error().message);
  return cli::kRefused;
}

// --- eval

// JSON itself, a file, or - for standard input.
Result<Value> read_data(const std::string& given) {
  if (given.empty()) return Value(Value::Object{});
  if (auto value = Value::parse(given); value.ok()) return value;
  if (!is_file(given))
    return Error{ErrorCode::InvalidRequest,
                 "--data takes JSON or a file, and " + in_quotes(given) + " is neither"};
  return read_data_file(given);
}

class DataScope : public expr::Activation {
 public:
  explicit DataScope(const Value& data) : data_(data) {}
  expr::Val find(std::string_view name) const override {
    const Value* found = data_.find(name);
    return found == nullptr ? expr::Val() : expr::Val::json(*found);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    if (data_.is_object())
      for (const Value::Member& member : data_.as_object()) names.push_back(member.key);
    return names;
  }

 private:
  const Value& data_;
};

Result<std::vector<Value>> evaluate(const std::string& language, const std::string& text,
                                    const Value& data) {
  expr::Budget budget;
  if (language == "jq") {
    PAWL_TRY(auto program, expr::JqProgram::compile(text));
    return program->run(data, budget);
  }
  if (language == "expr") {
    PAWL_TRY(auto program, expr::ExprLang::compile(text));
    PAWL_TRY(Value value, program->evaluate(data, budget));
    return std::vector<Value>{std::move(value)};
  }
  DataScope scope(data);
  expr::ProgramCache cache;
  if (language == "template") {
    PAWL_TRY(expr::Interpolated filled, expr::interpolate(Value(text), scope, cache, budget));
    return std::vector<Value>{std::move(filled.value)};
  }
  PAWL_TRY(auto program, cache.get(expr::unwrap_template(text)));
  PAWL_TRY(expr::Val result, program->evaluate(scope, budget));
  PAWL_TRY(Value value, expr::to_json(result, budget));
  return std::vector<Value>{std::move(value)};
}

int eval(const Invocation& given) {
  std::string text = given.argument(0);
  std::string language = given.text("--lang", expr::has_template(text) ? "template" : "cel");
  if (language != "cel" && language != "jq" && language != "expr" && language != "template")
    return definitions_usage("--lang takes cel, jq, expr or template, not " + in_quotes(language));
  auto data = read_data(given.text("--data"));
  if (!data.ok()) return definitions_usage(data.error().message);
  if (language != "jq" && !data->is_object())
    return definitions_usage(
        "--data must be an object: its members are the variables (--lang jq takes any)");
  auto values = evaluate(language, text, *data);
  if (!values.ok()) {
    cli::complain(values.error().message);
    return cli::kRefused;
  }
  for (const Value& value : *values) {
    bool raw = given.has("--raw") && value.is_string();
    cli::print_text((raw                   ? value.as_string()
                     : given.has("--json") ? value.json()
                                           : cli::laid_out(value)) +
                    "\n");
  }
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> definition_commands() {
  return {{"validate",
           "check definitions: every error with its place",
           {{"FILE", "definitions, YAML or JSON; - reads standard input", true, true}},
           {{"--lenient", "", "unknown fields are warnings"},
            {"--json", "", "print {files: [{file, valid, errors, warnings}], valid}"}},
           "Exit code 1 if one of them is not valid.\n\nExample:\n  pawl validate flows/*.yaml",
           validate},
          cli::remote(
              "graph", "draw a definition, or a run with its status", graph,
              {{"FILE|RUN", "a definition, or the id of a run on the server"}},
              {{"--format", "FORMAT", "ascii, mermaid or svg (ascii)", "ascii mermaid svg"},
               {"--output", "FILE", "write it there"}},
              "Examples:\n  pawl graph examples/hello.yaml\n  pawl graph deploy.yaml --format svg "
              "--output deploy.svg"),
          {"eval",
           "try an expression",
           {{"EXPR", "as written in a definition"}},
           {{"--lang", "LANGUAGE", "cel, jq, expr or template (cel, or template if it has ${{ }})",
             "cel jq expr template"},
            {"--data", "FILE", "JSON itself or a file: the variables, for jq the input"},
            {"--raw", "", "print text without its quotes"},
            {"--json", "", "print compact JSON"}},
           "Examples:\n  pawl eval 'inputs.n * 2 > 10' --data '{\"inputs\": {\"n\": 7}}'\n"
           "  pawl eval '.items[] | select(.ok) | .id' --lang jq --data reply.json\n"
           "  pawl eval 'Hello ${{ inputs.name }}' --data '{\"inputs\": {\"name\": \"Ada\"}}'",
           eval}};
}

}  // namespace pawl
