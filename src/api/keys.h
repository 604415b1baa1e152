// KeyRing: the API keys and their scopes. A key is "pawl_<id>_<secret>"; only its id, scopes and
// the SHA-256 of the whole text are stored. A key is found by its public id; the secret is compared
// in constant time.
//
// Thread: any.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/router.h"
#include "base/function_ref.h"
#include "base/json_writer.h"
#include "base/result.h"

namespace pawl {
class Frame;
class State;
struct Doc;
}  // namespace pawl

namespace pawl::api {

struct ApiKey {
  std::string id;
  std::string name;
  std::string hash;     // SHA-256, hex
  uint32_t scopes = 0;  // bit per Permission
  int64_t created_ms = 0;

  bool allows(Permission scope) const;
  static void fields(auto& self, auto&& visit) {
    visit(1, "id", self.id);
    visit(2, "name", self.name);
    visit(3, "hash", self.hash);
    visit(4, "scopes", self.scopes);
    visit(5, "created_ms", self.created_ms);
  }
};

Result<uint32_t> parse_scopes(const std::vector<std::string>& names);
std::vector<std::string> scope_names(uint32_t scopes);
void write_key(json::Writer& w, const ApiKey& key);  // the members of an open object

struct NewApiKey {
  ApiKey key;
  std::string text;  // shown once, at its creation
};
NewApiKey make_api_key(std::string_view name, uint32_t scopes, int64_t now_ms);

// Stored keys. A server that ever had a key always requires one: revoking leaves a mark, so that
// the next start does not treat "no key is left" as "no key is needed".
void store_key(Frame& frame, const ApiKey& key);
Status revoke_stored_key(Frame& frame, const std::string& id);  // NotFound
void each_stored_key(const State& state, FunctionRef<void(const ApiKey&)> visit);
std::optional<ApiKey> stored_key(const Doc& doc);  // nothing: it is the mark
bool is_closed_by_keys(const State& state);        // there is a key, or there was one

// The key in an Authorization header; "" if it has none. The scheme's case and the number of blanks
// after it do not matter (RFC 9110, 11.1 and 11.4).
std::string_view key_of(std::string_view authorization);

class KeyRing {
 public:
  // A key given on the command line: every scope, never stored.
  void add_fixed(std::string_view text);
  void put(const ApiKey& key);
  void remove(const std::string& id);
  void close();  // a key is needed even if there is none
  bool empty() const;
  // True from the first key on, and also after the last one was revoked.
  bool needed() const;

  // Unauthenticated for a missing or wrong key, Forbidden for one without the scope.
  Status check(std::string_view authorization_header, Permission scope) const;
  // Changes with every change of the ring: earlier checks must be repeated.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, ApiKey, std::less<>> keys_;
  std::vector<std::string> fixed_hashes_;
  bool needed_ = false;
  std::atomic<uint64_t> epoch_{1};
};

}  // namespace pawl::api
