// Vault: keeps secrets unreadable at rest. AES-256-GCM under one key, a fresh random nonce for each
// sealing, the secret's name bound to it: a sealed value moved to another name does not open.
//
// The key is 32 random bytes in a file (0600) that is made when it is not there, or is derived from
// a passphrase by scrypt; then the file holds the salt, and a check that tells a wrong passphrase
// from damage. The file is not in the store's backups: without it no secret can be opened.
//
// File: "PAWLVLT1", 'K' or 'S', then 32 bytes of key, or 32 bytes of salt and 16 of check.
// Sealed: 0x01, 12 bytes of nonce, the ciphertext, 16 bytes of tag.
//
// Immutable once open; any thread. The key is wiped from memory at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::actions {

class Vault {
 public:
  // Unauthenticated: a wrong passphrase, one where none was used, or none where one was. Forbidden:
  // other users may read the file. Corrupt: it is not a key file. Unavailable: a disk error,
  // described in the message.
  static Result<Vault> open(const std::string& key_file);
  static Result<Vault> open(const std::string& key_file, std::string_view passphrase);
  // Of a key that is kept elsewhere: 32 bytes, or derived from a passphrase.
  static constexpr size_t kKeyBytes = 32;
  static Vault of(std::string_view key);
  static Result<Vault> of(std::string_view passphrase, std::string_view salt);
  static std::string fresh_key();
  // For a move to another place: the key, and a new key file that holds it.
  std::string key() const { return {reinterpret_cast<const char*>(key_.data()), key_.size()}; }
  static Status keep(const std::string& key_file, std::string_view key);

  Vault(Vault&& other) noexcept;
  Vault& operator=(Vault&& other) noexcept;
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;
  ~Vault();

  std::string seal(std::string_view name, std::string_view plaintext) const;
  // Corrupt if it was sealed under another key or another name, or was changed since.
  Result<std::string> unseal(std::string_view name, std::string_view sealed) const;

 private:
  using Key = std::array<unsigned char, kKeyBytes>;
  explicit Vault(const Key& key) : key_(key) {}
  static Result<Key> derive(std::string_view passphrase, std::string_view salt);

  Key key_;
};

}  // namespace pawl::actions
