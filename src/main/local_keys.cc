// pawl keys …: over HTTP, or with --data in a directory that no server uses, which is how the first
// key of a server beyond loopback is created.
#include <future>

#include "api/keys.h"
#include "base/json_writer.h"
#include "base/time.h"
#include "cli/keys.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "main/local.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

using cli::Invocation;

// A decision on a local engine, with waiting for its outcome.
class LocalTask : public Task {
 public:
  using Decide = std::function<Status(Frame&)>;
  explicit LocalTask(Decide decide) : decide_(std::move(decide)) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    outcome_ = frame.attempt(decide_);
    return std::nullopt;
  }
  void durable(Wakes&) override { promise_.set_value(outcome_); }
  void refuse(const Error& error) override { promise_.set_value(error); }
  Status wait() { return promise_.get_future().get(); }

 private:
  Decide decide_;
  Status outcome_ = ok_status();
  std::promise<Status> promise_;
};

Status decide_in(const std::string& directory, LocalTask::Decide decide) {
  PAWL_TRY(std::unique_ptr<Store> store, open_sqlite(directory));
  SystemClock clock;
  SystemRandom random;
  PAWL_TRY(std::unique_ptr<EngineLoop> engine, EngineLoop::start(*store, {}, clock, random));
  auto task = std::make_shared<LocalTask>(std::move(decide));
  PAWL_TRY_DO(engine->submit(task));
  Status outcome = task->wait();
  engine->stop();
  if (auto failure = engine->failed()) return *failure;
  return outcome;
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

void write_row(json::Writer& w, const api::ApiKey& key) {
  w.field("id", key.id).field("name", key.name).key("scopes").begin_array();
  for (const std::string& scope : api::scope_names(key.scopes)) w.string(scope);
  w.end_array().field_time("created_at", key.created_ms);
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
  write_row(w, made.key);
  w.field("key", made.text);
  cli::print_text(w.close() + "\n");
  return cli::kDone;
}

int list(const Invocation& given) {
  if (!given.has("--data")) return cli::list_keys(given);
  std::vector<api::ApiKey> keys;
  Status done = decide_in(given.text("--data"), [&](Frame& frame) {
    api::each_stored_key(frame.state(), [&](const api::ApiKey& key) { keys.push_back(key); });
    return ok_status();
  });
  if (!done.ok()) return fail_keys(done.error());
  json::ObjectWriter w;
  w.key("keys").begin_array();
  std::vector<cli::KeyRow> rows;
  for (const api::ApiKey& key : keys) {
    w.begin_object();
    write_row(w, key);
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
  Status done = decide_in(given.text("--data"), [&](Frame& frame) -> Status {
    if (!api::revoke_stored_key(frame, id).ok())
      return Error{ErrorCode::NotFound, "no key " + cli::printable(id)};
    return ok_status();
  });
  if (!done.ok()) return fail_keys(done.error());
  std::string body;
  json::Writer(body).begin_object().field("id", id).field_bool("revoked", true).end_object();
  cli::print_text(given.has("--json") ? body + "\n" : cli::printable(id) + " revoked\n");
  return cli::kDone;
}

}  // namespace

std::vector<cli::Command> key_commands() {
  cli::Option data{"--data", "DIR", "use this data directory, while no server uses it"};
  return {
      {"keys create",
       "make an API key",
       {{"NAME", "what it is for"}},
       cli::remote_options(
           {{"--scope", "SCOPES", "read, write, worker, operate, admin; may be repeated (admin)",
             "read write worker operate admin"},
            data}),
       "The key goes to stdout, once; the server keeps only its hash.\n\nExamples:\n"
       "  pawl keys create laptop --data ./pawl-data\n  pawl keys create worker-1 --scope worker\n"
       "  export PAWL_API_KEY=$(pawl keys create me --data ./pawl-data)",
       create},
      {"keys list", "list API keys", {}, cli::remote_options({data}), "", list},
      {"keys revoke",
       "revoke an API key",
       {{"ID", "the key's id, not its text"}},
       cli::remote_options({data}),
       "",
       revoke}};
}

}  // namespace pawl
