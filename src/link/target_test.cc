#include "link/target.h"

#include <gtest/gtest.h>

namespace pawl::link {
namespace {

std::string target_text(std::string_view url) {
  const auto target = read_target(url);
  if (!target) return "none";
  return target->host + " " + target->port + (target->tls ? " tls " : " ") + target->authority;
}

TEST(Target, UrlsOfNodes) {
  EXPECT_EQ(target_text("http://10.0.0.1:8080"), "10.0.0.1 8080 10.0.0.1:8080");
  EXPECT_EQ(target_text("https://node-a.example/"), "node-a.example 443 tls node-a.example");
  EXPECT_EQ(target_text("http://[::1]:80"), "::1 80 [::1]:80");
  EXPECT_EQ(target_text("http://[::1]"), "::1 80 [::1]");
  for (const char* bad : {"", "ftp://a", "http://", "http://a:", "http://a:x", "http://a:99999",
                          "http://a/b", "http://u@a", "http://a\r\nX: y", "http://[::1:80"}) {
    EXPECT_EQ(target_text(bad), "none") << bad;
  }
}

TEST(Target, OnlyAddressesNeedNoNameServer) {
  EXPECT_EQ(addresses_of(*read_target("http://127.0.0.1:1"), true).size(), 1U);
  EXPECT_EQ(addresses_of(*read_target("http://localhost:1"), true).size(), 0U);
  EXPECT_GE(addresses_of(*read_target("http://localhost:1"), false).size(), 1U);
}

}  // namespace
}  // namespace pawl::link
