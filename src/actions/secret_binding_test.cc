#include "actions/secret_binding.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace pawl::actions {
namespace {

using Verdict = plan::SecretRule::Verdict;

class SecretBindingTest : public testing::Test {
 protected:
  ~SecretBindingTest() override { std::remove(path_.c_str()); }
  const std::string path_ = testing::TempDir() + "pawl_binding" + std::to_string(::getpid());
  Vault vault_ = std::move(Vault::open(path_)).value();
};

bool admits(const SecretBinding& binding, std::string_view action, Verdict verdict) {
  return admit_secret(binding, "T", action, {verdict, "the rule says so"}).ok();
}

TEST(SecretBinding, TheDefaultIsHttpAndCommandsAndTheProgramsOwnActions) {
  const SecretBinding binding;
  EXPECT_TRUE(admits(binding, "http.post", Verdict::Allowed));
  EXPECT_TRUE(admits(binding, "shell.exec", Verdict::Allowed));
  EXPECT_TRUE(admits(binding, "own.action", Verdict::Allowed));
  EXPECT_FALSE(admits(binding, "http.get", Verdict::Refused));
  EXPECT_FALSE(admits(binding, "http.get", Verdict::IfBoundToHosts));
  EXPECT_FALSE(admits(binding, "crypto.hmac", Verdict::IfListed));
}

// A command can send data anywhere, so hosts alone exclude shell.exec.
TEST(SecretBinding, HostsAndActionsNarrowIt) {
  const SecretBinding hosts{{"api.example.com"}, {}};
  EXPECT_TRUE(admits(hosts, "http.get", Verdict::IfBoundToHosts));
  EXPECT_FALSE(admits(hosts, "shell.exec", Verdict::Allowed));
  EXPECT_FALSE(admits(hosts, "own.action", Verdict::Allowed));
  const SecretBinding actions{{}, {"http.post", "crypto.hmac"}};
  EXPECT_TRUE(admits(actions, "http.post", Verdict::Allowed));
  EXPECT_FALSE(admits(actions, "http.get", Verdict::Allowed));
  EXPECT_TRUE(admits(actions, "crypto.hmac", Verdict::IfListed));
  EXPECT_TRUE(admits({{"h"}, {"http.*", "shell.exec"}}, "shell.exec", Verdict::Allowed));
}

TEST(SecretBinding, EntriesThatMeanNothingAreRefused) {
  for (const char* host : {"api.example.com", "*.example.com", "a.b:8080", "localhost",
                           "10.0.0.1:1", "[::1]:80", "::1", "[fe80::1]"})
    EXPECT_EQ(host_problem(host), "") << host;
  for (const char* host : {"", "*", "*.com", "http://a.b", "a.b/c", "a b", "a.b:", "a.b:0", "a.b:x",
                           "a.b:70000", "user@a.b", "a.*.b", "[::1", ".a.b", "a..b", "*.*.a"})
    EXPECT_NE(host_problem(host), "") << host;
  for (const char* action : {"http.*", "http.get", "shell.exec", "crypto.hmac"})
    EXPECT_EQ(action_problem(action), "") << action;
  for (const char* action : {"", "*", "fs.write", "fs.*", "jq", "expr.eval", "assert.equals",
                             "workflow.log", "crypto.hash", "http", "http.put", "shell.*", "job"})
    EXPECT_NE(action_problem(action), "") << action;
}

TEST_F(SecretBindingTest, TheBindingIsSealedWithTheSecret) {
  const SecretBinding narrow{{"api.example.com"}, {"http.post"}};
  const std::string stored = seal_secret(vault_, "T", "hush", narrow);
  EXPECT_EQ(stored.find("hush"), std::string::npos);
  EXPECT_EQ(open_secret(vault_, "T", stored).value(), "hush");
  EXPECT_EQ(binding_of(stored)->hosts, narrow.hosts);
  EXPECT_EQ(binding_of(stored)->actions, narrow.actions);
  EXPECT_FALSE(open_secret(vault_, "U", stored).ok());
  std::string widened = stored;
  widened.replace(widened.find("api.example.com"), 15, "evi.example.com");
  EXPECT_EQ(binding_of(widened)->hosts[0], "evi.example.com");
  EXPECT_EQ(open_secret(vault_, "T", widened).error().code, ErrorCode::Corrupt);
  EXPECT_FALSE(open_secret(vault_, "T", "\x02garbage").ok());
}

TEST_F(SecretBindingTest, WhatWasStoredBeforeHasTheDefault) {
  const std::string old = vault_.seal("T", "hush");
  EXPECT_TRUE(binding_of(old)->is_default());
  EXPECT_EQ(open_secret(vault_, "T", old).value(), "hush");
  EXPECT_EQ(open_secret(vault_, "T", seal_secret(vault_, "T", "hush", {})).value(), "hush");
}

}  // namespace
}  // namespace pawl::actions
