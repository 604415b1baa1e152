#include "main/serve.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "base/plant.h"
#include "effects/webhook_service.h"
#include "engine/crash_book.h"
#include "main/file_limit.h"
#include "main/log_follower.h"
#include "main/memory_return.h"
#include "main/serve_node.h"
#include "runtime/runtime.h"
#include "worldhost/world_service.h"

namespace pawl {
namespace {

// The vault's key is beside the store; without a directory there are no secrets.
RuntimeSetup setup_of(const ServeOptions& options, StoreSource* source) {
  const bool memory = options.store == "memory";
  RuntimeSetup setup;
  setup.source = source;
  if (!memory) {
    setup.data_dir = options.data_dir;
    setup.crash_book = options.data_dir + "/crash.book";
    setup.vault_key = options.data_dir + "/vault.key";
    if (const char* passphrase = std::getenv("PAWL_VAULT_KEY")) setup.vault_passphrase = passphrase;
  }
  setup.owner_only = true;  // files of runs are private
  setup.work_root = options.work_root.empty()
                        ? WorkRoot::in(setup.data_dir)
                        : WorkRoot{std::filesystem::absolute(options.work_root).string()};
  setup.policy = options.actions;
  setup.policy.fs.off_limits = {std::filesystem::absolute(options.data_dir).string()};
  if (memory) setup.policy.fs.off_limits.push_back(setup.work_root.path);
  setup.threads = options.action_threads;
  setup.engine = options.engine;
  return setup;
}

// A command that a step runs is the same user, and can read this process's environment in /proc:
// secrets in it are wiped once they have been read.
void wipe_environment() {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    std::string_view pair = *at;
    size_t equals = pair.find('=');
    bool secret = pair.rfind("PAWL_API_KEY=", 0) == 0 || pair.rfind("PAWL_VAULT_KEY=", 0) == 0 ||
                  pair.rfind("PAWL_SECRET_", 0) == 0 || pair.rfind("PAWL_STORE=", 0) == 0;
    if (secret && equals != std::string_view::npos)
      OPENSSL_cleanse(*at + equals + 1, pair.size() - equals - 1);
  }
}

Status split_listen(const std::string& listen, http::ServerConfig& http) {
  size_t colon = listen.rfind(':');
  if (colon == std::string::npos)
    return Error{ErrorCode::InvalidRequest, "--listen takes HOST:PORT, not '" + listen + "'"};
  http.host = listen.substr(0, colon);
  if (http.host.size() > 1 && http.host.front() == '[')
    http.host = http.host.substr(1, http.host.size() - 2);
  char* end = nullptr;
  long port = std::strtol(listen.c_str() + colon + 1, &end, 10);
  if (*end != '\0' || port < 0 || port > 65535)
    return Error{ErrorCode::InvalidRequest, "'" + listen.substr(colon + 1) + "' is no port"};
  http.port = static_cast<int>(port);
  return ok_status();
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

// Waits for the signals that end serving. They are blocked in every thread (see serve), so that
// only this call takes them.
void wait_for_stop_signal() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  int received = 0;
  sigwait(&set, &received);
}

void block_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void log_access(const http::AccessRecord& record) {
  log::info("request", {{"method", record.method},
                        {"path", record.path},
                        {"status", std::to_string(record.status)},
                        {"bytes", std::to_string(record.body_bytes)},
                        {"micros", std::to_string(record.micros)},
                        {"request_id", record.id},
                        {"peer", record.peer}});
}

http::ServerConfig http_config(const ServeOptions& options, const ServeNode* node, api::App& app) {
  http::ServerConfig config = options.http;
  if (node != nullptr) config.may_answer = [node] { return node->may_answer(); };
  config.judge = [&app](http::Request& request) { return app.judge(request); };
  config.run_aside = [&app](std::function<void()>& work) { return app.readers().run(work).ok(); };
  config.log = [](std::string_view message) { log::warning(message); };
  config.access_log = [&app, verbose = options.access_log](const http::AccessRecord& record) {
    app.metrics().answered(record.status, record.micros);
    if (verbose) log_access(record);
  };
  return config;
}

// Clients must not use up the descriptors that the server itself needs.
void share_out_files(ServeOptions& options) {
  const FileLimit files = raise_file_limit();
  const size_t wanted = options.http.connections_max;
  options.http.connections_max = connections_within(files.now, wanted);
  if (options.http.connections_max < wanted)
    log::warning("fewer connections than were asked for: the limit of open files is too low",
                 {{"open_files", std::to_string(files.now)},
                  {"connections", std::to_string(options.http.connections_max)}});
  uint64_t& of_commands = options.actions.shell.limits.open_files;
  if (of_commands == 0) of_commands = files.before;
}

int fail_serve(const Error& error) {
  log::error(error.message, {{"code", wire_code(error.code)}});
  return 1;
}

// What the API tells of the server that it runs in.
api::AppConfig app_config(const ServeOptions& options, Runtime& runtime) {
  api::AppConfig config = options.app;
  for (const actions::ActionInfo& info : runtime.runner().list())
    config.action_names.push_back(info.name);
  config.store_name = options.store;
  config.server_id = server_id(options.store == "memory" ? "" : options.data_dir);
  config.node_name = node_name(options);
  config.url = node_url(options);
  config.data_dir = options.data_dir;
  config.local_names_only = is_loopback(options.http.host);
  return config;
}

WorldHostConfig worlds_config(const ServeOptions& options, Runtime& runtime) {
  WorldHostConfig config;
  config.threads = options.worlds_threads;
  config.finished_ms = options.engine.core.retention.finished_ms;
  config.journal_ms = options.engine.core.retention.journal_ms;
  config.verify_every_ms = options.worlds_verify_ms;
  if (runtime.crash_book() != nullptr) config.crashed = runtime.crash_book()->suspect_worlds();
  return config;
}

// Whoever reaches the server must be stopped by a key, or be on this machine.
Status check_access(const ServeOptions& options, api::App& app) {
  if (app.keys().empty() && app.keys().needed())
    log::warning(
        "every API key was revoked: all calls are refused. Stop the server and make a key "
        "with 'pawl keys create NAME --data " +
        options.data_dir + "', or start it with --api-key");
  if (app.keys().needed() || options.no_auth || is_loopback(options.http.host)) return ok_status();
  return Error{ErrorCode::Forbidden,
               "without an API key the server listens on loopback only; make one with 'pawl keys "
               "create', or say --no-auth"};
}

void print_ready_line(const ServeOptions& options, const http::Server& server) {
  const std::string named = options.store == "postgres" ? ", node " + node_name(options) : "";
  std::printf("pawl listening on %s://%s:%d (store %s%s, data %s)\n",
              server.tls() ? "https" : "http", options.http.host.c_str(), server.port(),
              options.store.c_str(), named.c_str(),
              options.store == "memory" ? "-" : options.data_dir.c_str());
  std::fflush(stdout);
}

}  // namespace

