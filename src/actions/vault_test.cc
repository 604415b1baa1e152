#include "actions/vault.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

std::string opened(const Result<std::string>& result) {
  return result.ok() ? *result : std::string(wire_code(result.error().code));
}

template <class... Arguments>
std::string opening(const Arguments&... arguments) {
  auto vault = Vault::open(arguments...);
  return vault.ok() ? "ok" : std::string(wire_code(vault.error().code));
}

TEST(Vault, WhatIsSealedOpensAfterARestart) {
  TestDirectory directory;
  std::string sealed;
  {
    auto vault = Vault::open(directory.at("key"));
    ASSERT_TRUE(vault.ok()) << vault.error().message;
    sealed = vault->seal("token", std::string("s3cret\0x", 8));
    EXPECT_EQ(sealed.find("s3cret"), std::string::npos);
    EXPECT_NE(sealed, vault->seal("token", std::string("s3cret\0x", 8)));  // another nonce
  }
  struct stat info;
  ASSERT_EQ(::stat(directory.at("key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto again = Vault::open(directory.at("key"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(opened(again->unseal("token", sealed)), std::string("s3cret\0x", 8));
  EXPECT_EQ(opened(again->unseal("token", again->seal("token", ""))), "");
}

TEST(Vault, AnotherNameKeyOrByteDoesNotOpen) {
  TestDirectory directory;
  auto vault = Vault::open(directory.at("key"));
  auto other = Vault::open(directory.at("other"));
  ASSERT_TRUE(vault.ok() && other.ok());
  std::string sealed = vault->seal("name", "value");
  EXPECT_EQ(opened(vault->unseal("other name", sealed)), "corrupt");
  EXPECT_EQ(opened(other->unseal("name", sealed)), "corrupt");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(opened(vault->unseal("name", changed)), "corrupt") << i;
    EXPECT_EQ(opened(vault->unseal("name", sealed.substr(0, i))), "corrupt") << i;
  }
}

TEST(Vault, APassphraseIsAskedForAndChecked) {
  TestDirectory directory;
  std::string sealed;
  {
    auto vault = Vault::open(directory.at("salt"), "correct horse");
    ASSERT_TRUE(vault.ok()) << vault.error().message;
    sealed = vault->seal("n", "v");
  }
  EXPECT_EQ(directory.read("salt").find("correct"), std::string::npos);
  auto again = Vault::open(directory.at("salt"), "correct horse");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(opened(again->unseal("n", sealed)), "v");
  EXPECT_EQ(opening(directory.at("salt"), "battery staple"), "unauthenticated");
  EXPECT_EQ(opening(directory.at("salt")), "unauthenticated");
  EXPECT_EQ(opening(directory.at("key")), "ok");
  EXPECT_EQ(opening(directory.at("key"), "correct horse"), "unauthenticated");
  // The same passphrase with another salt is another key.
  auto other = Vault::open(directory.at("salt2"), "correct horse");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(opened(other->unseal("n", sealed)), "corrupt");
}

TEST(Vault, RefusesFilesThatAreNoKeyOrNoSecret) {
  TestDirectory directory;
  auto with = [&](const std::string& content) {
    directory.write("f", content);
    ::chmod(directory.at("f").c_str(), 0600);
    return opening(directory.at("f"));
  };
  EXPECT_EQ(with(""), "corrupt");
  EXPECT_EQ(with("something else"), "corrupt");
  EXPECT_EQ(with("PAWLVLT1Kshort"), "corrupt");
  EXPECT_EQ(with("PAWLVLT1K" + std::string(32, 'k')), "ok");
  ::chmod(directory.at("f").c_str(), 0640);
  EXPECT_EQ(opening(directory.at("f")), "forbidden");
  EXPECT_EQ(opening(directory.at("no/such/directory")), "unavailable");
}

}  // namespace
}  // namespace pawl::actions
