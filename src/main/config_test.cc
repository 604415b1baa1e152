// One name per setting, three sources, and no source where a mistake is ignored.
#include "main/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "main/settings.h"

namespace pawl {
namespace {

using Flags = std::map<std::string, std::vector<std::string>>;

Environment environment(std::map<std::string, std::string> variables) {
  auto kept = std::make_shared<std::map<std::string, std::string>>(std::move(variables));
  return [kept](const char* name) -> const char* {
    auto at = kept->find(name);
    return at == kept->end() ? nullptr : at->second.c_str();
  };
}

class TempFile {
 public:
  explicit TempFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-config-XXXXXX").string();
    int fd = ::mkstemp(name.data());
    PAWL_CHECK(fd >= 0);
    ::close(fd);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string yaml_error(const std::string& text) {
  ServeOptions options;
  Status done = apply_yaml(options, text, "pawl.yaml");
  return done.ok() ? "ok" : done.error().message;
}

std::string flag_error(const std::string& flag, const std::string& value) {
  auto options = load_options("", {{flag, {value}}}, environment({}));
  return options.ok() ? "ok" : options.error().message;
}

TEST(Config, FlagsWinOverVariablesOverTheFile) {
  TempFile file("listen: file:1\ndata: file-data\nlog_format: json\n");
  auto options =
      load_options(file.path(), {{"--listen", {"flag:3"}}},
                   environment({{"PAWL_LISTEN", "variable:2"}, {"PAWL_DATA", "variable-data"}}));
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->listen, "flag:3");
  EXPECT_EQ(options->data_dir, "variable-data");
  EXPECT_TRUE(options->log_json);
}

TEST(Config, AStrongerListReplacesAWeakerOne) {
  TempFile file("api_key: [one, two]\n");
  auto from_file = load_options("", {}, environment({{"PAWL_CONFIG", file.path()}}));
  ASSERT_TRUE(from_file.ok());
  EXPECT_EQ(from_file->api_keys, (std::vector<std::string>{"one", "two"}));
  auto from_flags = load_options(file.path(), {{"--api-key", {"three", "four"}}},
                                 environment({{"PAWL_API_KEY", "five"}}));
  ASSERT_TRUE(from_flags.ok());
  EXPECT_EQ(from_flags->api_keys, (std::vector<std::string>{"three", "four"}));
  // Every list: loading a repeated setting that config.cc does not handle aborts.
  TempFile weak("actions: {shell: {allow: [ls, rm]}, fs: {deny: [/a]}}\n");
  std::map<std::string, std::vector<std::string>> flags;
  for (const Setting& setting : settings())
    if (setting.repeated)
      flags[setting.flag()] = {setting.name == "cors_origin" ? "https://x.example" : "x"};
  auto all = load_options(weak.path(), flags, environment({}));
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->actions.shell.allow, std::vector<std::string>{"x"});
  EXPECT_EQ(all->actions.fs.deny, std::vector<std::string>{"x"});
}

// Regression: read as one entry, "a,b" denied neither host.
TEST(Config, AVariableHasAWholeList) {
  auto options =
      load_options("", {},
                   environment({{"PAWL_ACTIONS_HTTP_DENY_HOSTS", "a.example, b.example,"},
                                {"PAWL_ACTIONS_SHELL_ALLOW", ","},
                                {"PAWL_API_KEY", "one,key"}}));
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->actions.http.deny_hosts, (std::vector<std::string>{"a.example", "b.example"}));
  EXPECT_EQ(options->actions.shell.allow, std::vector<std::string>{","});
  EXPECT_EQ(options->api_keys, std::vector<std::string>{"one,key"});
}

