#include "main/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "base/quote.h"
#include "main/settings.h"

namespace pawl {
namespace {

constexpr size_t kConfigFileBytesMax = 1 << 20;
constexpr int kNestingMax = 16;

// Keys of an older configuration format, below `workflow:` or alone. Each is honoured or refused.
struct OldKey {
  const char* name;
  Status (*apply)(ServeOptions& options, const std::string& text);
};

Error not_available() { return {ErrorCode::InvalidRequest, "is not available in this version"}; }

Status apply_as(const char* setting, ServeOptions& options, const std::string& text) {
  return find_setting(setting)->apply(options, text);
}

const OldKey kOldKeys[] = {
    {"data_dir",
     [](ServeOptions& o, const std::string& text) { return apply_as("data", o, text); }},
    {"persistence",
     [](ServeOptions& o, const std::string& text) -> Status {
       if (text != "true" && text != "false")
         return Error{ErrorCode::InvalidRequest, "takes true or false, not " + in_quotes(text)};
       return apply_as("store", o, text == "true" ? "sqlite" : "memory");
     }},
    {"monitoring.log_executions",
     [](ServeOptions& o, const std::string& text) { return apply_as("access_log", o, text); }},
    {"monitoring.track_metrics",
     [](ServeOptions&, const std::string& text) -> Status {
       if (text == "true") return ok_status();
       return Error{ErrorCode::InvalidRequest, "can only be true: metrics are always kept"};
     }},
    {"max_concurrent",
     [](ServeOptions& o, const std::string& text) {
       return apply_as("workflow.max_concurrent", o, text);
     }},
    {"state_backend", [](ServeOptions&, const std::string&) -> Status { return not_available(); }},
};

const OldKey* find_old(std::string_view name) {
  constexpr std::string_view kPrefix = "workflow.";
  if (name.substr(0, kPrefix.size()) == kPrefix) name.remove_prefix(kPrefix.size());
  for (const OldKey& old : kOldKeys)
    if (name == old.name ||
        (name.substr(0, name.find('.')) == old.name && name.find('.') != std::string_view::npos))
      return &old;
  return nullptr;
}

// Also below `workflow:`, where the older format has some of today's settings.
const Setting* find_named(std::string_view name) {
  if (const Setting* setting = find_setting(name)) return setting;
  for (std::string_view group : {"workflow.execution.", "workflow.retry."})
    if (name.substr(0, group.size()) == group) return find_setting(name.substr(name.find('.') + 1));
  return nullptr;
}

class YamlReader {
 public:
  YamlReader(ServeOptions& options, std::string file) : options_(options), file_(std::move(file)) {}

  Status read(const YAML::Node& node, const std::string& prefix, int depth) {
    if (node.IsNull()) return ok_status();
    if (!node.IsMap())
      return at(node, prefix.empty() ? "the file must be a map of settings"
                                     : prefix + " must be a map of settings");
    if (depth > kNestingMax) return at(node, "too deeply nested");
    for (const auto& entry : node) {
      std::string name = prefix.empty() ? entry.first.as<std::string>("")
                                        : prefix + "." + entry.first.as<std::string>("");
      PAWL_TRY_DO(take(entry.first, entry.second, name, depth));
    }
    return ok_status();
  }

 private:
  Status take(const YAML::Node& key, const YAML::Node& value, const std::string& name, int depth) {
    if (!seen_.insert(name).second) return at(key, name + " is set twice");
    if (value.IsMap()) return read(value, name, depth + 1);
    const Setting* setting = find_named(name);
    if (setting != nullptr && setting->repeated && value.IsSequence()) {
      for (const YAML::Node& one : value) PAWL_TRY_DO(apply(one, name, setting->apply));
      return ok_status();
    }
    if (setting != nullptr) return apply(value, name, setting->apply);
    if (const OldKey* old = find_old(name)) return apply(value, name, old->apply);
    return at(key, "unknown setting " + in_quotes(name));
  }

  Status apply(const YAML::Node& value, const std::string& name,
               Status (*set)(ServeOptions&, const std::string&)) {
    if (!value.IsScalar()) return at(value, name + " must be a single value");
    if (Status done = set(options_, value.Scalar()); !done.ok())
      return at(value, name + " " + done.error().message);
    return ok_status();
  }

