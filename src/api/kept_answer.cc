#include "api/kept_answer.h"

#include "base/codec.h"
#include "base/hash.h"

namespace pawl::api {
namespace {

struct KeptAnswer {
  std::string body_hash;
  uint32_t status = 0;
  std::string content_type;
  std::string body;
  std::string location;

  static void fields(auto& self, auto&& visit) {
    visit(1, "body_hash", self.body_hash);
    visit(2, "status", self.status);
    visit(3, "content_type", self.content_type);
    visit(4, "body", self.body);
    visit(5, "location", self.location);
  }
};

bool seals(App& app, const Call& call) { return call.secret && app.vault() != nullptr; }

}  // namespace

KeptAnswers::KeptAnswers(const Call& call) {
  std::string_view key = call.request.header("idempotency-key");
  const bool reads = call.request.method == "GET" || call.request.method == "HEAD";
  if (key.empty() || reads) return;
  // A digest, since paths and keys may be longer than a row's key.
  key_ = sha256_hex(std::string(call.request.method) + ' ' + std::string(call.request.path) + ' ' +
                    call.tenant + ' ' + std::string(key));
  body_hash_ = sha256_hex(call.request.body);
}

std::string KeptAnswers::encode(App& app, const Call& call, const http::Response& response) const {
  KeptAnswer kept{
      body_hash_, static_cast<uint32_t>(response.status), response.content_type, response.body, {}};
  for (const auto& [name, value] : response.headers)
    if (name == "Location") kept.location = value;
  std::string value = codec::encoded(kept);
  return seals(app, call) ? app.vault()->seal(key_, value) : value;
}

Reply KeptAnswers::repeat(App& app, const Call& call, const std::string& value) const {
  std::string plain = value;
  if (seals(app, call))  // answers kept by older versions are not sealed
    if (auto opened = app.vault()->unseal(key_, value); opened.ok()) plain = std::move(*opened);
  KeptAnswer kept;
  if (!codec::decode(plain, kept))
    return Error{ErrorCode::Conflict,
                 "this Idempotency-Key was used, and its answer can not be opened"};
  if (kept.body_hash != body_hash_)
    return Error{ErrorCode::InvalidContent,
                 "this Idempotency-Key was used with another request body"};
  http::Response response =
      json_response(call.surface(), static_cast<int>(kept.status), std::move(kept.body));
  if (call.surface() != Surface::Ojs) response.content_type = kept.content_type;
  if (!kept.location.empty()) response.headers.emplace_back("Location", kept.location);
  response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

}  // namespace pawl::api
