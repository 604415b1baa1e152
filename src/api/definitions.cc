// /v1/definitions: workflows that can be run by name. A version never changes: the same text keeps
// its version, another text becomes the next one; runs keep the version they began with.
#include "api/app.h"
#include "api/body.h"
#include "api/definition_faults.h"
#include "api/diagram_reply.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "api/schedule_body.h"
#include "api/schedules.h"
#include "base/url.h"
#include "expr/schema/json_schema.h"
#include "kernel/frame.h"
#include "kernel/messages/closing.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/source.h"

namespace pawl::api {
namespace {

// The members that a request may have beside a definition.
const std::initializer_list<std::string_view> kMembers = {
    "name",     "definition", "description", "version",  "input_schema", "output_schema",
    "triggers", "agent_id",   "category",    "features", "tags"};

constexpr size_t kDefinitionsMax = 10'000;
constexpr size_t kDefinitionVersionsMax = 1'000;
constexpr size_t kDefinitionNameBytesMax = 255;
constexpr int64_t kCountsMs = 10'000;

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kDefinitionNameBytesMax) return false;
  for (char c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == '/' || c == 0x7f) return false;
  return true;
}

void write_head(json::Writer& w, const DefinitionHead& head) {
  w.field("name", head.name).field("version", head.version);
  if (!head.description.empty()) w.field("description", head.description);
  w.field_time("created_at", head.created_ms);
}

void write_definition(json::Writer& w, const StoredDefinition& stored) {
  write_head(w, head_of(stored));
  w.field_raw("definition", stored.canonical);
  if (!stored.input_schema.empty()) w.field_raw("input_schema", stored.input_schema);
  if (!stored.output_schema.empty()) w.field_raw("output_schema", stored.output_schema);
  if (!stored.triggers.empty()) w.field_raw("triggers", stored.triggers);
}

// All versions of a name, removed ones too, oldest first, without their texts. Reads no more of
// those than read_max and one; then `whole` is false, and some are missing.
std::vector<DefinitionHead> heads_of(const State& state, const std::string& name, size_t read_max,
                                     bool& whole) {
  std::vector<DefinitionHead> found;
  std::string prefix = definition_key(name, "");
  size_t bytes_read = 0;
  whole = true;
  state.each_doc_key(DocKind::Definition, prefix, kDefinitionVersionsMax * 2,
                     [&](std::string_view key) {
                       if (!key.starts_with(prefix)) return false;
                       if (bytes_read >= read_max) return whole = false;
                       if (auto head = state.definition_head(key, bytes_read))
                         found.push_back(std::move(*head));
                       return true;
                     });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return found;
}

// The versions that are not removed, with their texts, oldest first.
std::vector<StoredDefinition> versions_of(const State& state, const std::string& name) {
  std::vector<StoredDefinition> found;
  std::string prefix = definition_key(name, "");
  state.each_doc(DocKind::Definition, prefix, kDefinitionVersionsMax * 2, [&](const Doc& doc) {
    if (doc.key.compare(0, prefix.size(), prefix) != 0) return false;
    StoredDefinition stored;
    if (codec::decode(doc.value, stored) && !stored.removed) found.push_back(std::move(stored));
    return true;
  });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return found;
}

std::string put_body(const DefinitionHead& head, const std::string& warnings) {
  json::ObjectWriter w;
  write_head(w, head);
  w.field_raw("warnings", warnings);
  return w.close();
}

// Data of the call besides the definition itself.
struct Along {
  std::string warnings;
  std::string tenant;
  std::vector<CronSpec> triggers;
};