  Error at(const YAML::Node& node, const std::string& message) const {
    return {ErrorCode::InvalidRequest,
            file_ + ":" + std::to_string(node.Mark().line + 1) + ": " + message};
  }

  ServeOptions& options_;
  std::string file_;
  std::set<std::string> seen_;
};

Status apply_file(ServeOptions& options, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::InvalidRequest, "cannot read " + path};
  std::string text(kConfigFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kConfigFileBytesMax)
    return Error{ErrorCode::InvalidRequest, path + " is larger than a configuration"};
  return apply_yaml(options, text, path);
}

// A list replaces the value from a source of lower precedence, as a single value does.
void forget_weaker(ServeOptions& options, const Setting& setting) {
  actions::ActionPolicy& actions = options.actions;
  const std::pair<const char*, std::vector<std::string>&> lists[] = {
      {"api_key", options.api_keys},
      {"host_name", options.app.host_names},
      {"cors_origin", options.app.cors_origins},
      {"actions.http.allow_hosts", actions.http.allow_hosts},
      {"actions.http.deny_hosts", actions.http.deny_hosts},
      {"actions.fs.writable", actions.fs.writable},
      {"actions.fs.read_only", actions.fs.read_only},
      {"actions.fs.deny", actions.fs.deny},
      {"actions.shell.allow", actions.shell.allow},
      {"actions.shell.environment", actions.shell.environment}};
  for (const auto& [name, list] : lists)
    if (setting.name == name) return list.clear();
  PAWL_CHECK(!setting.repeated);  // otherwise a list could only grow
}

// A variable holds a whole list in one text, separated by commas; API keys may contain commas
// themselves.
std::vector<std::string> values_of(const Setting& setting, const std::string& whole) {
  if (!setting.repeated || setting.name == "api_key") return {whole};
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string> values;
  for (std::string_view text = whole; !text.empty();) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(kBlanks), one.size()));
    one = one.substr(0, one.find_last_not_of(kBlanks) + 1);
    if (!one.empty()) values.emplace_back(one);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  // An empty list would allow every command, which a text of commas was hardly meant to.
  return values.empty() ? std::vector<std::string>{whole} : values;
}

Status check_whole(const ServeOptions& options) {
  if (options.http.tls_certificate_file.empty() != options.http.tls_key_file.empty())
    return Error{ErrorCode::InvalidRequest, "tls.cert and tls.key go together"};
  if (options.no_auth && !options.api_keys.empty())
    return Error{ErrorCode::InvalidRequest, "no_auth and api_key contradict each other"};
  return ok_status();
}

}  // namespace

Status apply_yaml(ServeOptions& options, const std::string& text, const std::string& name) {
  try {
    return YamlReader(options, name).read(YAML::Load(text), "", 0);
  } catch (const YAML::Exception& failed) {
    return Error{ErrorCode::InvalidRequest,
                 name + ":" + std::to_string(failed.mark.line + 1) + ": " + failed.msg};
  }
}

Result<ServeOptions> load_options(const std::string& config_file,
                                  const std::map<std::string, std::vector<std::string>>& flags,
                                  const Environment& environment) {
  ServeOptions options;
  const char* named = environment("PAWL_CONFIG");
  std::string file = !config_file.empty() ? config_file : named != nullptr ? named : "";
  if (!file.empty()) PAWL_TRY_DO(apply_file(options, file));
  for (const Setting& setting : settings()) {
    const char* value = environment(setting.variable().c_str());
    if (value == nullptr || *value == '\0') continue;
    forget_weaker(options, setting);
    for (const std::string& one : values_of(setting, value))
      if (Status done = setting.apply(options, one); !done.ok())
        return Error{ErrorCode::InvalidRequest, setting.variable() + " " + done.error().message};
  }
  for (const Setting& setting : settings()) {
    auto given = flags.find(setting.flag());
    if (given == flags.end()) continue;
    forget_weaker(options, setting);
    for (const std::string& value : given->second)
      if (Status done = setting.apply(options, value); !done.ok())
        return Error{ErrorCode::InvalidRequest, setting.flag() + " " + done.error().message};
  }
  PAWL_TRY_DO(check_whole(options));
  return options;
}

}  // namespace pawl
