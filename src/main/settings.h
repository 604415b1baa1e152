// Settings: all settings of `pawl serve`, one row each. A setting has one name:
// `retention.finished_age` is a key of pawl.yaml (nested or dotted), PAWL_RETENTION_FINISHED_AGE in
// the environment and --retention-finished-age as a flag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "main/serve.h"

namespace pawl {

struct Setting {
  std::string name;   // "retention.finished_age"
  std::string value;  // "DURATION"; "" = a flag, true or false elsewhere
  std::string help;
  // InvalidRequest, with the expected form, if the text is invalid.
  Status (*apply)(ServeOptions& options, const std::string& text);
  bool repeated = false;     // may be given several times; a list in pawl.yaml
  std::string choices = {};  // "text json"

  std::string flag() const;      // "--retention-finished-age"
  std::string variable() const;  // "PAWL_RETENTION_FINISHED_AGE"
};

const std::vector<Setting>& settings();
const Setting* find_setting(std::string_view name);

}  // namespace pawl