Reply put_decided(Frame& frame, StoredDefinition stored, const Along& along) {
  const std::string& warnings = along.warnings;
  bool whole = true;
  std::vector<DefinitionHead> known = heads_of(frame.state(), stored.name, SIZE_MAX, whole);
  auto same = [&](const DefinitionHead& head) {
    StoredDefinition other;
    return find_definition(frame.state(), head.name, head.version, other) != nullptr &&
           other.canonical == stored.canonical && other.input_schema == stored.input_schema &&
           other.output_schema == stored.output_schema;
  };
  for (const DefinitionHead& other : known) {
    bool this_version = !stored.version.empty() && other.version == stored.version;
    bool newest = &other == &known.back();
    if (!this_version && !newest) continue;
    if (same(other) && (this_version || (stored.version.empty() && newest))) {
      if (newest) PAWL_TRY_DO(put_triggers(frame, stored.name, along.tenant, along.triggers));
      return json_response(Surface::V1, 201, put_body(other, warnings));
    }
    if (this_version)
      return Error{ErrorCode::Conflict,
                   "version '" + stored.version + "' of '" + stored.name +
                       "' exists with another content; versions do not change"};
  }
  if (known.size() >= kDefinitionVersionsMax)
    return Error{ErrorCode::Conflict, "'" + stored.name + "' has as many versions as it may have"};
  stored.number = known.empty() ? 1 : known.back().number + 1;
  auto taken = [&](const std::string& version) {
    for (const DefinitionHead& other : known)
      if (other.version == version) return true;
    return false;
  };
  for (uint32_t n = stored.number; stored.version.empty(); ++n)
    if (std::string label = "v" + std::to_string(n); !taken(label)) stored.version = label;
  stored.created_ms = frame.now_ms();
  PAWL_TRY_DO(put_triggers(frame, stored.name, along.tenant, along.triggers));
  put_doc(frame, DocKind::Definition, definition_key(stored.name, stored.version),
          codec::encoded(stored));
  put_doc(frame, DocKind::Definition, stored.name, stored.version);
  size_t bytes_read = 0;  // recorded while the text is in memory: lists need not read it again
  frame.state().definition_head(definition_key(stored.name, stored.version), bytes_read);
  http::Response response = json_response(Surface::V1, 201, put_body(head_of(stored), warnings));
  response.headers.emplace_back("Location", "/v1/definitions/" + percent_encode(stored.name));
  return response;
}

// Beside the definition, or in it, JSON or YAML.
std::string triggers_of(const Fields& fields) {
  auto inner = fields.find("definition");
  if (fields.has("triggers") || !inner) return fields.raw("triggers");
  if (inner->is_string()) {
    plan::Source source = plan::read_source(inner->string(), {});
    const Value* found = source.value.find("triggers");
    return found == nullptr ? "" : found->json();
  }
  auto found = inner->is_object() ? inner->find("triggers") : std::nullopt;
  return found ? std::string(found->raw()) : "";
}

Status check_schema(Fields& fields, std::string_view name) {
  std::string text = fields.raw(name);  // parsed again: runs read it under these limits
  if (text.empty()) return ok_status();
  PAWL_TRY(Value schema, Value::parse(text));
  auto compiled = expr::JsonSchema::compile(schema);
  if (!compiled.ok()) fields.complain(name, compiled.error().message, "schema");
  return ok_status();
}

void put_definition(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_definition_body(call));
  Fields fields(doc.root());
  bool wrapped = fields.has("definition");
  if (!wrapped && !fields.has("steps")) fields.complain("definition", "is required", "required");
  refuse_unknown(call, fields, kMembers, wrapped);
  std::string text(doc.root().raw());
  if (auto inner = fields.find("definition"))
    text = inner->is_string() ? inner->string() : std::string(inner->raw());
  plan::ReadResult read = read_given(app, call, text);
  StoredDefinition stored;
  stored.name = fields.text("name");
  if (stored.name.empty()) stored.name = fields.text("workflow_id");
  if (stored.name.empty() && read.valid()) stored.name = read.script->name;
  if (!is_name(stored.name))
    fields.complain("name", "is required: up to 255 characters without '/' or control characters",
                    "required");
  stored.version = fields.text("version");
  if (stored.version.size() > 64) fields.complain("version", "must be at most 64 bytes");
  stored.description = fields.text("description");
  for (std::string_view name : {"input_schema", "output_schema"})
    if (Status checked = check_schema(fields, name); !checked.ok())
      return call.fail(checked.error());
  stored.input_schema = fields.raw("input_schema");
  stored.output_schema = fields.raw("output_schema");
  stored.triggers = triggers_of(fields);
  if (!read.valid()) return call.fail(fault_error(read, wrapped ? "definition" : ""));
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  stored.canonical = read.canonical;
  PAWL_TRY_CALL(call, auto triggers,
                parse_triggers(stored.triggers, stored.name, call.tenant, is_lenient(call)));
  Along along{faults_json(read.warnings), call.tenant, std::move(triggers)};
  app.decide(std::move(call), [stored, along = std::move(along)](Frame& frame) {
    return put_decided(frame, stored, along);
  });
}

