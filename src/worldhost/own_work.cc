#include "worldhost/own_work.h"

#include "actions/host_policy.h"
#include "actions/value_text.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/plant.h"
#include "journal/peek.h"
#include "journal/record.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "worldhost/state_table.h"
#include "worlds/cbor.h"

namespace pawl {
namespace {

using worlds::cbor::Item;

constexpr int64_t kRequestMsUsual = 30'000;
constexpr int64_t kRequestMsMax = 600'000;
constexpr size_t kAnswerBytesMax = 512u << 10;

std::string text_of(const Item& params, std::string_view name) {
  const Item* found = params.find(name);
  return found == nullptr || !found->is_text() ? std::string() : std::string(found->string);
}

OwnReceipt ok_with(std::string_view id_name, const Uuid& id, std::string_view output_name,
                   const std::string& output) {
  OwnReceipt receipt;
  worlds::cbor::Map map(receipt.payload);
  map.text(id_name, id.text());
  if (output.empty()) {
    map.null(output_name);
  } else {
    map.text(output_name, output);
  }
  map.end();
  return receipt;
}

WorkState state_of_job(const Job& job) {
  switch (job.state) {
    case JobState::Completed:
      return {true, ok_with("job_id", job.id, "result_json", job.result)};
    case JobState::Cancelled:
      return {true, failed_receipt("job.cancelled", "job " + job.id.text() + " was cancelled")};
    case JobState::Discarded: {
      std::string why = "job " + job.id.text() + " failed";
      if (job.extras && !job.extras->errors.empty())
        why += ": " + job.extras->errors.back().message;
      return {true, failed_receipt("job.discarded", why)};
    }
    case JobState::None:
    case JobState::Scheduled:
    case JobState::Available:
    case JobState::Pending:
    case JobState::Active:
    case JobState::Retryable:
      break;
  }
  return {};
}

WorkState state_of_run(const Run& run) {
  if (run.state == RunState::Completed)
    return {true, ok_with("run_id", run.id, "output_json", run.script->output.str())};
  if (run.state == RunState::Failed)
    return {true, failed_receipt("run.failed", run.script->error.message.empty()
                                                   ? run.reason
                                                   : run.script->error.message)};
  if (run.state == RunState::Cancelled) return {true, failed_receipt("run.cancelled", run.reason)};
  return {};
}

// What was there and is gone: retention took it before its receipt was given.
WorkState look(const State& state, const Uuid& id, bool is_job) {
  if (is_job) {
    const Job* job = state.find_job(JobId(id));
    return job == nullptr
               ? WorkState{true, failed_receipt("job.discarded", "the job is not there any more")}
               : state_of_job(*job);
  }
  const Run* run = find_script(state, RunId(id));
  return run == nullptr
             ? WorkState{true, failed_receipt("run.failed", "the run is not there any more")}
             : state_of_run(*run);
}

// Where it is noted that work was made for an intent; nothing if the intent is not open any more.
std::optional<std::string> note_of_work(const State& state, const std::string& world,
                                        const std::string& hash) {
  const auto id = find_world(state, world);
  if (!id) return std::nullopt;
  const auto item = StateTable(state, *id).get(worlds::intent_key(hash));
  worlds::Intent intent;
  if (!item || !codec::decode(*item, intent) || intent.settlement != worlds::Settlement::Open)
    return std::nullopt;
  return item_doc_key(*id, worlds::work_key(hash));
}

// Asks the engine for a job or run of an effect, and tells what it says once that is durable.
class WorkTask : public Task {
 public:
  using Decide = std::function<WorkState(Frame&)>;
  WorkTask(Decide decide, WorkSeen seen) : decide_(std::move(decide)), seen_(std::move(seen)) {}
  std::optional<Parking> decide(Frame& frame, bool) override {
    state_ = decide_(frame);
    return std::nullopt;
  }
  void durable(Wakes&) override { seen_(std::move(state_)); }
  void refuse(const Error& error) override { seen_(error); }

