// Files and NAME=VALUE inputs of commands.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "cli/command.h"

namespace pawl::cli {

// "-" is standard input. InvalidRequest: it cannot be read; TooLarge: there is more than that.
Result<std::string> read_whole_file(const std::string& path, size_t bytes_max);

// Sets the pairs in the object. A value that is valid JSON is parsed, any other is text.
Result<Value> with_pairs(Value object, const std::vector<std::string>& pairs);

// --input and --inputs: the pairs over the JSON file, and how they are described.
Result<Value> given_inputs(const Invocation& given);
std::vector<Option> input_options(std::vector<Option> more);

// The JSON of an option, "" if it was not given. InvalidRequest if it is none.
Result<std::string> given_json(const Invocation& given, const std::string& option);

}  // namespace pawl::cli
