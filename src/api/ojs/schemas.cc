// The schema registry: versioned schemas of the args of a job type. Schemas are stored and
// returned; a registered version never changes.
//
// A version is a whole number or major.minor.patch. The document's key is the type and the version
// in fixed width, so one type's versions are adjacent and in order.
#include <charconv>

#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "base/read_number.h"
#include "kernel/cold.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr size_t kSchemaBytesMax = 256 * 1024;
constexpr size_t kSchemaVersionsMax = 1'000;  // of one type
constexpr size_t kSchemasMax = 100'000;       // read by a list

struct StoredSchema {
  std::string type;
  std::string version;  // as given
  std::string schema;   // JSON text
  int64_t created_ms = 0;
  std::string uri = {};          // given by the client, if any
  bool version_is_text = false;  // given as a string: shown as one

  static void fields(auto& self, auto&& visit) {
    visit(1, "type", self.type);
    visit(2, "version", self.version);
    visit(3, "schema", self.schema);
    visit(4, "created_ms", self.created_ms);
    visit(5, "uri", self.uri);
    visit(6, "version_is_text", self.version_is_text);
  }
};

StoredSchema decoded(const Doc& doc) {
  StoredSchema stored;
  if (!codec::decode(doc.value, stored)) unreadable_row("schema", doc.key);
  return stored;
}

// "2" and "2.0.0" are the same version: 30 digits that sort as versions do.
Result<std::string> version_key(std::string_view version) {
  Error bad{ErrorCode::InvalidRequest,
            "version must be a whole number or major.minor.patch",
            {{"$.version", "must be a whole number or major.minor.patch"}}};
  std::string key;
  std::string_view rest = version;
  size_t parts = 0;
  while (!rest.empty() && parts < 3) {
    uint32_t number = 0;
    auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (failed != std::errc()) return bad;
    std::string digits = std::to_string(number);
    key.append(10 - digits.size(), '0').append(digits);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    ++parts;
    if (rest.empty()) break;
    if (rest.front() != '.' || rest.size() == 1) return bad;
    rest.remove_prefix(1);
  }
  if (!rest.empty() || (parts != 1 && parts != 3)) return bad;
  key.resize(30, '0');
  return key;
}

std::string type_prefix(std::string_view tenant, std::string_view type) {
  return scoped_queue(tenant, type) + "/";
}

// A whole number is written as one, whatever zeros it was given with: "007" is 7.
void write_version(json::Writer& w, const std::string& version, bool as_text = false) {
  uint32_t number = 0;
  if (read_number(version, number) && !as_text) {
    w.field_int("version", number);
  } else {
    w.field("version", version);
  }
}

void write_members(json::Writer& w, const StoredSchema& stored) {
  w.field("uri", stored.type + "/" + stored.version);
  w.field("type", stored.type).field("job_type", stored.type);
  write_version(w, stored.version);
  w.field_raw("schema", stored.schema).field_time("created_at", stored.created_ms);
}

http::Response schema_response(int status, const StoredSchema& stored) {
  json::ObjectWriter w;
  write_members(w, stored);
  return json_response(Surface::Ojs, status, w.close());
}

Error no_such_schema(const std::string& named) {
  return Error{ErrorCode::NotFound, "no schema is registered there"}
      .with("resource_type", "schema")
      .with("resource_id", named);
}

Result<StoredSchema> parse_schema(const json::Doc& doc, std::string type, std::string version) {
  Fields fields(doc.root());
  if (type.empty()) type = fields.text(fields.has("job_type") ? "job_type" : "type");
  if (!is_job_type(type)) fields.complain("type", "must be a job type");
  auto given = fields.find("version");
  if (version.empty() && given)
    version = given->is_string() ? given->string() : std::string(given->raw());
  auto schema = fields.find("schema");
  if (!schema || !(schema->is_object() || schema->is_bool()))
    fields.complain("schema", "is required and must be a JSON Schema");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (schema->raw().size() > kSchemaBytesMax)
    return Error{ErrorCode::TooLarge, "a schema is at most 256 KiB"};
  if (!version.empty()) PAWL_TRY_DO(version_key(version));
  return StoredSchema{std::move(type), std::move(version), std::string(schema->raw()), 0};
}

// --- schemas by uri: in the binding a schema is identified by its uri alone, in any form, and the
// client chooses its type and version. They are stored separately from the types' versions: this
// mark cannot occur in the key of one of those.