 private:
  const Decide decide_;
  const WorkSeen seen_;
  WorkState state_;
};

void ask(EngineLine& line, WorkTask::Decide decide, WorkSeen seen) {
  auto task = std::make_shared<WorkTask>(std::move(decide), std::move(seen));
  if (Status taken = line.submit(task); !taken.ok()) task->refuse(taken.error());
}

std::string envelope_of(const Item& params) {
  std::string text;
  json::Writer w(text);
  w.begin_object().field("type", text_of(params, "type"));
  w.field_raw("args", text_of(params, "args_json"));
  const std::string queue = text_of(params, "queue");
  const std::string options = text_of(params, "options_json");
  if (!queue.empty()) w.field("queue", queue);
  if (!options.empty()) w.field_raw("options", options);
  w.end_object();
  return text;
}

// Each text is one JSON value by itself: else it could bring members of the envelope along that the
// capability has not judged.
Status judge_texts_of_job(const Item& params) {
  auto args = json::parse(text_of(params, "args_json"));
  if (!args.ok() || !args->root().is_array())
    return Error{ErrorCode::InvalidContent, "args_json must be a JSON array"};
  const std::string given = text_of(params, "options_json");
  if (given.empty()) return ok_status();
  auto options = json::parse(given);
  if (!options.ok() || !options->root().is_object())
    return Error{ErrorCode::InvalidContent, "options_json must be a JSON object"};
  return ok_status();
}

Status make_job(Frame& frame, const Uuid& id, std::string_view tenant, const Item& params) {
  PAWL_TRY_DO(judge_texts_of_job(params));
  const std::string text = envelope_of(params);
  PAWL_TRY(json::Doc doc, json::parse(text));
  PAWL_TRY(NewJob job, parse_job(doc.root(), {.now_ms = frame.now_ms(), .tenant = tenant}));
  job.id = JobId(id);
  PAWL_TRY_DO(place_job(frame, job));
  return ok_status();
}

Status make_run(Frame& frame, const Uuid& id, std::string_view tenant, const Item& params) {
  StartScript start;
  start.id = RunId(id);
  start.tenant = tenant;
  start.definition = text_of(params, "definition");
  start.version = text_of(params, "version");
  start.inputs = text_of(params, "inputs_json");
  if (!start.inputs.empty()) {
    auto inputs = json::parse(start.inputs);
    if (!inputs.ok() || !inputs->root().is_object())
      return Error{ErrorCode::InvalidContent, "inputs_json must be a JSON object"};
  }
  PAWL_TRY_DO(start_script(frame, start));
  return ok_status();
}

}  // namespace

Result<actions::HttpRequest> own_request(const worlds::Intent& intent, std::string_view bytes,
                                         const actions::ActionPolicy& policy) {
  PAWL_TRY(Item params, worlds::cbor::read(bytes));
  actions::HttpRequest request;
  request.method = text_of(params, "method");
  request.url = text_of(params, "url");
  if (const Item* headers = params.find("headers"); headers != nullptr && headers->is_map())
    for (size_t i = 0; i + 1 < headers->items.size(); i += 2) {
      const Item* value = headers->items[i + 1].find("$value");  // a literal: secrets were opened
      if (value != nullptr) request.headers.emplace_back(headers->items[i].string, value->string);
    }
  if (const Item* body = params.find("body"); body != nullptr) request.body = body->string;
  const Item* timeout = params.find("timeout_ms");
  request.timeout_ms = kRequestMsUsual;
  if (timeout != nullptr && !timeout->is_null())
    request.timeout_ms = static_cast<int64_t>(
        std::clamp<uint64_t>(timeout->number, 1, static_cast<uint64_t>(kRequestMsMax)));
  request.max_bytes = kAnswerBytesMax;
  request.judge = [&policy](const std::string& host, int port) {
    return actions::judge_host(policy.http, host, port);
  };
  // Redirects are answers: the capability was granted for this host.
  request.follow_redirects = false;
  auto has = [&](std::string_view name) {
    return std::any_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
      return header.first.size() == name.size() &&
             strncasecmp(header.first.data(), name.data(), name.size()) == 0;
    });
  };
  auto record = worlds::cbor::read(intent.record);
  const Item* key = record.ok() ? record->find("requested_key") : nullptr;
  if (key == nullptr || !key->is_bytes())
    key = record.ok() ? record->find("idempotency_key") : nullptr;
  if (key != nullptr && !has("idempotency-key"))
    request.headers.emplace_back("Idempotency-Key", to_hex(key->string));
  if (!has("user-agent")) request.headers.emplace_back("User-Agent", "pawl");
  return request;
}

