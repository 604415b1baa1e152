#include "actions/vault.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "actions/file_handle.h"
#include "base/hash.h"
#include "base/quote.h"

namespace pawl::actions {
namespace {

constexpr std::string_view kMagic = "PAWLVLT1";
constexpr size_t kCheckBytes = 16;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr char kSealedVersion = 1;
constexpr uint64_t kScryptN = 1 << 15, kScryptR = 8, kScryptP = 1;
constexpr uint64_t kScryptBytesMax = 64u << 20;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  PAWL_CHECK(RAND_bytes(bytes_of(out), static_cast<int>(count)) == 1);
  return out;
}

Error disk_error(const std::string& path) {
  return Error{ErrorCode::Unavailable,
               "key file " + in_quotes(path) + ": " + std::generic_category().message(errno)};
}

// Detects a wrong passphrase; reveals no more about the key than a sealed value does.
std::string check_of(std::string_view key) {
  return hmac_sha256_hex(key, "pawl vault check").substr(0, kCheckBytes);
}

// Empty if there is no such file.
Result<std::string> read_key_file(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::string();
    return disk_error(path);
  }
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return disk_error(path);
  if ((info.st_mode & 077) != 0)
    return Error{ErrorCode::Forbidden,
                 "key file " + in_quotes(path) + " may be read by others; make it 0600"};
  std::string content(256, '\0');
  ssize_t count = ::read(file.get(), content.data(), content.size());
  if (count < 0) return disk_error(path);
  content.resize(static_cast<size_t>(count));
  if (content.empty() || content.compare(0, kMagic.size(), kMagic) != 0)
    return Error{ErrorCode::Corrupt, in_quotes(path) + " is no key file"};
  return content.substr(kMagic.size());
}

// Never replaces an existing file: of two servers that start at once, the second reads the first's
// key.
Status make_key_file(const std::string& path, std::string_view content) {
  std::string temporary = path + "." + random_secret(8);
  FileHandle file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return disk_error(path);
  std::string text = std::string(kMagic) + std::string(content);
  bool good = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
              ::fsync(file.get()) == 0;
  OPENSSL_cleanse(text.data(), text.size());
  if (good) good = ::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
  Status result = good ? ok_status() : Status(disk_error(path));
  ::unlink(temporary.c_str());
  if (!result.ok()) return result;
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  FileHandle above(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.is_open() || ::fsync(above.get()) != 0) return disk_error(path);
  return ok_status();
}

std::string associated(std::string_view name) { return "pawl secret " + std::string(name); }

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Context new_context() {
  Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  PAWL_CHECK(context != nullptr);
  return context;
}

}  // namespace

Result<Vault::Key> Vault::derive(std::string_view passphrase, std::string_view salt) {
  Key key;
  if (EVP_PBE_scrypt(passphrase.data(), passphrase.size(), bytes_of(salt), salt.size(), kScryptN,
                     kScryptR, kScryptP, kScryptBytesMax, key.data(), key.size()) != 1)
    return Error{ErrorCode::Unavailable, "no key can be derived: not enough memory"};
  return key;
}

Result<Vault> Vault::open(const std::string& key_file) {
  PAWL_TRY(std::string content, read_key_file(key_file));
  if (content.empty()) {
    PAWL_TRY_DO(make_key_file(key_file, "K" + random_bytes(kKeyBytes)));
    PAWL_TRY(content, read_key_file(key_file));
  }
  if (content.substr(0, 1) == "S")
    return Error{ErrorCode::Unauthenticated, "the vault of " + in_quotes(key_file) +
                                                 " was made with a passphrase, and needs it"};
  if (content.size() != 1 + kKeyBytes || content[0] != 'K')
    return Error{ErrorCode::Corrupt, in_quotes(key_file) + " is no key file"};
  Key key;
  content.copy(reinterpret_cast<char*>(key.data()), key.size(), 1);
  OPENSSL_cleanse(content.data(), content.size());
  Vault vault(key);
  OPENSSL_cleanse(key.data(), key.size());
  return vault;
}

