#include "main/serve.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/log.h"
#include "base/plant.h"
#include "kernel/worlds/checked_row.h"
#include "main/file_limit.h"
#include "main/memory_return.h"
#include "main/partition_fleet.h"
#include "main/serve_node.h"
#include "runtime/runtime.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

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

http::ServerConfig http_config(const ServeOptions& options, api::ServerParts& parts,
                               PartitionFleet& fleet) {
  http::ServerConfig config = options.http;
  config.wrapping_bytes_max = link::kWrappingBytesMax;
  config.judge = [&fleet](http::Request& request) { return fleet.judge(request); };
  config.run_aside = [&parts](std::function<void()>& work) {
    return parts.readers().run(work).ok();
  };
  config.log = [](std::string_view message) { log::warning(message); };
  config.access_log = [&parts, verbose = options.access_log](const http::AccessRecord& record) {
    parts.metrics().answered(record.status, record.micros);
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
api::AppConfig app_config(const ServeOptions& options, uint16_t partitions, bool in_cluster) {
  api::AppConfig config = options.app;
  for (const actions::ActionInfo& info : actions::ActionRunner(options.actions, 1).list())
    config.action_names.push_back(info.name);
  config.store_name = options.store;
  config.server_id = server_id(options.store == "memory" ? "" : options.data_dir);
  config.node_name = node_name(options);
  config.url = node_url(options);
  config.data_dir = options.data_dir;
  config.partitions = partitions;
  config.in_cluster = in_cluster;
  config.local_names_only = is_loopback(options.http.host);
  // A node learns of keys only when it serves a partition, so it cannot refuse to start.
  config.needs_key = in_cluster && !options.no_auth && !is_loopback(options.http.host);
  return config;
}

// Whoever reaches the server must be stopped by a key, or be on this machine.
Status check_access(const ServeOptions& options, const api::KeyRing& keys) {
  if (keys.empty() && keys.needed())
    log::warning(
        "every API key was revoked: all calls are refused. Stop the server and make a key "
        "with 'pawl keys create NAME --data " +
        options.data_dir + "', or start it with --api-key");
  if (keys.needed() || options.no_auth || is_loopback(options.http.host)) return ok_status();
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

Result<std::vector<std::unique_ptr<Store>>> open_stores(const ServeOptions& options) {
  if (options.store == "sqlite") {
    PAWL_TRY_DO(make_data_directory(options.data_dir, true));
    return open_sqlite_partitions(options.data_dir, options.partitions,
                                  {.self_checked = is_checked_row});
  }
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < std::max<int>(1, options.partitions); ++i) {
    PAWL_TRY(auto store, open_memory(std::make_shared<MemoryDisk>()));
    stores.push_back(std::move(store));
  }
  return stores;
}

// Serves until a signal says stop. `begin` makes the fleet serve.
int serve_fleet(const ServeOptions& options, api::ServerParts& parts, PartitionFleet& fleet,
                cluster::Member* member, const std::function<Status()>& begin) {
  for (const std::string& key : options.api_keys) parts.keys().add_fixed(key);
  parts.use_node_figures([&fleet] { return fleet.figures(); });
  if (Status begun = begin(); !begun.ok()) return fail_serve(begun.error());
  if (member == nullptr)
    if (Status allowed = check_access(options, parts.keys()); !allowed.ok())
      return fail_serve(allowed.error());
  auto server = http::Server::start(http_config(options, parts, fleet),
                                    [&fleet] { return fleet.round_handler(); });
  if (!server.ok()) return fail_serve(server.error());
  parts.set_http_server(server->get());
  print_ready_line(options, **server);

  wait_for_stop_signal();
  log::info("stopping");
  fleet.hand_over();
  fleet.begin_drain();
  (*server)->drain(std::chrono::milliseconds(options.drain_ms));
  fleet.stop();
  const std::optional<Error> failure = fleet.failed();
  return failure ? fail_serve(*failure) : 0;
}

int serve_alone(const ServeOptions& options) {
  auto stores = open_stores(options);
  wipe_environment();
  if (!stores.ok()) return fail_serve(stores.error());
  SystemClock clock;
  api::ServerParts parts(app_config(options, static_cast<uint16_t>(stores->size()), false), clock);
  PartitionFleet fleet(options, parts, nullptr, nullptr);
  return serve_fleet(options, parts, fleet, nullptr,
                     [&] { return fleet.serve_all(std::move(stores).value()); });
}

int serve_node(const ServeOptions& options) {
  auto joined = join_cluster(options);
  if (!joined.ok()) return fail_serve(joined.error());
  const std::unique_ptr<cluster::Member> member = std::move(joined).value();
  auto vault = member->vault();
  wipe_environment();
  if (!vault.ok()) return fail_serve(vault.error());
  SystemClock clock;
  api::ServerParts parts(app_config(options, member->partitions(), true), clock);
  PartitionFleet fleet(options, parts, &*vault, member.get());
  parts.use_cluster({.view = [&fleet] { return fleet.view(); },
                     .set_draining =
                         [it = member.get()](const std::string& node, bool draining) {
                           return it->set_draining(node, draining);
                         }});
  parts.use_knows_keys([&fleet] { return fleet.serves_any(); });
  return serve_fleet(options, parts, fleet, member.get(), [&] { return fleet.join_cluster(); });
}

}  // namespace

int serve(const ServeOptions& given) {
  ServeOptions options = given;
  log::use_json(options.log_json);
  if (Status split = split_listen(options.listen, options.http); !split.ok())
    return fail_serve(split.error());
  block_signals();
  share_out_files(options);
  MemoryReturn memory_return{MemoryReturn::Bounds()};
  if (!options.ojs_content_type.empty()) api::use_ojs_content_type(options.ojs_content_type);
  if (const char* where = std::getenv("PAWL_PLANT_ABORT")) plant(where);
  return options.store == "postgres" ? serve_node(options) : serve_alone(options);
}

}  // namespace pawl
