#include "cli/given_inputs.h"

#include <cstdio>
#include <fstream>

#include "base/quote.h"

namespace pawl::cli {
namespace {

constexpr size_t kInputsBytesMax = 16u << 20;

}  // namespace

Result<std::string> read_whole_file(const std::string& path, size_t bytes_max) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::InvalidRequest, "cannot read " + path};
  }
  std::string text;
  char piece[1 << 16];
  while (text.size() <= bytes_max) {
    size_t got = 0;
    if (path == "-") {
      got = std::fread(piece, 1, sizeof piece, stdin);
    } else {
      file.read(piece, sizeof piece);
      got = static_cast<size_t>(file.gcount());
    }
    if (got == 0) break;
    text.append(piece, got);
  }
  if (file.bad()) return Error{ErrorCode::InvalidRequest, "cannot read " + path};  // a directory
  if (text.size() > bytes_max)
    return Error{ErrorCode::TooLarge,
                 path + " is larger than " + std::to_string(bytes_max) + " bytes"};
  return text;
}

Result<Value> with_pairs(Value object, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{ErrorCode::InvalidRequest, "--input takes NAME=VALUE, not " + in_quotes(pair)};
    std::string text = pair.substr(equals + 1);
    auto value = Value::parse(text);
    object.as_object().set(pair.substr(0, equals),
                           value.ok() ? std::move(value).value() : Value(text));
  }
  return object;
}

Result<Value> given_inputs(const Invocation& given) {
  Value inputs = Value::Object{};
  if (given.has("--inputs")) {
    std::string path = given.text("--inputs");
    PAWL_TRY(std::string text, read_whole_file(path, kInputsBytesMax));
    auto parsed = Value::parse(text);
    if (!parsed.ok() || !parsed->is_object())
      return Error{
          ErrorCode::InvalidRequest,
          path + " must hold a JSON object" + (parsed.ok() ? "" : ": " + parsed.error().message)};
    inputs = std::move(parsed).value();
  }
  return with_pairs(std::move(inputs), given.texts("--input"));
}

std::vector<Option> input_options(std::vector<Option> more) {
  std::vector<Option> options = {
      {"--input", "NAME=VALUE", "an input; the value is JSON if it can be, else text"},
      {"--inputs", "FILE", "inputs from a JSON file; - reads standard input"}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

Result<std::string> given_json(const Invocation& given, const std::string& option) {
  std::string text = given.text(option);
  if (text.empty()) return text;
  if (auto doc = json::parse(text); !doc.ok())
    return Error{ErrorCode::InvalidRequest, option + " takes JSON, not " + in_quotes(text)};
  return text;
}

}  // namespace pawl::cli
