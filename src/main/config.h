// Configuration: pawl.yaml, then PAWL_* variables, then flags; later ones take precedence. An
// unknown or invalid setting is an error with its place, never ignored: a misspelled setting is one
// that the operator relies on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "main/serve.h"

namespace pawl {

// Reads the environment: null if it is not set there.
using Environment = std::function<const char*(const char* name)>;

// flags: values by flag name ("--listen"), a flag without value as "true". config_file: "" =
// PAWL_CONFIG, and none if that is not set either. InvalidRequest names the file with its line, the
// variable or the flag.
Result<ServeOptions> load_options(const std::string& config_file,
                                  const std::map<std::string, std::vector<std::string>>& flags,
                                  const Environment& environment);

// `name` is for messages.
Status apply_yaml(ServeOptions& options, const std::string& text, const std::string& name);

}  // namespace pawl