OwnReceipt receipt_of_response(Result<actions::HttpResponse> response) {
  if (!response.ok()) {
    const Error& error = response.error();
    OwnReceipt receipt = failed_receipt(error.code == ErrorCode::Forbidden  ? "PERMISSION_DENIED"
                                        : error.code == ErrorCode::TooLarge ? "http.too_large"
                                                                            : "http.failed",
                                        error.message);
    if (actions::timed_out(error)) receipt.status = "timeout";
    return receipt;
  }
  std::map<std::string, std::string> headers;  // repeated ones joined, as HTTP says
  for (const auto& [name, value] : response->headers) {
    std::string& text = headers[actions::repaired_utf8(name)];
    text += (text.empty() ? "" : ", ") + actions::repaired_utf8(value);
  }
  OwnReceipt receipt;
  worlds::cbor::Map map(receipt.payload);
  map.nat("status", static_cast<uint64_t>(response->status)).bytes("body", response->body);
  worlds::cbor::Map all(map.value("headers"));
  for (const auto& [name, value] : headers) all.text(name, value);
  all.end();
  map.end();
  return receipt;
}

Uuid id_of_work(const Uuid& world, const worlds::Intent& intent, std::string_view hash,
                uint16_t partition) {
  static uint64_t made = 0;
  const uint64_t salt = has_bug(Bug::WorkMadeTwice) ? ++made : 0;
  const std::string name = world.bytes() + std::string(hash);
  return Uuid::v7(intent.emitted_ns / 1'000'000, hash64(name, 1 + salt), hash64(name, 2), partition);
}

bool makes_work(std::string_view kind) { return kind == "job.run" || kind == "run.start"; }

void start_own_work(EngineLine& line, const std::string& world, const Uuid& id,
                    const worlds::Intent& intent, const std::string& hash, WorkSeen seen) {
  const bool is_job = intent.kind == "job.run";
  ask(
      line,
      [world, id, is_job, hash, bytes = intent.params](Frame& frame) -> WorkState {
        const State& state = frame.state();
        const bool is_there =
            is_job ? state.find_job(JobId(id)) != nullptr : state.find_run(RunId(id)) != nullptr;
        if (is_there) return look(state, id, is_job);
        const auto note = note_of_work(state, world, hash);
        const bool noted = note && state.find_doc(DocKind::WorldItem, *note) != nullptr;
        if (!note || (noted && !has_bug(Bug::WorkMadeTwice))) return look(state, id, is_job);
        auto params = worlds::cbor::read(bytes);
        Status made = !params.ok() ? Status(params.error()) : frame.attempt([&](Frame& within) {
          const std::string_view tenant = tenant_of_world(world);
          return is_job ? make_job(within, id, tenant, *params)
                        : make_run(within, id, tenant, *params);
        });
        if (made.ok()) {
          put_doc(frame, DocKind::WorldItem, *note, "");
          return look(state, id, is_job);
        }
        return {true,
                failed_receipt(is_job ? "job.discarded" : "run.failed", made.error().message)};
      },
      std::move(seen));
}

void look_at_work(EngineLine& line, const Uuid& id, bool is_job, WorkSeen seen) {
  ask(
      line, [id, is_job](Frame& frame) { return look(frame.state(), id, is_job); },
      std::move(seen));
}

bool may_hold_ends(std::string_view record) {
  for (EventType type : {EventType::JobCompleted, EventType::JobFailed, EventType::JobCancelled,
                         EventType::JobExpired, EventType::ScriptMoved})
    if (journal::holds(record, type)) return true;
  return false;
}

void each_ended(std::string_view record, FunctionRef<void(const Uuid&)> visit) {
  auto events = journal::read_record(0, record);
  if (!events.ok()) return;
  for (const journal::EventBytes& event : *events) {
    if (event.type == EventType::ScriptMoved) {
      ScriptMoved moved;
      if (codec::decode(event.bytes, moved)) visit(moved.run);
      continue;
    }
    const bool ends = event.type == EventType::JobCompleted || event.type == EventType::JobFailed ||
                      event.type == EventType::JobCancelled || event.type == EventType::JobExpired;
    JobEventHead head;
    if (ends && codec::decode(event.bytes, head)) visit(head.job);
  }
}

}  // namespace pawl