constexpr size_t kUriBytesMax = 1024;
constexpr size_t kSchemaTextMax = 255;  // its type and its version
constexpr char kUriMark = '\x02';

std::string uri_key(std::string_view tenant, std::string_view uri) {
  return scoped_queue(tenant, std::string(1, kUriMark) + std::string(uri));
}

bool is_uri_key(std::string_view key) { return key.find(kUriMark) != std::string_view::npos; }

void write_uri_members(json::Writer& w, const StoredSchema& stored, bool whole) {
  w.field("uri", stored.uri).field("type", stored.type);
  write_version(w, stored.version, stored.version_is_text);
  if (whole) w.field_raw("schema", stored.schema);
  w.field_time("created_at", stored.created_ms);
}

// {"schema": {uri, type, version, created_at}, and the same members beside it but for `schema`}
http::Response uri_response(int status, const StoredSchema& stored, bool whole) {
  json::ObjectWriter w;
  w.field("uri", stored.uri).field("type", stored.type);
  write_version(w, stored.version, stored.version_is_text);
  w.field_time("created_at", stored.created_ms).key("schema").begin_object();
  write_uri_members(w, stored, whole);
  w.end_object();
  return json_response(Surface::Ojs, status, w.close());
}

bool is_plain_text(std::string_view text, size_t bytes_max) {
  bool plain = !text.empty() && text.size() <= bytes_max;
  for (unsigned char c : text) plain &= c >= 0x20 && c != 0x7f;
  return plain;
}

Result<StoredSchema> parse_uri_schema(const json::Doc& doc) {
  Fields fields(doc.root());
  StoredSchema stored;
  stored.uri = fields.text("uri");
  stored.type = fields.text("type");
  auto version = fields.find("version");
  stored.version_is_text = version && version->is_string();
  stored.version = !version                 ? "1"
                   : stored.version_is_text ? version->string()
                                            : std::string(version->raw());
  if (!is_plain_text(stored.uri, kUriBytesMax))
    fields.complain("uri", "must be a text of at most 1024 bytes");
  if (!is_plain_text(stored.type, kSchemaTextMax))
    fields.complain("type", "is required: a text of at most 255 bytes");
  bool good_number = version && version->as_int().value_or(-1) >= 0;
  if (stored.version_is_text ? !is_plain_text(stored.version, kSchemaTextMax)
                             : version && !good_number)
    fields.complain("version", "must be a whole number or a text");
  auto schema = fields.find("schema");
  if (!schema || !(schema->is_object() || schema->is_bool()))
    fields.complain("schema", "is required and must be a JSON Schema");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (schema->raw().size() > kSchemaBytesMax)
    return Error{ErrorCode::TooLarge, "a schema is at most 256 KiB"};
  if (!stored.version_is_text) stored.version = std::to_string(version ? *version->as_int() : 1);
  stored.schema = schema->raw();
  return stored;
}

void add_by_uri(App& app, Call&& call, const json::Doc& doc) {
  PAWL_TRY_CALL(call, auto parsed, parse_uri_schema(doc));
  std::string key = uri_key(call.tenant, parsed.uri);
  app.decide(std::move(call), [key, stored = parsed](Frame& frame) mutable -> Reply {
    if (frame.state().find_doc(DocKind::Schema, key) != nullptr)
      return Error{ErrorCode::Conflict, "a schema is registered under " + stored.uri + " already"};
    stored.created_ms = frame.now_ms();
    put_doc(frame, DocKind::Schema, key, codec::encoded(stored));
    return uri_response(201, stored, false);
  });
}

// The type's versions, oldest first.
std::vector<StoredSchema> schema_versions_of(const State& state, const std::string& prefix) {
  std::vector<StoredSchema> found;
  state.each_doc(DocKind::Schema, prefix, kSchemaVersionsMax, [&](const Doc& doc) {
    if (doc.key.compare(0, prefix.size(), prefix) != 0) return false;
    found.push_back(decoded(doc));
    return true;
  });
  return found;
}

// Without a version, the next whole number.
std::string next_version(const std::vector<StoredSchema>& known) {
  uint64_t major = 0;
  if (!known.empty())
    std::from_chars(known.back().version.data(),
                    known.back().version.data() + known.back().version.size(), major);
  return std::to_string(major + 1);
}

