// Files that the commands without a server read: definitions, inputs, data. "-" is standard input.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "plan/definition.h"

namespace pawl {

// The whole file. InvalidRequest: it cannot be read; TooLarge: it is larger than a definition may
// be.
Result<std::string> read_definition_file(const std::string& path);

// As a server without further actions would read it.
plan::ReadResult read_definition_text(const std::string& text, bool lenient);

// Every error and warning, a line each, as "file:12: error: steps[2].retry.max: …", its hint below.
std::string fault_lines(const std::string& file, const plan::ReadResult& read, bool colours);

// JSON or YAML. InvalidRequest names the file, the line and what is wrong.
Result<Value> read_data_file(const std::string& path);

// The --input pairs over the --inputs file, as one object.
Result<Value> gather_inputs(const std::string& file, const std::vector<std::string>& pairs);

}  // namespace pawl
