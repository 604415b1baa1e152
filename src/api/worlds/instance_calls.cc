#include "api/worlds/instance_calls.h"

#include <charconv>
#include <functional>
#include <set>

#include "api/paging.h"
#include "api/runs.h"
#include "api/worlds/world_call.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "kernel/worlds/instance_run.h"
#include "plan/ojs/parse_workflow.h"
#include "worldhost/state_table.h"
#include "worlds/causes.h"
#include "worlds/commands.h"
#include "worlds/reading.h"
#include "worlds/record_view.h"
#include "worlds/records.h"

namespace pawl::api {
namespace {

class LookTask : public Task {
 public:
  LookTask(Call&& call, std::function<void(Call&&, const std::string&)> instance,
           std::function<void(Call&&)> other)
      : call_(std::move(call)), instance_(std::move(instance)), other_(std::move(other)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    auto run = visible_run(frame.state(), call_.params[0], call_.tenant);
    if (run.ok() && (*run)->kind == RunKind::Module)
      world_ = scoped_world((*run)->tenant, (*run)->instance->world_name);
    return std::nullopt;
  }
  void durable(Wakes&) override {
    if (world_.empty()) return other_(std::move(call_));
    instance_(std::move(call_), world_);
  }
  void refuse(const Error& error) override { call_.fail(error); }
  bool only_reads() const override { return true; }

 private:
  Call call_;
  const std::function<void(Call&&, const std::string&)> instance_;
  const std::function<void(Call&&)> other_;
  std::string world_;
};

using Place = std::pair<std::string, std::string>;  // module, key

Result<Place> place_of(WorldSession& session, const std::string& text) {
  auto id = Uuid::parse(text);
  auto place = id ? session.place_of(*id) : std::nullopt;
  if (!place) return Error{ErrorCode::NotFound, "run " + text.substr(0, 128) + " not found"};
  return *place;
}

// The run as it is once the order is decided is shown by another call: its state is the world's.
Reply run_reply(WorldSession& session, const Place& place) {
  PAWL_TRY(auto program, session.program());
  const auto instance = session.world().instance(place.first, place.second);
  std::string body;
  json::Writer w(body);
  w.begin_object().key("run").begin_object();
  const worlds::Instance& now = *instance;
  const bool over = now.status == worlds::InstanceStatus::Completed ||
                    now.status == worlds::InstanceStatus::Failed;
  w.field("id", now.run_id.text()).field("kind", "module").field("definition", place.first);
  w.field("version", now.module_version);
  w.field("status", over ? worlds::status_name(now.status) : std::string_view("active"));
  w.field("world", session.world().head().name).key("key");
  const worlds::Module* module = program->module(place.first);
  if (module != nullptr && module->keyed()) {
    std::string key;
    worlds::append_json(key, *module->key_type, place.second);
    w.raw(key);
  } else {
    w.null();
  }
  w.field_time("created_at", now.created_ms);
  if (!now.error_code.empty())
    w.key("error")
        .begin_object()
        .field("code", now.error_code)
        .field("message", now.error_detail)
        .end_object();
  w.end_object().end_object();
  return world_reply(std::move(body));
}

using Act = Status (*)(worlds::Deciding&, std::string_view module, std::string_view key);

void change_instance(App& app, Call&& call, const std::string& world, Act act) {
  const std::string id = call.params[0];
  auto request = bare_world_call(std::move(call));
  answer_from_world(app, request, std::string(shown_world(world)),
                    [id, act](WorldSession& session) -> Reply {
                      PAWL_TRY(Place place, place_of(session, id));
                      PAWL_TRY_DO(session.frame([&](worlds::Deciding& deciding) {
                        return act(deciding, place.first, place.second);
                      }));
                      return run_reply(session, place);
                    },
                    {.writes = true});
}

// What of the journal a call shows.
struct WantedEvents {
  uint64_t after = 0;
  size_t limit = 0;
  std::set<std::string, std::less<>> types;  // none: all
};

Result<WantedEvents> read_wanted(const Call& call) {
  PAWL_TRY(Page page, parse_page(call));
  WantedEvents wanted{.limit = page.limit};
  const std::string from = page.cursor.empty() ? call.query("after") : page.cursor;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), wanted.after);
  if (!from.empty() && (error != std::errc() || end != from.data() + from.size()))
    return Error{ErrorCode::InvalidRequest, "after and cursor must be numbers"};
  for (std::string& type : comma_separated(call.query("types")))
    wanted.types.insert(std::move(type));
  return wanted;
}

void write_event(json::Writer& w, uint64_t seq, uint32_t n, const worlds::FrameRecords& frame) {
  const worlds::JournalRecord& record = frame.records[n];
  w.begin_object().field_int("seq", static_cast<int64_t>(seq)).field_int("n", n);
  w.field("type", worlds::record_kind_name(worlds::RecordKind{record.kind}));
  w.field_time("timestamp", frame.written_ms).key("data");
  std::string data;
  worlds::cbor::append_json(data, worlds::RecordView(record.bytes).item());
  w.raw(data).end_object();
}

// Whole frames: `after` names the last one that was shown.
Reply events_reply(WorldSession& session, const Place& place, const WantedEvents& wanted) {
  std::string body;
  json::Writer w(body);
  w.begin_object().key("events").begin_array();
  PageFill fill(body, wanted.limit);
  uint64_t next = 0;
  auto visit = [&](uint64_t seq, const worlds::FrameRecords& frame) {
    if (fill.full() || seq - wanted.after > kFramesScannedMax) return next = seq - 1, false;
    const auto own =
        worlds::records_of_instance(session.world(), seq, frame.records, place.first, place.second);
    for (uint32_t n = 0; n < frame.records.size(); ++n) {
      const auto kind = worlds::RecordKind{frame.records[n].kind};
      if (!own[n] || (!wanted.types.empty() && !wanted.types.contains(record_kind_name(kind))))
        continue;
      fill.take();
      write_event(w, seq, n, frame);
    }
    return true;
  };
  session.world().each_shown_frame(wanted.after + 1, visit);
  w.end_array();
  if (next != 0) w.field("next_cursor", std::to_string(next));
  w.end_object();
  return world_reply(std::move(body));
}

}  // namespace

void if_instance(App& app, Call&& call, std::function<void(Call&&, const std::string&)> instance,
                 std::function<void(Call&&)> other) {
  if (app.worlds() == nullptr) return other(std::move(call));
  Round* round = call.leave_round();
  app.submit(round,
             std::make_shared<LookTask>(std::move(call), std::move(instance), std::move(other)));
}

void cancel_instance(App& app, Call&& call, const std::string& world) {
  change_instance(app, std::move(call), world, worlds::terminate_instance);
}

void retry_instance_call(App& app, Call&& call, const std::string& world) {
  change_instance(app, std::move(call), world, worlds::retry_instance);
}

void instance_events(App& app, Call&& call, const std::string& world) {
  auto wanted = read_wanted(call);
  if (!wanted.ok()) return call.fail(wanted.error());
  const std::string id = call.params[0];
  answer_from_world(app, bare_world_call(std::move(call)), std::string(shown_world(world)),
                    [id, wanted = *wanted](WorldSession& session) -> Reply {
                      PAWL_TRY(Place place, place_of(session, id));
                      return events_reply(session, place, wanted);
                    },
                    {.alone = true});
}

}  // namespace pawl::api