int serve(const ServeOptions& given) {
  ServeOptions options = given;
  log::use_json(options.log_json);
  if (Status split = split_listen(options.listen, options.http); !split.ok())
    return fail_serve(split.error());
  if (options.partitions > 1)
    return fail_serve({ErrorCode::InvalidRequest, "this server serves one partition"});
  block_signals();
  share_out_files(options);
  MemoryReturn memory_return{MemoryReturn::Bounds()};
  if (!options.ojs_content_type.empty()) api::use_ojs_content_type(options.ojs_content_type);

  if (const char* where = std::getenv("PAWL_PLANT_ABORT")) plant(where);
  std::unique_ptr<ServeNode> node;
  if (options.store == "postgres") {
    auto made = ServeNode::of(options);
    if (!made.ok()) return fail_serve(made.error());
    node = std::move(made).value();
  }
  const RuntimeSetup setup = setup_of(options, node.get());
  wipe_environment();
  Runtime runtime(setup);
  if (Status opened = runtime.open(); !opened.ok()) {
    if (stop_was_asked()) return 0;
    return fail_serve(opened.error());
  }
  EngineLoop& engine = runtime.engine();

  api::App app(app_config(options, runtime), engine, runtime.store(), runtime.clock());
  for (const std::string& key : options.api_keys) app.keys().add_fixed(key);
  if (node)
    app.use_cluster({[it = node.get()] { return it->member().view(); },
                     [it = node.get()](const std::string& name, bool draining) {
                       return it->member().set_draining(name, draining);
                     }});
  app.use_actions(&runtime.runner(), runtime.vault());
  WorldService worlds(worlds_config(options, runtime), engine, runtime.clock(), options.actions,
                      runtime.vault());
  app.use_worlds(&worlds.host());
  app.load();
  if (Status allowed = check_access(options, app); !allowed.ok())
    return fail_serve(allowed.error());

  LogFollower workflow_log(engine);
  actions::HttpClient outgoing;
  WebhookService webhooks(
      engine, runtime.store(), runtime.clock(), outgoing, app.metrics().webhooks,
      {.vault = runtime.vault(), .allow_private = options.app.webhooks_allow_private});
  app.on_webhooks_change([&webhooks] { webhooks.ring(); });
  auto server = http::Server::start(http_config(options, node.get(), app),
                                    [&app] { return app.round_handler(); });
  if (!server.ok()) return fail_serve(server.error());
  app.set_http_server(server->get());
  print_ready_line(options, **server);

  wait_for_stop_signal();
  log::info("stopping");
  app.begin_drain();
  (*server)->drain(std::chrono::milliseconds(options.drain_ms));
  webhooks.stop();
  worlds.stop();
  runtime.stop_effects();
  engine.stop();
  workflow_log.stop();
  const std::optional<Error> lost = node ? node->lost() : std::nullopt;
  const std::optional<Error> failure = lost ? lost : engine.failed();
  return failure ? fail_serve(*failure) : 0;
}

}  // namespace pawl
