#include "main/definition_file.h"

#include "actions/action.h"
#include "actions/params_judge.h"
#include "cli/given_inputs.h"
#include "cli/terminal.h"
#include "plan/source.h"

namespace pawl {
namespace {

constexpr size_t kDefinitionFileBytesMax = 16u << 20;

std::string fault_text(const std::string& file, const plan::Fault& fault, bool error,
                       bool colours) {
  std::string text = cli::printable(file) + ":";
  if (fault.line != 0) text += std::to_string(fault.line) + ":";
  text += " " + (error ? cli::painted("error:", cli::Colour::Red, colours)
                       : cli::painted("warning:", cli::Colour::Yellow, colours));
  if (!fault.path.empty()) text += " " + cli::printable(fault.path) + ":";
  text += " " + cli::printable(fault.message) + " (" + fault.code + ")\n";
  if (!fault.hint.empty()) text += "    " + cli::printable(fault.hint) + "\n";
  return text;
}

}  // namespace

Result<std::string> read_definition_file(const std::string& path) {
  return cli::read_whole_file(path, kDefinitionFileBytesMax);
}

plan::ReadResult read_definition_text(const std::string& text, bool lenient) {
  std::vector<std::string> known;
  for (const actions::ActionInfo& info : actions::builtin_actions()) known.push_back(info.name);
  plan::ReadOptions options;
  options.lenient = lenient;
  options.actions = &known;
  options.params = actions::judge_params;
  return plan::read_definition(text, options);
}

std::string fault_lines(const std::string& file, const plan::ReadResult& read, bool colours) {
  std::string lines;
  for (const plan::Fault& fault : read.errors) lines += fault_text(file, fault, true, colours);
  for (const plan::Fault& fault : read.warnings) lines += fault_text(file, fault, false, colours);
  return lines;
}

Result<Value> read_data_file(const std::string& path) {
  PAWL_TRY(std::string text, read_definition_file(path));
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) {
    auto value = Value::parse(text);
    if (value.ok()) return value;
    return Error{ErrorCode::InvalidRequest, path + " is no JSON: " + value.error().message};
  }
  plan::Source source = plan::read_source(text, {});
  if (source.faults.empty()) return std::move(source.value);
  const plan::Fault& fault = source.faults[0];
  return Error{ErrorCode::InvalidRequest,
               path + ":" + std::to_string(fault.line) + ": " + fault.message};
}

Result<Value> gather_inputs(const std::string& file, const std::vector<std::string>& pairs) {
  Value inputs = Value::Object{};
  if (!file.empty()) {
    PAWL_TRY(inputs, read_data_file(file));
  }
  if (!inputs.is_object())
    return Error{ErrorCode::InvalidRequest, file + " must hold an object: name to value"};
  return cli::with_pairs(std::move(inputs), pairs);
}

}  // namespace pawl
