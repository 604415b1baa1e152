#include "api/worlds/world_call.h"

#include <algorithm>

#include "api/definition_faults.h"
#include "api/kept_answer.h"
#include "api/paging.h"
#include "base/hash.h"
#include "base/quote.h"
#include "worldhost/state_table.h"
#include "worlds/fault.h"
#include "worlds/frame.h"
#include "worlds/hash.h"

namespace pawl::api {
namespace {

constexpr size_t kClientIdBytesMax = 255;

struct HeldCall {
  WorldRequestPtr request;
  WorldWork work;
  WorldCallRules rules;
  std::optional<Reply> result = {};
};

// The answer of an earlier call with the same key; nothing if there was none.
std::optional<Reply> earlier_answer(App& app, const Call& call, WorldSession& session,
                                    const KeptAnswers& kept) {
  if (kept.key().empty()) return std::nullopt;
  std::optional<std::string> value = session.noted_answer(kept.key());
  if (!value) return std::nullopt;
  return kept.repeat(app, call, *value);
}

Reply decide_call(App& app, HeldCall& held, WorldSession& session) {
  const Call& call = held.request->call;
  KeptAnswers kept(call);
  if (auto earlier = earlier_answer(app, call, session, kept)) return std::move(*earlier);
  if (!session.exists() && !held.rules.takes_missing)
    return no_such_world(shown_world(session.name()));
  if (held.rules.writes && session.exists()) PAWL_TRY_DO(worlds::writable(session.world().head()));
  auto result = held.work(session);
  if (result.ok() && !kept.key().empty() && result->status < 400)
    session.note_answer(kept.key(), kept.encode(app, call, *result),
                        session.now_ms() + app.config().idempotency_ms);
  return result;
}

}  // namespace

WorldRequestPtr bare_world_call(Call&& call) {
  auto request = std::make_shared<WorldRequest>(std::move(call));
  (void)request->call.leave_round();
  return request;
}

void note_unknown(WorldRequest& request, std::initializer_list<std::string_view> known) {
  request.body().each_member([&](json::View key, json::View) {
    std::string name = key.string();
    if (std::find(known.begin(), known.end(), name) == known.end())
      request.warnings.push_back({"/" + name, "is not known here", "field.unknown"});
  });
}

WorldRequestPtr read_world_call(Call&& call, std::initializer_list<std::string_view> members,
                                bool empty_is_fine) {
  WorldRequestPtr request = bare_world_call(std::move(call));
  auto doc = parse_body(request->call, empty_is_fine);
  if (!doc.ok()) return request->call.fail(doc.error()), nullptr;
  request->doc = std::move(*doc);
  Fields fields(request->body());
  refuse_unknown(request->call, fields, members);
  if (!fields.ok()) return request->call.fail(fields.error(ErrorCode::InvalidContent)), nullptr;
  if (is_lenient(request->call)) note_unknown(*request, members);
  return request;
}

void answer_from_world(App& app, const WorldRequestPtr& request, const std::string& name,
                       WorldWork work, WorldCallRules rules) {
  WorldHost* host = app.worlds();
  if (host == nullptr)
    return request->call.fail({ErrorCode::Unavailable, "this server runs no worlds"});
  auto held = std::make_shared<HeldCall>(HeldCall{request, std::move(work), std::move(rules)});
  WorldOrder order;
  order.alone = held->rules.alone;
  order.needs = held->rules.needs;
  order.work = [&app, held](WorldSession& session) {
    held->result = decide_call(app, *held, session);
    return ok_status();
  };
  auto done = [held](const Status& outcome) {
    Call& call = held->request->call;
    const bool is_given = outcome.ok() && held->result->ok();
    if (held->rules.answered) held->rules.answered(is_given);
    if (is_given) return call.answer(std::move(*held->result).value());
    call.fail(outcome.ok() ? held->result->error() : outcome.error());
  };
  order.done = done;
  Status taken = host->post(scoped_world(request->call.tenant, name), std::move(order));
  if (!taken.ok()) done(taken);
}

http::Response world_reply(std::string body, int status) {
  return json_response(Surface::V1, status, std::move(body));
}

Error no_such_world(std::string_view name) {
  return Error{ErrorCode::NotFound, "world " + in_quotes(name) + " not found"};
}

void write_world(json::Writer& w, const worlds::Head& head) {
  w.begin_object();
  write_world_members(w, head);
  w.end_object();
}

void write_world_members(json::Writer& w, const worlds::Head& head) {
  const bool open = head.quarantine_code.empty();
  w.field("id", head.id.text()).field("name", head.name);
  w.field("status", open ? "open" : "quarantined").field("manifest_hash", head.manifest_hash);
  w.field_int("height", static_cast<int64_t>(head.height))
      .field_time("created_at", head.created_ms);
  w.field_bool("test", head.test);
  if (!open) {
    w.key("quarantine").begin_object().field("code", head.quarantine_code);
    w.field_int("seq", static_cast<int64_t>(head.quarantine_seq));
    w.field("message", head.quarantine_message).end_object();
  }
}

void write_faults(json::Writer& w, std::string_view name, const std::vector<Complaint>& faults) {
  w.key(name).begin_array();
  for (const Complaint& fault : faults)
    w.begin_object()
        .field("path", fault.path)
        .field("code", fault.code)
        .field("message", fault.message)
        .end_object();
  w.end_array();
}

WorldRequestPtr read_program_call(App& app, Call&& call,
                                  std::initializer_list<std::string_view> members) {
  WorldRequestPtr request = read_world_call(std::move(call), members);
  if (!request || app.worlds() == nullptr) return request;
  request->judge = std::make_unique<TimedJudge>(app.worlds()->modules(), app.clock());
  // Its faults are told when it is read again, with what the world knows.
  (void)read_program_text(*request, nullptr);
  return request;
}

Result<worlds::ProgramText> read_program_text(WorldRequest& request, WorldSession* session) {
  const Fields fields(request.body());
  auto find_node = [&](std::string_view hash) {
    return session == nullptr ? std::nullopt : session->world().node(hash);
  };
  auto find_blob = [&](std::string_view hash) {
    return session == nullptr ? std::nullopt : session->world().blob(hash);
  };
  PAWL_TRY(worlds::ProgramText text,
           worlds::read_program(fields.find("manifest"), fields.find("nodes"), find_node, find_blob,
                                *request.judge));
  text.warnings.insert(text.warnings.end(), request.warnings.begin(), request.warnings.end());
  return text;
}

Error invalid_manifest(const worlds::ProgramText& text) {
  Error error =
      worlds::refusal(ErrorCode::InvalidContent, "manifest.invalid",
                      "the manifest or its nodes are not valid; see details.validation_errors");
  error.complaints = text.faults;
  return error;
}

worlds::GivenEvent read_event_fields(const Call& call, Fields& fields) {
  refuse_unknown(call, fields, {"schema", "value", "value_b64", "lens", "key", "client_id"});
  worlds::GivenEvent event;
  event.schema = fields.required_text("schema");
  event.client_id = fields.text("client_id");
  if (event.client_id.size() > kClientIdBytesMax) fields.complain("client_id", "is too long");
  fields.object().each_member([&](json::View name, json::View value) {
    if (name.equals("value")) event.value = value;
    if (name.equals("key") && !value.is_null()) event.key = value;
  });
  if (std::string lens = fields.text("lens"); lens == "tagged") {
    event.lens = worlds::Lens::Tagged;
  } else if (!lens.empty() && lens != "sugar") {
    fields.complain("lens", "must be sugar or tagged");
  }
  if (fields.has("value_b64")) {
    std::string bytes;
    if (event.value && !event.value->is_null())
      fields.complain("value_b64", "must not stand beside value");
    if (!worlds::from_base64(fields.text("value_b64"), bytes))
      fields.complain("value_b64", "must be canonical base64 with padding");
    event.value.reset();
    event.value_bytes = std::move(bytes);
  } else if (!event.value) {
    fields.complain("value", "is required", "required");
  }
  return event;
}

std::vector<std::string> keys_of_query(const worlds::Module* module, const std::string& text) {
  if (module != nullptr && !module->keyed())
    return text.empty() ? std::vector<std::string>{""} : std::vector<std::string>();
  std::vector<std::string> keys;
  auto take = [&](Result<std::string> key) {
    if (key.ok() && std::find(keys.begin(), keys.end(), *key) == keys.end())
      keys.push_back(std::move(key).value());
  };
  const auto read = [&](json::View given) {
    return module != nullptr ? worlds::from_json(*module->key_type, given)
                             : worlds::from_plain_json(given);
  };
  std::string quoted;
  json::append_quoted(quoted, text);
  if (auto bare = json::parse(quoted); bare.ok()) take(read(bare->root()));
  if (auto given = json::parse(text); given.ok()) take(read(given->root()));
  if (module == nullptr && text.empty()) keys.emplace_back();  // not keyed
  return keys;
}

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; !text.empty() && at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

namespace {

// An item's key as a cursor: base64 of the alphabet for URLs, without padding, since clients put it
// into a query as it is.
std::string cursor_of(std::string_view key) {
  std::string text = worlds::base64(key);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

bool from_cursor(std::string text, std::string& key) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return worlds::from_base64(text, key);
}

}  // namespace

Result<WorldPage> world_page(const Call& call) {
  PAWL_TRY(Page page, parse_page(call, kWorldPageUsual));
  WorldPage result{page.limit, {}};
  if (!page.cursor.empty() && !from_cursor(page.cursor, result.from))
    return Error{ErrorCode::InvalidRequest, "cursor is not one that this server gave"};
  return result;
}

WorldList::WorldList(std::string_view name, const WorldPage& page)
    : writer_(body_), fill_(body_, page.limit) {
  writer_.begin_object().key(name).begin_array();
}

bool WorldList::takes(std::string_view item_key) {
  if (fill_.full()) {
    next_ = item_key;
    return false;
  }
  fill_.take();
  return true;
}

http::Response WorldList::reply() {
  writer_.end_array();
  if (!next_.empty()) writer_.field("next_cursor", cursor_of(next_));
  writer_.end_object();
  return world_reply(std::move(body_));
}

}  // namespace pawl::api
