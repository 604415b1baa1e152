// pawl keys …: over HTTP, or with --data in a directory that no server uses, which is how the first
// key of a server beyond loopback is created.
#include <functional>

#include "api/keys.h"
#include "base/json_writer.h"
#include "base/time.h"
#include "cli/keys.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "engine/waiting_task.h"
#include "kernel/frame.h"
#include "main/local.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

using cli::Invocation;

using Decide = std::function<Status(Frame&)>;

Status decide_in_one(Store& store, uint16_t id, size_t partitions, const Decide& decide) {
  SystemClock clock;
  SystemRandom random;
  EngineConfig config;
  config.core.state.partition = id;
  config.core.state.partitions = static_cast<uint16_t>(partitions);
  PAWL_TRY(std::unique_ptr<EngineLoop> engine, EngineLoop::start(store, config, clock, random));
  Status outcome = ok_status();
  auto act = [&](Frame& frame) { outcome = frame.attempt(decide); };
  Status durable = run_on_engine(*engine, act, false);
  engine->stop();
  if (auto failure = engine->failed()) return *failure;
  return durable.ok() ? outcome : durable;
}

// Every partition knows all keys. The first one is the last to hear of a change: it is asked for
// them, so a change that was cut off is made again.
Status decide_in(const std::string& directory, const Decide& decide) {
  PAWL_TRY(const auto stores, open_sqlite_partitions(directory, 0));
  for (size_t id = stores.size(); id > 0; --id)
    PAWL_TRY_DO(
        decide_in_one(*stores[id - 1], static_cast<uint16_t>(id - 1), stores.size(), decide));
  return ok_status();
}

Status look_in(const std::string& directory, const Decide& look) {
  PAWL_TRY(const auto stores, open_sqlite_partitions(directory, 0));
  return decide_in_one(*stores[0], 0, stores.size(), look);
}

int fail_keys(const Error& error) {
  std::string hint = error.code == ErrorCode::Unavailable
                         ? "; leave out --data to ask the server that holds it"
                         : "";
  cli::complain(error.message + hint);
  return cli::kRefused;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

cli::KeyRow row_of(const api::ApiKey& key) {
  return {key.id, key.name, joined(api::scope_names(key.scopes)),
          format_rfc3339_ms(key.created_ms)};
}

int create(const Invocation& given) {
  if (!given.has("--data")) return cli::create_key(given);
  auto scopes = api::parse_scopes(cli::wanted_scopes(given));
  if (!scopes.ok()) return fail_keys(scopes.error());
  api::NewApiKey made = api::make_api_key(given.argument(0), *scopes, SystemClock().now_ms());
  Status done = decide_in(given.text("--data"), [&](Frame& frame) {
    api::store_key(frame, made.key);
    return ok_status();
  });
  if (!done.ok()) return fail_keys(done.error());
  if (!given.has("--json")) {
    cli::print_new_key(row_of(made.key), made.text);
    return cli::kDone;
  }
  json::ObjectWriter w;
  api::write_key(w, made.key);
  w.field("key", made.text);
  cli::print_text(w.close() + "\n");
  return cli::kDone;
}

int list(const Invocation& given) {
  if (!given.has("--data")) return cli::list_keys(given);
  std::vector<api::ApiKey> keys;
  Status done = look_in(given.text("--data"), [&](Frame& frame) {
    api::each_stored_key(frame.state(), [&](const api::ApiKey& key) { keys.push_back(key); });
    return ok_status();
  });
  if (!done.ok()) return fail_keys(done.error());
  json::ObjectWriter w;
  w.key("keys").begin_array();
  std::vector<cli::KeyRow> rows;
  for (const api::ApiKey& key : keys) {
    w.begin_object();
    api::write_key(w, key);
    w.end_object();
    rows.push_back(row_of(key));
  }
  w.end_array();
  given.has("--json") ? cli::print_text(w.close() + "\n") : cli::print_keys(rows);
  return cli::kDone;
}

int revoke(const Invocation& given) {
  if (!given.has("--data")) return cli::revoke_key(given);
  std::string id = given.argument(0);
  // Found in the first partition, which is asked last.
  bool found = false;
  Status done = decide_in(given.text("--data"), [&](Frame& frame) {
    found = api::revoke_stored_key(frame, id).ok();
    return ok_status();
  });
  if (done.ok() && !found) done = Error{ErrorCode::NotFound, "no key " + cli::printable(id)};
  if (!done.ok()) return fail_keys(done.error());
  std::string body;
  json::Writer(body).begin_object().field("id", id).field_bool("revoked", true).end_object();
  cli::print_text(given.has("--json") ? body + "\n" : cli::printable(id) + " revoked\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> key_commands() {
  cli::Option data{"--data", "DIR", "use this data directory, while no server uses it"};
  return {cli::remote(
              "keys create", "make an API key", create, {{"NAME", "what it is for"}},
              {{"--scope", "SCOPES", "read, write, worker, operate, admin; may be repeated (admin)",
                "read write worker operate admin"},
               data},
              "The key goes to stdout, once; the server keeps only its hash.\n\nExamples:\n"
              "  pawl keys create laptop --data ./pawl-data\n  pawl keys create worker-1 --scope "
              "worker\n"
              "  export PAWL_API_KEY=$(pawl keys create me --data ./pawl-data)"),
          cli::remote("keys list", "list API keys", list, {}, {data}),
          cli::remote("keys revoke", "revoke an API key", revoke,
                      {{"ID", "the key's id, not its text"}}, {data})};
}

}  // namespace pawl
