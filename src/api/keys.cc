#include "api/keys.h"

#include <algorithm>

#include "base/hash.h"
#include "kernel/frame.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl::api {
namespace {

constexpr std::string_view kPrefix = "pawl_";
constexpr Permission kScopes[] = {Permission::Read, Permission::Write, Permission::Worker,
                                  Permission::Operate, Permission::Admin};
constexpr uint32_t kAllScopes = 0x3e;

// The document that marks that a key has existed. It is not a valid key: it has no hash, and a
// key's id is hexadecimal. Older versions treat it as a key that is never accepted.
constexpr std::string_view kClosedMark = "closed";

uint32_t bit(Permission scope) { return 1u << static_cast<unsigned>(scope); }

}  // namespace

// admin includes everything; operate and write include reading.
bool ApiKey::allows(Permission scope) const {
  if (scope == Permission::Public || (scopes & bit(Permission::Admin)) != 0) return true;
  if (scope == Permission::Read)
    return (scopes & (bit(Permission::Read) | bit(Permission::Write) | bit(Permission::Operate))) !=
           0;
  return (scopes & bit(scope)) != 0;
}

Result<uint32_t> parse_scopes(const std::vector<std::string>& names) {
  uint32_t scopes = 0;
  for (const std::string& name : names) {
    uint32_t found = 0;
    for (Permission scope : kScopes)
      if (scope_name(scope) == name) found = bit(scope);
    if (found == 0)
      return Error{ErrorCode::InvalidContent,
                   "unknown scope '" + name + "'; there are read, write, worker, operate, admin",
                   {{"scopes", "'" + name + "' is no scope", "value"}}};
    scopes |= found;
  }
  if (scopes == 0)
    return Error{ErrorCode::InvalidContent,
                 "a key needs at least one scope",
                 {{"scopes", "is required", "required"}}};
  return scopes;
}

std::vector<std::string> scope_names(uint32_t scopes) {
  std::vector<std::string> names;
  for (Permission scope : kScopes)
    if ((scopes & bit(scope)) != 0) names.emplace_back(scope_name(scope));
  return names;
}

void write_key(json::Writer& w, const ApiKey& key) {
  w.field("id", key.id).field("name", key.name).key("scopes").begin_array();
  for (const std::string& scope : scope_names(key.scopes)) w.string(scope);
  w.end_array().field_time("created_at", key.created_ms);
}

NewApiKey make_api_key(std::string_view name, uint32_t scopes, int64_t now_ms) {
  NewApiKey made;
  made.key.id = random_secret(6);
  made.key.name = name;
  made.key.scopes = scopes;
  made.key.created_ms = now_ms;
  made.text = std::string(kPrefix) + made.key.id + "_" + random_secret(24);
  made.key.hash = sha256_hex(made.text);
  return made;
}

void store_key(Frame& frame, const ApiKey& key) {
  put_doc(frame, DocKind::ApiKey, key.id, codec::encoded(key));
}

Status revoke_stored_key(Frame& frame, const std::string& id) {
  if (id == kClosedMark || !delete_doc(frame, DocKind::ApiKey, id).ok())
    return Error{ErrorCode::NotFound, "no such key"};
  const std::string mark(kClosedMark);
  if (frame.state().find_doc(DocKind::ApiKey, mark) == nullptr)
    store_key(frame, {.id = mark, .name = mark, .hash = {}});
  return ok_status();
}

void each_stored_key(const State& state, FunctionRef<void(const ApiKey&)> visit) {
  state.each_doc(DocKind::ApiKey, "", SIZE_MAX, [&](const Doc& doc) {
    if (auto key = stored_key(doc)) visit(*key);
    return true;
  });
}

std::optional<ApiKey> stored_key(const Doc& doc) {
  ApiKey key;
  if (doc.key == kClosedMark || !codec::decode(doc.value, key)) return std::nullopt;
  return key;
}

std::string_view key_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return {};
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return {};
  }
  return authorization.substr(
      std::min(authorization.find_first_not_of(' ', kScheme.size()), authorization.size()));
}

bool is_closed_by_keys(const State& state) {
  bool any = false;
  state.each_doc(DocKind::ApiKey, "", 1, [&](const Doc&) { return any = true, false; });
  return any;
}

void KeyRing::add_fixed(std::string_view text) {
  std::unique_lock lock(mutex_);
  fixed_hashes_.push_back(sha256_hex(text));
  needed_ = true;
  ++epoch_;
}

void KeyRing::put(const ApiKey& key) {
  std::unique_lock lock(mutex_);
  keys_[key.id] = key;
  needed_ = true;
  ++epoch_;
}

void KeyRing::remove(const std::string& id) {
  std::unique_lock lock(mutex_);
  keys_.erase(id);
  ++epoch_;
}

void KeyRing::close() {
  std::unique_lock lock(mutex_);
  needed_ = true;
  ++epoch_;
}

bool KeyRing::empty() const {
  std::shared_lock lock(mutex_);
  return keys_.empty() && fixed_hashes_.empty();
}

bool KeyRing::needed() const {
  std::shared_lock lock(mutex_);
  return needed_;
}

Status KeyRing::check(std::string_view authorization, Permission scope) const {
  std::shared_lock lock(mutex_);
  if (scope == Permission::Public || !needed_) return ok_status();
  std::string_view text = key_of(authorization);
  if (text.empty()) return Error{ErrorCode::Unauthenticated, "this server needs an API key"};
  std::string hash = sha256_hex(text);
  bool fixed = false;
  for (const std::string& known : fixed_hashes_) fixed |= equal_in_constant_time(known, hash);
  if (fixed) return ok_status();
  ApiKey nobody{.id = {}, .name = {}, .hash = std::string(hash.size(), '0'), .scopes = kAllScopes};
  const ApiKey* key = &nobody;
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    std::string_view id = text.substr(kPrefix.size());
    auto at = keys_.find(id.substr(0, id.find('_')));
    if (at != keys_.end()) key = &at->second;
  }
  if (!equal_in_constant_time(key->hash, hash))
    return Error{ErrorCode::Unauthenticated, "the API key is not valid"};
  if (!key->allows(scope))
    return Error{ErrorCode::Forbidden,
                 "this key lacks the scope '" + std::string(scope_name(scope)) + "'"};
  return ok_status();
}

}  // namespace pawl::api