void validate(App& app, Call&& call) {
  // The original text, so that faults have lines.
  std::string yaml = call.request.header("content-type").find("yaml") != std::string_view::npos
                         ? std::string(call.request.body)
                         : "";
  PAWL_TRY_CALL(call, auto doc, parse_definition_body(call));
  Fields fields(doc.root());
  auto given = fields.find("definition");
  refuse_unknown(call, fields, kMembers, given.has_value());
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  std::string text(given ? given->raw() : doc.root().raw());
  if (given && given->is_string()) text = given->string();
  plan::ReadResult read = read_given(app, call, yaml.empty() || given ? text : yaml);
  json::ObjectWriter w;
  w.field_bool("valid", read.valid());
  w.field_raw("errors", faults_json(read.errors)).field_raw("warnings", faults_json(read.warnings));
  call.answer(json_response(Surface::V1, 200, w.close()));
}

void get_definition(App& app, Call&& call) {
  std::string name = call.params[0];
  std::string version = call.query("version");
  app.decide(std::move(call), [name, version](Frame& frame) -> Reply {
    StoredDefinition stored;
    if (find_definition(frame.state(), name, version, stored) == nullptr)
      return Error{ErrorCode::NotFound, "definition '" + name + "' not found"};
    json::ObjectWriter w;
    write_definition(w, stored);
    bool whole = true;
    w.key("versions").begin_array();
    for (const DefinitionHead& each : heads_of(frame.state(), name, kPageReadBytesMax, whole))
      if (!each.removed) w.string(each.version);
    w.end_array();
    if (!whole) w.field_bool("versions_omitted", true);
    return json_response(Surface::V1, 200, w.close());
  });
}

void list_definitions(App& app, Call&& call) {
  answer_keyed_list(
      app, std::move(call), {"definitions"}, kPageLimitUsual,
      [](const Frame& frame, KeyedList& list_definitions) {
        const State& state = frame.state();
        list_definitions.each_key(
            state, DocKind::Definition, kDefinitionsMax * 4, [&](std::string_view key) {
              if (key.find('\x1f') != key.npos) return true;  // a version, not the name
              if (!list_definitions.takes_unscoped(key)) return true;
              const Doc* newest = state.find_doc(DocKind::Definition, key);
              size_t bytes_read = 0;
              auto head = state.definition_head(definition_key(key, newest->value), bytes_read);
              if (!head || head->removed) return true;
              list_definitions.writer().begin_object();
              write_head(list_definitions.writer(), *head);
              list_definitions.writer().end_object();
              return list_definitions.spend(key, bytes_read);
            });
      });
}

struct Removal {
  std::string name;
  std::string version;  // "" = all
  std::string tenant;
  bool force = false;
  std::string request_id;
  Uuid token = {};  // partition 0 of several waits for the counts of all
  int64_t until_ms = 0;
};

std::vector<StoredDefinition> known_to_remove(const State& state, const Removal& removal) {
  std::vector<StoredDefinition> known = versions_of(state, removal.name);
  if (!removal.version.empty())
    std::erase_if(known, [&](const auto& each) { return each.version != removal.version; });
  return known;
}

Error has_live_runs(uint64_t live) {
  return {ErrorCode::Conflict, "Cannot unregister workflow with " + std::to_string(live) +
                                   " running instances (force=true removes it; they go on)"};
}

Reply remove_now(Frame& frame, const Removal& removal) {
  std::vector<StoredDefinition> known = known_to_remove(frame.state(), removal);
  // The text stays: it is needed to show runs, also finished ones.
  for (StoredDefinition& stored : known) {
    stored.removed = true;
    put_doc(frame, DocKind::Definition, definition_key(removal.name, stored.version),
            codec::encoded(stored));
  }
  std::vector<StoredDefinition> left = versions_of(frame.state(), removal.name);
  if (left.empty()) {
    PAWL_TRY_DO(delete_doc(frame, DocKind::Definition, removal.name));
    PAWL_TRY_DO(put_triggers(frame, removal.name, removal.tenant, {}));
  } else {
    put_doc(frame, DocKind::Definition, removal.name, left.back().version);
  }
  json::ObjectWriter w;
  w.field("name", removal.name).key("removed").begin_array();
  for (const StoredDefinition& stored : known) w.string(stored.version);
  w.end_array();
  return json_response(Surface::V1, 200, w.close());
}

