#include "worlds/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "worlds/cbor.h"
#include "worlds/commands.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// H of a list whose elements come one by one: a world's instances need not fit in memory twice.
class ListHash {
 public:
  explicit ListHash(size_t count) : context_(EVP_MD_CTX_new()) {
    PAWL_CHECK(context_ != nullptr);
    PAWL_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    std::string head = "\xd9\xd9\xf7";
    cbor::put_array(head, count);
    add(head);
  }
  void add(std::string_view element) {
    PAWL_CHECK(EVP_DigestUpdate(context_.get(), element.data(), element.size()) == 1);
  }
  std::string text() {
    unsigned char bytes[32];
    PAWL_CHECK(EVP_DigestFinal_ex(context_.get(), bytes, nullptr) == 1);
    return hash_text({reinterpret_cast<const char*>(bytes), sizeof bytes});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

}  // namespace

void put_cell(std::string& out, std::string_view module, std::string_view key,
              const Instance& instance) {
  cbor::put_array(out, 3);
  cbor::put_text(out, module);
  cbor::put_bytes(out, key);
  cbor::put_text(out, instance.state_hash);
}

void put_instance(std::string& out, std::string_view module, std::string_view key,
                  const Instance& instance) {
  std::vector<std::string> inflight;
  inflight.reserve(instance.inflight.size());
  for (const Inflight& open : instance.inflight) inflight.push_back(open.hash);
  std::sort(inflight.begin(), inflight.end());
  cbor::Map map(out);
  map.text("module", module).bytes("key", key);
  map.text("status", status_name(instance.status)).nat("last_seq", instance.last_seq);
  map.text("module_version", instance.module_version);
  if (instance.has_state) {
    map.text("state_hash", instance.state_hash);
  } else {
    map.null("state_hash");
  }
  if (instance.error_code.empty()) {
    map.null("error");
  } else {
    map.text("error", instance.error_code);
  }
  put_hashes(map.value("inflight"), inflight);
  map.end();
}

std::vector<std::string> sorted_hashes(World& world, IntentList list) {
  std::vector<std::string> hashes;
  world.table().scan(list == IntentList::Open ? "o" : "z", "",
                     [&](std::string_view, std::string_view hash) {
                       if (hash.size() == 32) hashes.push_back(hash_text(hash));
                       return true;
                     });
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

void put_hashes(std::string& out, const std::vector<std::string>& sorted) {
  cbor::put_array(out, sorted.size());
  for (const std::string& hash : sorted) cbor::put_text(out, hash);
}

Digest digest_of(World& world) {
  const Head head = world.head();
  // A list's encoding begins with its length, so the instances are visited twice.
  size_t cells = 0, instances = 0;
  world.each_instance(
      "", "",
      [&](std::string_view, const std::string&, const std::string&, const Instance& instance) {
        cells += instance.has_state ? 1 : 0;
        ++instances;
        return true;
      });
  ListHash states(cells), all(instances);
  std::string element;
  world.each_instance("", "",
                      [&](std::string_view, const std::string& module, const std::string& key,
                          const Instance& instance) {
                        if (instance.has_state) {
                          element.clear();
                          put_cell(element, module, key, instance);
                          states.add(element);
                        }
                        element.clear();
                        put_instance(element, module, key, instance);
                        all.add(element);
                        return true;
                      });
  std::string queue;
  put_hashes(queue, sorted_hashes(world, IntentList::Open));
  return {.height = head.height,
          .manifest_hash = head.manifest_hash,
          .state_root = states.text(),
          .instances_root = all.text(),
          .queue_root = hash_of_structure(queue)};
}

}  // namespace pawl::worlds
