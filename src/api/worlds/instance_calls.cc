#include "api/worlds/instance_calls.h"

#include "api/paging.h"
#include "api/runs.h"
#include "api/worlds/world_call.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "kernel/worlds/instance_run.h"
#include "plan/ojs/parse_workflow.h"
#include "worldhost/state_table.h"
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

bool is_about(const worlds::JournalRecord& record, const Place& place) {
  const worlds::RecordView view(record.bytes);
  if (view.text("module") == place.first)
    return view.maybe_bytes("key").value_or("") == place.second;
  if (!view.has("origin")) return false;
  const worlds::RecordView origin = view.member("origin");
  return origin.text("name") == place.first &&
         origin.maybe_bytes("instance_key").value_or("") == place.second;
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
  auto page = parse_page(call);
  if (!page.ok()) return call.fail(page.error());
  const std::string id = call.params[0];
  uint64_t after = 0;
  const std::string text = page->cursor.empty() ? call.query("after") : page->cursor;
  std::from_chars(text.data(), text.data() + text.size(), after);
  answer_from_world(
      app, bare_world_call(std::move(call)), std::string(shown_world(world)),
      [id, after, limit = page->limit](WorldSession& session) -> Reply {
        PAWL_TRY(Place place, place_of(session, id));
        std::string body;
        json::Writer w(body);
        w.begin_object().key("events").begin_array();
        PageFill fill(body, limit);
        uint64_t next = 0;
        session.world().each_frame(after + 1, [&](uint64_t seq, const worlds::FrameRecords& frame) {
          if (fill.full()) return next = seq - 1, false;
          uint32_t n = 0;
          for (const worlds::JournalRecord& record : frame.records) {
            if (is_about(record, place)) {
              fill.take();
              const worlds::RecordView view(record.bytes);
              w.begin_object().field_int("seq", static_cast<int64_t>(seq)).field_int("n", n);
              w.field("type", worlds::record_kind_name(worlds::RecordKind{record.kind}));
              w.field_time("timestamp", frame.written_ms).key("data");
              std::string data;
              worlds::cbor::append_json(data, view.item());
              w.raw(data).end_object();
            }
            ++n;
          }
          return true;
        });
        w.end_array();
        if (next != 0) w.field("next_cursor", std::to_string(next));
        w.end_object();
        return world_reply(std::move(body));
      });
}

}  // namespace pawl::api
