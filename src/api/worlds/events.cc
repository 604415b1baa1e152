// POST /v1/worlds/{w}/events, and the world's journal.
#include "api/paging.h"
#include "api/routes.h"
#include "api/worlds/world_call.h"
#include "worlds/fault.h"
#include "worlds/hash.h"
#include "worlds/reading.h"
#include "worlds/records.h"
#include "worlds/route.h"

namespace pawl::api {
namespace {

constexpr size_t kEventBytesMax = 1u << 20;
constexpr size_t kJournalPageUsual = 100;

std::string_view outcome_text(worlds::Delivery::Outcome outcome) {
  switch (outcome) {
    case worlds::Delivery::Outcome::Stepped:
      return "stepped";
    case worlds::Delivery::Outcome::Failed:
      return "failed";
    case worlds::Delivery::Outcome::Skipped:
      return "skipped";
  }
  return "";
}

std::string reply_of(const worlds::Program& program, const worlds::EventReply& reply) {
  std::string body;
  json::Writer w(body);
  w.begin_object().field_int("seq", static_cast<int64_t>(reply.seq));
  w.field("event_hash", reply.event_hash).key("deliveries").begin_array();
  for (const worlds::Delivery& delivery : reply.deliveries) {
    w.begin_object().field("module", delivery.module).key("key");
    const worlds::Module* module = program.module(delivery.module);
    if (delivery.key && module != nullptr && module->keyed()) {
      std::string key;
      worlds::append_json(key, *module->key_type, *delivery.key);
      w.raw(key);
    } else {
      w.null();
    }
    w.key("run_id").uuid(delivery.run_id).field("outcome", outcome_text(delivery.outcome));
    w.end_object();
  }
  w.end_array().field_bool("duplicate", reply.duplicate).end_object();
  return body;
}

// Null if the call was answered. The event points into the request.
std::optional<worlds::GivenEvent> read_event(const WorldRequestPtr& request, json::View body,
                                             const std::string& path) {
  Fields fields(body, path);
  worlds::GivenEvent event = read_event_fields(request->call, fields);
  if (fields.ok()) return event;
  Error error = fields.error(ErrorCode::InvalidContent);
  error.wire = "event.invalid";
  request->call.fail(error);
  return std::nullopt;
}

// An event on its way: judged once under each program that it meets.
struct EventOrder {
  WorldRequestPtr request;  // `given` points into it
  worlds::GivenEvent given;
  std::optional<worlds::Event> event = {};
  std::string judged_under = {};

  Result<const worlds::Event*> judge(const worlds::Program& program) {
    if (!event || judged_under != program.manifest_hash) {
      PAWL_TRY(event, worlds::judge_event(program, given));
      judged_under = program.manifest_hash;
    }
    return &*event;
  }
  // The instances that it goes to first, and what tells whether it came before.
  void add_needs(const worlds::Program& program, std::vector<std::string>& keys) {
    auto judged = judge(program);
    if (!judged.ok()) return;
    std::vector<worlds::Target> targets;
    const worlds::MaybeBytes key = event->key ? worlds::MaybeBytes(*event->key) : std::nullopt;
    if (worlds::find_targets(program, event->schema, event->value, key, targets)) return;
    for (const worlds::Target& target : targets)
      keys.push_back(worlds::instance_key(target.module->name, target.key));
    if (!event->client_id.empty()) keys.push_back(worlds::client_key(event->client_id));
  }
};

void post_event_call(App& app, Call&& call) {
  if (call.request.body.size() > kEventBytesMax)
    return call.fail({ErrorCode::TooLarge, "an event has at most 1 MiB"});
  const std::string name = call.params[0];
  auto request = read_world_call(std::move(call),
                                 {"schema", "value", "value_b64", "lens", "key", "client_id"});
  if (!request) return;
  auto event = read_event(request, request->body(), "$");
  if (!event) return;
  auto order = std::make_shared<EventOrder>(EventOrder{request, std::move(*event)});
  answer_from_world(
      app, request, name,
      [order](WorldSession& session) -> Reply {
        PAWL_TRY(auto program, session.program());
        PAWL_TRY(const worlds::Event* judged, order->judge(*program));
        PAWL_TRY(worlds::EventReply reply, session.frame([&](worlds::Deciding& deciding) {
          return worlds::post_event(deciding, *judged);
        }));
        return world_reply(reply_of(*program, reply));
      },
      {.writes = true,
       .needs = [order](const worlds::Program& program, std::vector<std::string>& keys) {
         order->add_needs(program, keys);
       }});
}

// --- journal

struct JournalPage {
  uint64_t from = 1;
  uint32_t from_n = 0;
  size_t limit = kJournalPageUsual;
  std::vector<std::string> kinds;

  bool wants(const worlds::JournalRecord& record) const {
    if (kinds.empty()) return true;
    const std::string_view name = worlds::record_kind_name(worlds::RecordKind{record.kind});
    return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
  }
};

Result<JournalPage> read_page(const Call& call) {
  PAWL_TRY(Page page, parse_page(call, kJournalPageUsual));
  JournalPage wanted;
  wanted.limit = page.limit;
  auto number = [](std::string_view text, auto& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (std::string from = call.query("from"); !from.empty() && !number(from, wanted.from))
    return Error{ErrorCode::InvalidRequest, "from must be a number"};
  if (!page.cursor.empty()) {
    const size_t dot = page.cursor.find('.');
    if (dot == std::string::npos || !number(page.cursor.substr(0, dot), wanted.from) ||
        !number(page.cursor.substr(dot + 1), wanted.from_n))
      return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  }
  wanted.kinds = comma_separated(call.query("kinds"));
  return wanted;
}

void get_journal(App& app, Call&& call) {
  const std::string name = call.params[0];
  auto page = read_page(call);
  if (!page.ok()) return call.fail(page.error());
  answer_from_world(
      app, bare_world_call(std::move(call)), name, [page = *page](WorldSession& session) -> Reply {
        std::string body;
        json::Writer w(body);
        w.begin_object().key("entries").begin_array();
        PageFill fill(body, page.limit);
        std::string next;
        session.world().each_shown_frame(
            page.from, [&](uint64_t seq, const worlds::FrameRecords& frame) {
              uint32_t n = 0;
              for (const worlds::JournalRecord& record : frame.records) {
                const bool seen = seq == page.from && n < page.from_n;
                if (!seen && page.wants(record)) {
                  if (fill.full()) {
                    next = std::to_string(seq) + "." + std::to_string(n);
                    return false;
                  }
                  fill.take();
                  worlds::write_record(w, seq, n, record);
                }
                ++n;
              }
              if (seq - page.from < kFramesScannedMax) return true;
              next = std::to_string(seq + 1) + ".0";
              return false;
            });
        w.end_array().field_int("head", static_cast<int64_t>(session.world().head().height));
        if (!next.empty()) w.field("next_cursor", next);
        w.end_object();
        return world_reply(std::move(body));
      });
}

}  // namespace

void add_world_event_routes(Router& router) {
  router.add(
      {"POST", "/v1/worlds/{w}/events", Permission::Write, Routing::ByName, post_event_call});
  router.add({"GET", "/v1/worlds/{w}/journal", Permission::Read, Routing::ByName, get_journal});
}

}  // namespace pawl::api