// Asks all partitions, and decides when they have counted. A refusal is an answer, not an error:
// the definition is reopened with it.
Reply remove_counted(Frame& frame, Waiting& waiting, Removal& removal) {
  auto refusal = [&](const Error& error) {
    return error_response(Surface::V1, error, removal.request_id);
  };
  if (removal.token.is_nil()) {
    if (waiting.forbidden)
      return Error{ErrorCode::Overloaded, "too many calls wait; try again shortly"};
    PAWL_TRY(removal.token, begin_closing(frame, removal.name, removal.version));
    removal.until_ms = frame.now_ms() + kCountsMs;
  }
  const Error silent{ErrorCode::NoOwner, "a partition does not say whether runs of it live there"};
  auto live = counted_runs(frame.state(), removal.token);
  if (!live && !waiting.forbidden && frame.now_ms() < removal.until_ms) {
    waiting.parking = Parking{{parking_of(RunId(removal.token))}, removal.until_ms, 0};
    return refusal(silent);
  }
  if (!live || *live > 0) {
    reopen_definition(frame, removal.token);
    return refusal(live ? has_live_runs(*live) : silent);
  }
  Reply removed = remove_now(frame, removal);
  reopen_definition(frame, removal.token);
  return removed;
}

void remove_definition(App& app, Call&& call) {
  Removal removal{.name = call.params[0],
                  .version = call.query("version"),
                  .tenant = call.tenant,
                  .force = call.query("force") == "true",
                  .request_id = std::string(call.request.id)};
  app.decide_and_wait(
      std::move(call),
      [removal = std::move(removal)](Frame& frame, Waiting& waiting) mutable -> Reply {
        if (!removal.token.is_nil()) return remove_counted(frame, waiting, removal);
        if (known_to_remove(frame.state(), removal).empty())
          return Error{ErrorCode::NotFound, "definition '" + removal.name + "' not found"};
        if (removal.force) return remove_now(frame, removal);
        if (uint64_t live = live_runs(frame.state(), removal.name, removal.version); live > 0)
          return has_live_runs(live);
        return frame.state().partitions() == 1 ? remove_now(frame, removal)
                                               : remove_counted(frame, waiting, removal);
      });
}

void draw_definition(App& app, Call&& call) {
  std::string name = call.params[0];
  std::string version = call.query("version");
  answer_diagram(app, std::move(call),
                 [name, version](const State& state) -> Result<DiagramSource> {
                   StoredDefinition stored;
                   if (find_definition(state, name, version, stored) == nullptr)
                     return Error{ErrorCode::NotFound, "definition '" + name + "' not found"};
                   return DiagramSource{std::move(stored.canonical), false, {}};
                 });
}

void schema(App&, Call&& call) {
  http::Response response = json_response(Surface::V1, 200, plan::definition_schema().json());
  response.content_type = "application/schema+json";
  call.answer(std::move(response));
}

}  // namespace

void add_definition_routes(Router& router) {
  router.add({"POST",
              "/v1/definitions",
              Permission::Write,
              Routing::Settings,
              put_definition,
              {},
              Compiles::Always});
  router.add({"POST",
              "/v1/definitions/validate",
              Permission::Read,
              Routing::Here,
              validate,
              {},
              Compiles::Always});
  router.add({"GET", "/v1/definitions", Permission::Read, Routing::Settings, list_definitions});
  router.add({"GET", "/v1/definitions/schema", Permission::Read, Routing::Here, schema});
  router.add(
      {"GET", "/v1/definitions/{name}", Permission::Read, Routing::Settings, get_definition});
  router.add({"DELETE", "/v1/definitions/{name}", Permission::Write, Routing::Settings,
              remove_definition});
  router.add({"GET",
              "/v1/definitions/{name}/diagram",
              Permission::Read,
              Routing::Settings,
              draw_definition,
              {},
              Compiles::Always});
}

}  // namespace pawl::api