Result<Vault> Vault::open(const std::string& key_file, std::string_view passphrase) {
  PAWL_TRY(std::string content, read_key_file(key_file));
  if (content.empty()) {
    std::string salt = random_bytes(kKeyBytes);
    PAWL_TRY(Key fresh, derive(passphrase, salt));
    Vault made(fresh);
    std::string check =
        check_of({reinterpret_cast<const char*>(made.key_.data()), made.key_.size()});
    OPENSSL_cleanse(fresh.data(), fresh.size());
    PAWL_TRY_DO(make_key_file(key_file, "S" + salt + check));
    PAWL_TRY(content, read_key_file(key_file));
  }
  if (content.substr(0, 1) == "K")
    return Error{ErrorCode::Unauthenticated,
                 "the vault of " + in_quotes(key_file) + " was made without a passphrase"};
  if (content.size() != 1 + kKeyBytes + kCheckBytes || content[0] != 'S')
    return Error{ErrorCode::Corrupt, in_quotes(key_file) + " is no key file"};
  PAWL_TRY(Key key, derive(passphrase, content.substr(1, kKeyBytes)));
  Vault vault(key);
  OPENSSL_cleanse(key.data(), key.size());
  std::string check =
      check_of({reinterpret_cast<const char*>(vault.key_.data()), vault.key_.size()});
  if (!equal_in_constant_time(check, content.substr(1 + kKeyBytes)))
    return Error{ErrorCode::Unauthenticated, "the passphrase is not the one that the vault of " +
                                                 in_quotes(key_file) + " was made with"};
  return vault;
}

Vault Vault::of(std::string_view key) {
  PAWL_CHECK(key.size() == kKeyBytes);
  Key bytes;
  key.copy(reinterpret_cast<char*>(bytes.data()), bytes.size());
  Vault vault(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return vault;
}

Result<Vault> Vault::of(std::string_view passphrase, std::string_view salt) {
  PAWL_TRY(Key key, derive(passphrase, salt));
  Vault vault(key);
  OPENSSL_cleanse(key.data(), key.size());
  return vault;
}

Status Vault::keep(const std::string& key_file, std::string_view key) {
  PAWL_CHECK(key.size() == kKeyBytes);
  return make_key_file(key_file, "K" + std::string(key));
}

std::string Vault::fresh_key() { return random_bytes(kKeyBytes); }

Vault::Vault(Vault&& other) noexcept : key_(other.key_) {
  OPENSSL_cleanse(other.key_.data(), other.key_.size());
}

Vault& Vault::operator=(Vault&& other) noexcept {
  if (this != &other) {
    key_ = other.key_;
    OPENSSL_cleanse(other.key_.data(), other.key_.size());
  }
  return *this;
}

Vault::~Vault() { OPENSSL_cleanse(key_.data(), key_.size()); }

std::string Vault::seal(std::string_view name, std::string_view plaintext) const {
  std::string nonce = random_bytes(kNonceBytes);
  std::string bound = associated(name);
  std::string sealed(1 + kNonceBytes + plaintext.size() + kTagBytes, '\0');
  sealed[0] = kSealedVersion;
  sealed.replace(1, kNonceBytes, nonce);
  unsigned char* ciphertext = bytes_of(sealed) + 1 + kNonceBytes;
  Context context = new_context();
  int size = 0;
  bool good = EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(),
                                 bytes_of(nonce)) == 1 &&
              EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(bound),
                                static_cast<int>(bound.size())) == 1 &&
              EVP_EncryptUpdate(context.get(), ciphertext, &size, bytes_of(plaintext),
                                static_cast<int>(plaintext.size())) == 1 &&
              EVP_EncryptFinal_ex(context.get(), ciphertext + plaintext.size(), &size) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                  ciphertext + plaintext.size()) == 1;
  PAWL_CHECK(good);
  return sealed;
}

Result<std::string> Vault::unseal(std::string_view name, std::string_view sealed) const {
  Error damaged{ErrorCode::Corrupt, "the secret " + in_quotes(std::string(name)) +
                                        " does not open: it was sealed under another key or name, "
                                        "or was changed"};
  if (sealed.size() < 1 + kNonceBytes + kTagBytes || sealed[0] != kSealedVersion) return damaged;
  std::string nonce(sealed.substr(1, kNonceBytes));
  std::string_view ciphertext = sealed.substr(1 + kNonceBytes);
  std::string tag(ciphertext.substr(ciphertext.size() - kTagBytes));
  ciphertext.remove_suffix(kTagBytes);
  std::string bound = associated(name);
  std::string plaintext(ciphertext.size(), '\0');
  Context context = new_context();
  int size = 0;
  bool good = EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(),
                                 bytes_of(nonce)) == 1 &&
              EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(bound),
                                static_cast<int>(bound.size())) == 1 &&
              EVP_DecryptUpdate(context.get(), bytes_of(plaintext), &size, bytes_of(ciphertext),
                                static_cast<int>(ciphertext.size())) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1;
  unsigned char rest[EVP_MAX_BLOCK_LENGTH];
  if (!good || EVP_DecryptFinal_ex(context.get(), rest, &size) != 1) {
    OPENSSL_cleanse(plaintext.data(), plaintext.size());
    return damaged;
  }
  return plaintext;
}

}  // namespace pawl::actions
