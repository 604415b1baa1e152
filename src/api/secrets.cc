// /v1/secrets: values that definitions may use and that cannot be read back. Only names and
// bindings are shown.
#include "actions/secret_binding.h"
#include "actions/vault.h"
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr size_t kSecretsMax = 10'000;
constexpr size_t kSecretBytesMax = 64 * 1024;

bool is_secret_name(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  for (char c : name) {
    bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '_' || c == '-';
    if (!fine) return false;
  }
  return true;
}

using Problem = std::string (*)(std::string_view);

std::vector<std::string> read_entries(Fields& fields, std::string_view name, Problem problem_of) {
  if (!fields.has(name)) return {};
  std::vector<std::string> entries = fields.texts(name);
  if (!fields.ok()) return {};
  // An empty list is ambiguous: it could mean none or all.
  if (entries.empty()) fields.complain(name, "must not be empty; leave it out for the default");
  if (entries.size() > actions::kBindingEntriesMax) fields.complain(name, "must be at most 100");
  for (const std::string& entry : entries)
    if (std::string problem = problem_of(entry); !problem.empty() && fields.ok())
      fields.complain(name, std::move(problem));
  return entries;
}

actions::SecretBinding read_binding(Fields& fields) {
  actions::SecretBinding binding;
  binding.hosts = read_entries(fields, "hosts", actions::host_problem);
  binding.actions = read_entries(fields, "actions", actions::action_problem);
  return binding;
}

void render_secret_list(json::Writer& w, std::string_view name,
                        const std::vector<std::string>& list_secrets) {
  w.key(name).begin_array();
  for (const std::string& one : list_secrets) w.string(one);
  w.end_array();
}

void render_binding(json::Writer& w, const actions::SecretBinding& binding) {
  if (!binding.hosts.empty()) render_secret_list(w, "hosts", binding.hosts);
  render_secret_list(w, "actions", binding.effective_actions());
}

void put_secret(App& app, Call&& call) {
  if (app.vault() == nullptr)
    return call.fail(
        {ErrorCode::Unsupported, "this server has no vault: it runs without a data directory"});
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  Fields fields(doc.root());
  std::string name = call.params[0];
  std::string value = fields.required_text("value");
  if (!is_secret_name(name))
    fields.complain("", "a secret's name has letters, digits, '_' and '-' only");
  if (value.size() > kSecretBytesMax) fields.complain("value", "must be at most 64 KiB");
  actions::SecretBinding binding = read_binding(fields);
  doc.root().each_member([&](json::View key, json::View) {
    std::string member = key.string();
    // A misspelt "hosts" would leave the secret open to every host.
    if (member != "value" && member != "hosts" && member != "actions")
      fields.complain(member, "is no field of a secret: there are value, hosts and actions",
                      "unknown_field");
  });
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  std::string sealed = actions::seal_secret(*app.vault(), name, value, binding);
  call.secret = true;
  app.decide(std::move(call), [name, sealed, binding](Frame& frame) -> Reply {
    bool existed = frame.state().find_doc(DocKind::Secret, name) != nullptr;
    size_t count = 0;
    frame.state().each_doc(DocKind::Secret, "", kSecretsMax,
                           [&](const Doc&) { return ++count < kSecretsMax; });
    if (!existed && count >= kSecretsMax)
      return Error{ErrorCode::Conflict, "there are as many secrets as there may be"};
    put_doc(frame, DocKind::Secret, name, sealed);
    json::ObjectWriter w;
    w.field("name", name);
    if (!binding.is_default()) render_binding(w, binding);
    return json_response(Surface::V1, existed ? 200 : 201, w.close());
  });
}

void list_secrets(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"secrets"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list_secrets) {
                      frame.state().each_doc(DocKind::Secret, "", kSecretsMax, [&](const Doc& doc) {
                        if (!list_secrets.takes_unscoped(doc.key)) return true;
                        json::Writer& w = list_secrets.writer();
                        w.begin_object().field("name", doc.key);
                        if (auto binding = actions::binding_of(doc.value))
                          render_binding(w, *binding);
                        w.field_time("updated_at", doc.put_ms).end_object();
                        return true;
                      });
                    });
}

void remove_secret(App& app, Call&& call) {
  std::string name = call.params[0];
  app.decide(std::move(call), [name](Frame& frame) -> Reply {
    if (!delete_doc(frame, DocKind::Secret, name).ok())
      return Error{ErrorCode::NotFound, "no such secret"};
    std::string body;
    json::Writer(body).begin_object().field("name", name).field_bool("deleted", true).end_object();
    return json_response(Surface::V1, 200, std::move(body));
  });
}

}  // namespace

void add_secret_routes(Router& router) {
  router.add({"PUT", "/v1/secrets/{name}", Permission::Admin, Routing::Settings, put_secret});
  router.add({"GET", "/v1/secrets", Permission::Admin, Routing::Settings, list_secrets});
  router.add({"DELETE", "/v1/secrets/{name}", Permission::Admin, Routing::Settings, remove_secret});
}

}  // namespace pawl::api