void add_schema(App& app, Call&& call, const std::string& type, const std::string& version) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto parsed, parse_schema(doc, type, version));
  std::string prefix = type_prefix(call.tenant, parsed.type);
  app.decide(std::move(call), [prefix, stored = parsed](Frame& frame) mutable -> Reply {
    std::vector<StoredSchema> known = schema_versions_of(frame.state(), prefix);
    if (stored.version.empty()) stored.version = next_version(known);
    PAWL_TRY(std::string key, version_key(stored.version));
    if (frame.state().find_doc(DocKind::Schema, prefix + key) != nullptr)
      return Error{ErrorCode::Conflict,
                   "version " + stored.version + " of " + stored.type + " is registered already"};
    if (known.size() >= kSchemaVersionsMax)
      return Error{ErrorCode::Conflict, "a type has at most 1000 versions; delete old ones"};
    stored.created_ms = frame.now_ms();
    put_doc(frame, DocKind::Schema, prefix + key, codec::encoded(stored));
    return schema_response(201, stored);
  });
}

void put_version(App& app, Call&& call) {
  std::string type = call.params[0];
  std::string version = call.params[1];
  add_schema(app, std::move(call), type, version);
}
void put_type(App& app, Call&& call) {
  std::string type = call.params[0];
  add_schema(app, std::move(call), type, "");
}
void post(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  if (Fields(doc.root()).has("uri")) return add_by_uri(app, std::move(call), doc);
  add_schema(app, std::move(call), "", "");
}

// The key of a version, or NotFound.
Result<std::string> key_of(const std::string& tenant, const std::string& type,
                           const std::string& version) {
  auto key = version_key(version);
  if (!key.ok()) return no_such_schema(type + "/" + version);
  return type_prefix(tenant, type) + *key;
}

// One segment that names a schema by the uri it was given, by its type, or, as the list does, by
// "type/version".
void get_latest(App& app, Call&& call) {
  std::string named = call.params[0];
  std::string prefix = type_prefix(call.tenant, named);
  std::string by_uri = uri_key(call.tenant, named);
  size_t slash = named.rfind('/');
  Result<std::string> version =
      slash == named.npos ? no_such_schema(named)
                          : key_of(call.tenant, named.substr(0, slash), named.substr(slash + 1));
  app.decide(std::move(call), [named, prefix, by_uri, version](Frame& frame) -> Reply {
    if (const Doc* doc = frame.state().find_doc(DocKind::Schema, by_uri))
      return uri_response(200, decoded(*doc), true);
    std::vector<StoredSchema> known = schema_versions_of(frame.state(), prefix);
    if (!known.empty()) return schema_response(200, known.back());
    const Doc* doc = version.ok() ? frame.state().find_doc(DocKind::Schema, *version) : nullptr;
    if (doc == nullptr) return no_such_schema(named);
    return schema_response(200, decoded(*doc));
  });
}

Result<std::string> key_of_path(const Call& call) {
  return key_of(call.tenant, call.params[0], call.params[1]);
}

void get_version(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto key, key_of_path(call));
  std::string named = call.params[0] + "/" + call.params[1];
  app.decide(std::move(call), [key, named](Frame& frame) -> Reply {
    const Doc* doc = frame.state().find_doc(DocKind::Schema, key);
    if (doc == nullptr) return no_such_schema(named);
    return schema_response(200, decoded(*doc));
  });
}

http::Response deleted_response(const std::string& type, size_t count) {
  json::ObjectWriter w;
  w.field_bool("deleted", true).field("type", type);
  w.field_int("count", count);
  return json_response(Surface::Ojs, 200, w.close());
}

void delete_version(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto key, key_of_path(call));
  std::string type = call.params[0];
  std::string named = type + "/" + call.params[1];
  app.decide(std::move(call), [key, type, named](Frame& frame) -> Reply {
    if (!delete_doc(frame, DocKind::Schema, key).ok()) return no_such_schema(named);
    return deleted_response(type, 1);
  });
}

