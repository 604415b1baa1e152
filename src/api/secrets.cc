// /v1/secrets: values that definitions may use and nobody can read back. Only names are ever shown.
#include "actions/vault.h"
#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/routes.h"
#include "kernel/settings.h"

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

void put(App& app, Call&& call) {
  if (app.vault() == nullptr)
    return call.fail(
        {ErrorCode::Unsupported, "this server has no vault: it runs without a data directory"});
  auto doc = parse_body(call);
  if (!doc.ok()) return call.fail(doc.error());
  Fields fields(doc->root());
  std::string name = call.params[0];
  std::string value = fields.required_text("value");
  if (!is_secret_name(name))
    fields.complain("", "a secret's name has letters, digits, '_' and '-' only");
  if (value.size() > kSecretBytesMax) fields.complain("value", "must be at most 64 KiB");
  if (!fields.ok()) return call.fail(fields.error(ErrorCode::InvalidContent));
  std::string sealed = app.vault()->seal(name, value);
  call.secret = true;
  app.decide(std::move(call), [name, sealed](Frame& frame) -> Result<http::Response> {
    bool existed = frame.state().find_doc(DocKind::Secret, name) != nullptr;
    size_t count = 0;
    frame.state().each_doc(DocKind::Secret, "", kSecretsMax,
                           [&](const Doc&) { return ++count < kSecretsMax; });
    if (!existed && count >= kSecretsMax)
      return Error{ErrorCode::Conflict, "there are as many secrets as there may be"};
    put_doc(frame, DocKind::Secret, name, sealed);
    std::string body;
    json::Writer(body).begin_object().field("name", name).end_object();
    return json_response(Surface::V1, existed ? 200 : 201, std::move(body));
  });
}

void list(App& app, Call&& call) {
  answer_keyed_list(app, std::move(call), {"secrets"}, kPageLimitUsual,
                    [](const Frame& frame, KeyedList& list) {
                      frame.state().each_doc(DocKind::Secret, "", kSecretsMax, [&](const Doc& doc) {
                        if (list.takes_unscoped(doc.key))
                          list.writer()
                              .begin_object()
                              .field("name", doc.key)
                              .field_time("updated_at", doc.put_ms)
                              .end_object();
                        return true;
                      });
                    });
}

void remove(App& app, Call&& call) {
  std::string name = call.params[0];
  app.decide(std::move(call), [name](Frame& frame) -> Result<http::Response> {
    if (!delete_doc(frame, DocKind::Secret, name).ok())
      return Error{ErrorCode::NotFound, "no such secret"};
    std::string body;
    json::Writer(body).begin_object().field("name", name).field_bool("deleted", true).end_object();
    return json_response(Surface::V1, 200, std::move(body));
  });
}

}  // namespace

void add_secret_routes(Router& router) {
  router.add({"PUT", "/v1/secrets/{name}", Scope::Admin, Surface::V1, put});
  router.add({"GET", "/v1/secrets", Scope::Admin, Surface::V1, list});
  router.add({"DELETE", "/v1/secrets/{name}", Scope::Admin, Surface::V1, remove});
}

}  // namespace pawl::api
