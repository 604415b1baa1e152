#include "cluster/cluster_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/hash.h"
#include "store/postgres_schema.h"
#include "store/testing/postgres_server.h"

namespace pawl::cluster {
namespace {

class ClusterKeyTest : public testing::Test {
 protected:
  std::string file(const std::string& content, mode_t mode = 0600) {
    std::string path = directory / "cluster.key";
    std::ofstream(path) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string refused(const Result<ClusterKey>& key) {
    return key.ok() ? "taken" : std::string(wire_code(key.error().code));
  }

  TempDirectory directory;
};

TEST_F(ClusterKeyTest, TakesAFileOfThirtyTwoBytesThatNobodyElseReads) {
  EXPECT_EQ(refused(ClusterKey::read(directory / "none")), "invalid_request");
  EXPECT_EQ(refused(ClusterKey::read(file(std::string(31, 'k')))), "invalid_request");
  EXPECT_EQ(refused(ClusterKey::read(file(std::string(32, 'k'), 0640))), "invalid_request");
  EXPECT_EQ(refused(ClusterKey::read(file(std::string(32, 'k')))), "taken");
}

// RFC 5869 with SHA-256; computed with another library.
TEST_F(ClusterKeyTest, DerivesByHkdf) {
  const ClusterKey key(std::string(32, 'k'));
  EXPECT_EQ(to_hex(key.derive("cluster", "vault")),
            "f86a24d8838e6d95d27f19fa5b1445a2e297bc050272c9d6f4ac7c32fa582836");
  EXPECT_NE(key.derive("cluster", "vault"), key.derive("cluster", "check"));
  EXPECT_NE(key.derive("cluster", "vault"), key.derive("other", "vault"));
}

class ClusterVault : public ClusterKeyTest {
 protected:
  ClusterVault() : database(backing.connect()) { EXPECT_TRUE(settle_schema(database, 1).ok()); }
  Result<actions::Vault> open(char key, const std::optional<std::string>& passphrase = {}) {
    return open_cluster_vault(database, ClusterKey(std::string(32, key)), passphrase);
  }

  PostgresBacking backing;
  pg::Connection database;
};

TEST_F(ClusterVault, IsTheSameForEveryNode) {
  auto first = open('k');
  auto second = open('k');
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->unseal("name", first->seal("name", "secret")).value(), "secret");
}

TEST_F(ClusterVault, TellsAnotherKey) {
  ASSERT_TRUE(open('k').ok());
  const auto other = open('x');
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::InvalidRequest);
  EXPECT_NE(other.error().message.find("cluster key"), std::string::npos);
}

TEST_F(ClusterVault, NeedsThePassphraseItWasMadeWith) {
  auto made = open('k', "open sesame");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(open('k').error().code, ErrorCode::Unauthenticated);
  EXPECT_EQ(open('k', "other").error().code, ErrorCode::Unauthenticated);
  EXPECT_EQ(open('k', "open sesame")->unseal("n", made->seal("n", "s")).value(), "s");
}

TEST_F(ClusterVault, IsTheSameUnderAnotherKey) {
  for (const auto& passphrase :
       {std::optional<std::string>(), std::optional<std::string>("open")}) {
    PostgresBacking other;
    database = other.connect();
    ASSERT_TRUE(settle_schema(database, 1).ok());
    auto made = open('k', passphrase);
    ASSERT_TRUE(made.ok());
    const ClusterKey from(std::string(32, 'k'));
    const ClusterKey to(std::string(40, 'n'));
    EXPECT_EQ(rekey_cluster(database, to, from, passphrase).error().code,
              ErrorCode::InvalidRequest);
    ASSERT_TRUE(rekey_cluster(database, from, to, passphrase).ok());
    EXPECT_EQ(open('k', passphrase).error().code, ErrorCode::InvalidRequest);
    auto opened = open_cluster_vault(database, to, passphrase);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ(opened->unseal("n", made->seal("n", "s")).value(), "s");
  }
}

}  // namespace
}  // namespace pawl::cluster