void delete_type(App& app, Call&& call) {
  std::string prefix = type_prefix(call.tenant, call.params[0]);
  std::string by_uri = uri_key(call.tenant, call.params[0]);
  std::string type = call.params[0];
  app.decide(std::move(call), [prefix, by_uri, type](Frame& frame) -> Reply {
    if (delete_doc(frame, DocKind::Schema, by_uri).ok()) {
      std::string body;
      json::Writer(body).begin_object().field_bool("deleted", true).field("uri", type).end_object();
      return json_response(Surface::Ojs, 200, std::move(body));
    }
    std::vector<StoredSchema> known = schema_versions_of(frame.state(), prefix);
    if (known.empty()) return no_such_schema(type);
    for (const StoredSchema& stored : known)
      PAWL_TRY_DO(delete_doc(frame, DocKind::Schema, prefix + *version_key(stored.version)));
    return deleted_response(type, known.size());
  });
}

void list_versions(App& app, Call&& call) {
  std::string prefix = type_prefix(call.tenant, call.params[0]);
  std::string type = call.params[0];
  app.decide(std::move(call), [prefix, type](Frame& frame) -> Reply {
    std::vector<StoredSchema> known = schema_versions_of(frame.state(), prefix);
    if (known.empty()) return no_such_schema(type);
    json::ObjectWriter w;
    w.field("type", type).field("job_type", type).key("versions").begin_array();
    for (size_t at = known.size(); at-- > 0;) {
      w.begin_object();
      write_version(w, known[at].version);
      w.field_time("created_at", known[at].created_ms);
      w.field_bool("is_latest", at + 1 == known.size()).end_object();
    }
    w.end_array().field_int("total", known.size());
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void list_schemas(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"schemas", "items"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_schemas) {
                      const State& state = frame.state();
                      list_schemas.each_key(
                          state, DocKind::Schema, kSchemasMax, [&](std::string_view key) {
                            if (!list_schemas.takes(key)) return true;
                            const Doc& doc = *state.find_doc(DocKind::Schema, key);
                            list_schemas.writer().begin_object();
                            if (is_uri_key(doc.key)) {
                              write_uri_members(list_schemas.writer(), decoded(doc), false);
                            } else {
                              write_members(list_schemas.writer(), decoded(doc));
                            }
                            list_schemas.writer().end_object();
                            return list_schemas.spend(key, doc.value.size());
                          });
                    });
}

}  // namespace

void add_schema_routes(Router& router) {
  router.add({"GET", "/ojs/v1/admin/schemas", Permission::Read, Routing::Settings, list_schemas});
  router.add({"POST", "/ojs/v1/admin/schemas", Permission::Operate, Routing::Settings, post});
  router.add(
      {"GET", "/ojs/v1/admin/schemas/{type}", Permission::Read, Routing::Settings, get_latest});
  router.add(
      {"PUT", "/ojs/v1/admin/schemas/{type}", Permission::Operate, Routing::Settings, put_type});
  router.add(
      {"POST", "/ojs/v1/admin/schemas/{type}", Permission::Operate, Routing::Settings, put_type});
  router.add({"DELETE", "/ojs/v1/admin/schemas/{type}", Permission::Operate, Routing::Settings,
              delete_type});
  router.add({"GET", "/ojs/v1/admin/schemas/{type}/versions", Permission::Read, Routing::Settings,
              list_versions});
  router.add({"GET", "/ojs/v1/admin/schemas/{type}/{version}", Permission::Read, Routing::Settings,
              get_version});
  router.add({"PUT", "/ojs/v1/admin/schemas/{type}/{version}", Permission::Operate,
              Routing::Settings, put_version});
  router.add({"DELETE", "/ojs/v1/admin/schemas/{type}/{version}", Permission::Operate,
              Routing::Settings, delete_version});

  router.add({"GET", "/ojs/v1/schemas", Permission::Read, Routing::Settings, list_schemas});
  router.add({"POST", "/ojs/v1/schemas", Permission::Operate, Routing::Settings, post});
  router.add({"GET", "/ojs/v1/schemas/{type}", Permission::Read, Routing::Settings, get_latest});
  router.add(
      {"DELETE", "/ojs/v1/schemas/{type}", Permission::Operate, Routing::Settings, delete_type});
  router.add({"GET", "/ojs/v1/schemas/{type}/versions", Permission::Read, Routing::Settings,
              list_versions});
  router.add({"GET", "/ojs/v1/schemas/{type}/{version}", Permission::Read, Routing::Settings,
              get_version});
  router.add({"DELETE", "/ojs/v1/schemas/{type}/{version}", Permission::Operate, Routing::Settings,
              delete_version});
}

}  // namespace pawl::api