// Each row of the table changes something: a setting that nothing reads is worse than none.
TEST(Config, EverySettingReachesItsPlace) {
  ServeOptions o;
  std::string text =
      "listen: 0.0.0.0:1\ndata: d\nstore: postgres://u@h/d\npartitions: 48\nwork_root: /w/r\nnode: "
      "n1\n"
      "advertise: http://n1:1\ncluster_key: c.key\nstore_readers: 7\nlink_ca: ca.pem\ncluster:\n  "
      "hold_format: true\napi_key: k\nno_auth: "
      "true\nlog_format: "
      "json\naccess_log: true\n"
      "io_threads: 3\ndrain_time: 5s\ntls:\n  cert: c.pem\n  key: k.pem\nvisibility_timeout: 90s\n"
      "retention:\n  finished_age: 1d\n  finished_count: 11\n  journal_age: PT2H\n  journal_count: "
      "12\n"
      "memory:\n  resident_jobs: 1000\nlimits:\n  body_bytes: 2MiB\n  result_bytes: 64KiB\n  "
      "batch_jobs: 13\n"
      "  connections: 14\n  unsent_bytes: 3MiB\n  request_bytes: 5MiB\n  run_bytes: 6MiB\n  "
      "parked_fetches: "
      "15\nwebhooks:\n  allow_private: "
      "true\n"
      "actions:\n  threads: 16\n  http:\n    allow_private: true\n    allow_hosts: [a, b]\n    "
      "deny_hosts: [c]\n"
      "  fs:\n    writable: [/w]\n    read_only: [/r]\n    deny: [/d]\n"
      "  shell:\n    enabled: true\n    allow: [ls]\n    environment: [HOME]\n    cwd: /srv\n"
      "    memory: 32MiB\n    cpu: 1500ms\n    file_size: 7MB\n    open_files: 18\n    "
      "processes: 19\n"
      "workflow:\n  max_concurrent: 17\n  on_limit: reject\nexecution:\n  parallel_steps: false\n"
      "  step_timeout: 5m\nretry:\n  default_max_attempts: 4\n  default_backoff: 1.5\n"
      "  default_initial_delay: 250ms\nhost_name: [a, b]\ncors_origin: [\"http://A.example:80\"]\n"
      "worlds:\n  threads: 3\n  verify_every: 10m\n"
      "ojs_content_type: application/json\nready:\n  stuck_after: 7s\n";
  Status done = apply_yaml(o, text, "pawl.yaml");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(o.listen + " " + o.data_dir + " " + o.store, "0.0.0.0:1 d postgres");
  EXPECT_EQ(std::to_string(o.partitions) + " " + o.work_root, "48 /w/r");
  EXPECT_EQ(o.database + " " + o.node + " " + o.advertise + " " + o.cluster_key,
            "postgres://u@h/d n1 http://n1:1 c.key");
  EXPECT_EQ(o.store_readers, 7u);
  EXPECT_EQ(o.link_ca, "ca.pem");
  EXPECT_TRUE(o.hold_format);
  EXPECT_EQ(o.api_keys, std::vector<std::string>{"k"});
  EXPECT_TRUE(o.no_auth && o.log_json && o.access_log);
  EXPECT_EQ(o.http.io_threads, 3);
  EXPECT_EQ(o.drain_ms, 5000);
  EXPECT_EQ(o.http.tls_certificate_file + " " + o.http.tls_key_file, "c.pem k.pem");
  EXPECT_EQ(o.app.visibility_default_ms, 90'000);
  EXPECT_EQ(o.engine.core.retention.finished_ms, 86'400'000);
  EXPECT_EQ(o.engine.core.retention.finished_max, 11u);
  EXPECT_EQ(o.engine.core.retention.journal_ms, 7'200'000);
  EXPECT_EQ(o.engine.core.retention.journal_records_max, 12u);
  EXPECT_EQ(o.engine.core.state.resident_jobs_max, 1000u);
  EXPECT_EQ(o.http.body_bytes_max, 2u << 20);
  EXPECT_EQ(o.app.result_bytes_max, 65536u);
  EXPECT_EQ(o.app.batch_jobs_max, 13u);
  EXPECT_EQ(o.http.connections_max, 14u);
  EXPECT_EQ(o.http.out_bytes_total_max, 3u << 20);
  EXPECT_EQ(o.http.in_bytes_total_max, 5u << 20);
  EXPECT_EQ(o.app.host_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.app.cors_origins, std::vector<std::string>{"http://a.example"});
  EXPECT_EQ(o.ojs_content_type, "application/json");
  EXPECT_EQ(o.app.stuck_after_ms, 7'000);
  EXPECT_EQ(o.engine.core.parked_max, 15u);
  EXPECT_TRUE(o.app.webhooks_allow_private);
  EXPECT_EQ(o.action_threads, 16u);
  EXPECT_EQ(o.worlds_threads, 3u);
  EXPECT_EQ(o.worlds_verify_ms, 600'000);
  EXPECT_TRUE(o.actions.http.allow_private && o.actions.shell.enabled);
  EXPECT_EQ(o.actions.http.allow_hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o.actions.http.deny_hosts, std::vector<std::string>{"c"});
  EXPECT_EQ(o.actions.fs.writable, std::vector<std::string>{"/w"});
  EXPECT_EQ(o.actions.fs.read_only, std::vector<std::string>{"/r"});
  EXPECT_EQ(o.actions.fs.deny, std::vector<std::string>{"/d"});
  EXPECT_EQ(o.actions.shell.allow, std::vector<std::string>{"ls"});
  EXPECT_EQ(o.actions.shell.environment, std::vector<std::string>{"HOME"});
  EXPECT_EQ(o.actions.shell.cwd, "/srv");
  const actions::ProcessLimits& limits = o.actions.shell.limits;
  EXPECT_EQ(limits.memory_bytes, 32u << 20);
  EXPECT_EQ(limits.cpu_s, 2u);
  EXPECT_EQ(limits.file_bytes, 7u << 20);
  EXPECT_EQ(limits.open_files, 18u);
  EXPECT_EQ(limits.processes, 19u);
  const ScriptDefaults& scripts = o.engine.core.state.scripts;
  EXPECT_EQ(scripts.max_concurrent, 17u);
  EXPECT_EQ(scripts.run_bytes_max, 6u << 20);
  EXPECT_TRUE(scripts.reject_at_limit && !scripts.parallel_steps);
  EXPECT_EQ(scripts.step_timeout_ms, 300'000);
  EXPECT_EQ(scripts.retry_attempts, 4u);
  EXPECT_EQ(scripts.retry_multiplier_milli, 1500u);
  EXPECT_EQ(scripts.retry_delay_ms, 250);
  for (const Setting& setting : settings()) {
    std::string last = setting.name.substr(setting.name.rfind('.') + 1);
    EXPECT_NE(text.find(last + ":"), std::string::npos) << setting.name << " is not tried here";
  }
}

TEST(Config, OneNameInThreeSpellings) {
  const Setting* setting = find_setting("retention.finished_age");
  ASSERT_NE(setting, nullptr);
  EXPECT_EQ(setting->flag(), "--retention-finished-age");
  EXPECT_EQ(setting->variable(), "PAWL_RETENTION_FINISHED_AGE");
  std::set<std::string> flags, variables;
  for (const Setting& one : settings()) {
    EXPECT_TRUE(flags.insert(one.flag()).second) << one.name;
    EXPECT_TRUE(variables.insert(one.variable()).second) << one.name;
  }
}

TEST(Config, MistakesInTheFileAreErrorsWithTheirLine) {
  EXPECT_EQ(yaml_error("listen: a:1\nlsten: a:2\n"), "pawl.yaml:2: unknown setting \"lsten\"");
  EXPECT_EQ(yaml_error("limits:\n  body_bites: 1\n"),
            "pawl.yaml:2: unknown setting \"limits.body_bites\"");
  EXPECT_EQ(yaml_error("access_log: maybe\n"),
            "pawl.yaml:1: access_log takes true or false, not \"maybe\"");
  EXPECT_EQ(yaml_error("listen:\n  - a\n"), "pawl.yaml:2: listen must be a single value");
  EXPECT_EQ(yaml_error("- a\n"), "pawl.yaml:1: the file must be a map of settings");
  EXPECT_EQ(yaml_error("listen: a:1\n\nlisten: a:2\n"), "pawl.yaml:3: listen is set twice");
  EXPECT_EQ(yaml_error("listen: [\n").substr(0, 10), "pawl.yaml:");
  EXPECT_EQ(yaml_error(""), "ok");
  EXPECT_EQ(yaml_error("retention.finished_age: 1d\n"), "ok");
}

TEST(Config, OlderKeysAreHonouredOrRefused) {
  ServeOptions options;
  Status done = apply_yaml(options,
                           "workflow:\n  persistence: false\n  data_dir: ./d\n  monitoring:\n    "
                           "log_executions: true\n    track_metrics: true\n",
                           "f");
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(options.store + " " + options.data_dir, "memory ./d");
  EXPECT_TRUE(options.access_log);
  EXPECT_EQ(yaml_error("persistence: true\ndata_dir: x\n"), "ok");
  EXPECT_EQ(yaml_error("retry:\n  default_backoff: 0.5\n"),
            "pawl.yaml:2: retry.default_backoff takes a factor from 1 to 1000, not \"0.5\"");
  EXPECT_EQ(yaml_error("state_backend: json\n"),
            "pawl.yaml:1: state_backend is not available in this version");
  EXPECT_EQ(yaml_error("monitoring:\n  track_metrics: false\n"),
            "pawl.yaml:2: monitoring.track_metrics can only be true: metrics are always kept");
  EXPECT_EQ(yaml_error("workflow:\n  colour: red\n"),
            "pawl.yaml:2: unknown setting \"workflow.colour\"");
}

// The block of an older configuration; seconds are plain numbers.
TEST(Config, HowRunsAreRunCanBeSaidInTheOlderWords) {
  ServeOptions options;
  Status done = apply_yaml(options,
                           "workflow:\n  max_concurrent: 10\n  execution:\n    parallel_steps: "
                           "false\n    step_timeout: 300\n  retry:\n    default_max_attempts: "
                           "3\n    default_backoff: 1.5\n    default_initial_delay: 1.0\n",
                           "f");
  ASSERT_TRUE(done.ok()) << done.error().message;
  const ScriptDefaults& scripts = options.engine.core.state.scripts;
  EXPECT_EQ(scripts.max_concurrent, 10u);
  EXPECT_FALSE(scripts.parallel_steps);
  EXPECT_EQ(scripts.step_timeout_ms, 300'000);
  EXPECT_EQ(scripts.retry_attempts, 3u);
  EXPECT_EQ(scripts.retry_multiplier_milli, 1500u);
  EXPECT_EQ(scripts.retry_delay_ms, 1000);
  EXPECT_EQ(yaml_error("workflow.on_limit: sometimes\n"),
            "pawl.yaml:1: workflow.on_limit takes queue or reject, not \"sometimes\"");
}

TEST(Config, ValuesOutOfBoundsAreRefused) {
  EXPECT_EQ(flag_error("--drain-time", "soon"),
            "--drain-time takes a duration such as 90s, 1h30m or 7d, not \"soon\"");
  EXPECT_EQ(flag_error("--drain-time", "2h"),
            "--drain-time takes a duration from PT0S to PT1H, not \"2h\"");
  EXPECT_EQ(flag_error("--io-threads", "0"), "--io-threads takes a number from 1 to 64, not \"0\"");
  EXPECT_EQ(flag_error("--limits-body-bytes", "64 MB"),
            "--limits-body-bytes takes a size such as 64MiB, not \"64 MB\"");
  EXPECT_EQ(flag_error("--limits-body-bytes", "1"),
            "--limits-body-bytes takes a size from 1024 to 134217728 bytes, not \"1\"");
  EXPECT_EQ(flag_error("--store", "postgres"),
            "--store takes a URL such as postgres://user@host/database");
  EXPECT_EQ(flag_error("--store", "disk"),
            "--store takes sqlite, memory or a postgres:// URL, not \"disk\"");
  EXPECT_EQ(flag_error("--node", "a/b"),
            "--node takes a name of at most 21 letters, digits, '.', '-' and '_', not \"a/b\"");
  EXPECT_EQ(flag_error("--tls-cert", "c.pem"), "tls.cert and tls.key go together");
  auto variable = load_options("", {}, environment({{"PAWL_IO_THREADS", "many"}}));
  ASSERT_FALSE(variable.ok());
  EXPECT_EQ(variable.error().message, "PAWL_IO_THREADS takes a number from 1 to 64, not \"many\"");
  EXPECT_EQ(load_options("/nowhere/pawl.yaml", {}, environment({})).error().message,
            "cannot read /nowhere/pawl.yaml");
}

}  // namespace
}  // namespace pawl
