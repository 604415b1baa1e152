#include "cluster/cluster_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "actions/file_handle.h"
#include "base/base64.h"
#include "base/hash.h"
#include "base/quote.h"
#include "store/postgres_schema.h"

namespace pawl::cluster {
namespace {

constexpr size_t kKeyBytesMin = 32;
constexpr size_t kKeyBytesMax = 4096;
constexpr char kSealedName[] = "vault key";

// What the key of the vault is sealed with.
Result<actions::Vault> wrapping_of(const ClusterKey& key, const std::string& cluster,
                                   const std::optional<std::string>& passphrase) {
  if (passphrase) return actions::Vault::of(*passphrase, cluster);
  return actions::Vault::of(key.derive(cluster, "vault"));
}

std::string check_of(const ClusterKey& key, const std::string& cluster) {
  return to_hex(key.derive(cluster, "check"));
}

Error unfit(const std::string& file, const std::string& why) {
  return {ErrorCode::InvalidRequest, "the cluster key " + in_quotes(file) + " " + why};
}

}  // namespace

Result<ClusterKey> ClusterKey::read(const std::string& file) {
  const actions::FileHandle handle(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!handle.is_open())
    return unfit(file, "cannot be read: " + std::generic_category().message(errno));
  struct stat info {};
  if (::fstat(handle.get(), &info) != 0 || (info.st_mode & 077) != 0)
    return unfit(file, "may be read by others; make it 0600");
  std::string secret(kKeyBytesMax, '\0');
  const ssize_t count = ::read(handle.get(), secret.data(), secret.size());
  if (count < static_cast<ssize_t>(kKeyBytesMin))
    return unfit(file, "must have 32 bytes or more; make one with `head -c 32 /dev/urandom`");
  secret.resize(static_cast<size_t>(count));
  return ClusterKey(std::move(secret));
}

ClusterKey::~ClusterKey() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

std::string ClusterKey::derive(std::string_view cluster_id, std::string_view purpose) const {
  auto bytes = [](std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
  std::string out(actions::Vault::kKeyBytes, '\0');
  size_t size = out.size();
  const bool good =
      context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_salt(context.get(), bytes(cluster_id),
                                  static_cast<int>(cluster_id.size())) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), bytes(secret_), static_cast<int>(secret_.size())) ==
          1 &&
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), bytes(purpose),
                                  static_cast<int>(purpose.size())) == 1 &&
      EVP_PKEY_derive(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1;
  PAWL_CHECK(good);
  return out;
}

Result<actions::Vault> open_cluster_vault(pg::Connection& database, const ClusterKey& key,
                                          const std::optional<std::string>& passphrase) {
  return keep_cluster_vault(database, key, passphrase, actions::Vault::fresh_key());
}

Result<actions::Vault> keep_cluster_vault(pg::Connection& database, const ClusterKey& key,
                                          const std::optional<std::string>& passphrase,
                                          std::string vault_key) {
  PAWL_TRY(const std::string cluster, claim_meta(database, "cluster_id", ""));
  const std::string check = check_of(key, cluster);
  PAWL_TRY(const std::string noted, claim_meta(database, "key_check", check));
  if (!equal_in_constant_time(check, noted))
    return Error{ErrorCode::InvalidRequest,
                 "the cluster key is not the one that this database was begun with"};
  PAWL_TRY(const actions::Vault wrapping, wrapping_of(key, cluster, passphrase));
  PAWL_TRY(const std::string sealed,
           claim_meta(database, "vault", base64(wrapping.seal(kSealedName, vault_key))));
  OPENSSL_cleanse(vault_key.data(), vault_key.size());
  std::string bytes;
  if (!from_base64(sealed, bytes)) bytes.clear();
  auto opened = wrapping.unseal(kSealedName, bytes);
  if (!opened.ok() || opened->size() != actions::Vault::kKeyBytes)
    return Error{ErrorCode::Unauthenticated,
                 "the vault of this database does not open: it was made with another passphrase"
                 " (PAWL_VAULT_KEY), or with or without one"};
  actions::Vault vault = actions::Vault::of(*opened);
  OPENSSL_cleanse(opened->data(), opened->size());
  return vault;
}

Status rekey_cluster(pg::Connection& database, const ClusterKey& from, const ClusterKey& to,
                     const std::optional<std::string>& passphrase) {
  PAWL_TRY(const actions::Vault vault, open_cluster_vault(database, from, passphrase));
  PAWL_TRY(const std::string cluster, claim_meta(database, "cluster_id", ""));
  PAWL_TRY(const actions::Vault wrapping, wrapping_of(to, cluster, passphrase));
  const std::string check = check_of(to, cluster);
  const std::string sealed = base64(wrapping.seal(kSealedName, vault.key()));
  // One statement: no node ever finds the one without the other.
  PAWL_TRY_DO(
      database.run("UPDATE pawl_meta SET value = CASE name WHEN 'vault' THEN $1::text ELSE $2::text"
                   " END WHERE name IN ('vault', 'key_check')",
                   pg::Params().bytes(sealed).bytes(check)));
  return ok_status();
}

}  // namespace pawl::cluster
