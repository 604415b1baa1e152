#include "actions/header_rule.h"

#include <gtest/gtest.h>

namespace pawl::actions {
namespace {

TEST(HeaderRule, WhatFramesOrRoutesAMessageIsReserved) {
  for (const char* name :
       {"Host", "HOST", "content-length", "Content_Length", "Transfer-Encoding",
        "transfer_encoding", "Connection", "Keep-Alive", "Upgrade", "TE", "Trailer", "Expect",
        "HTTP2-Settings", "Proxy-Authorization", "Proxy-Connection", "proxy-anything"})
    EXPECT_TRUE(is_reserved_header(name)) << name;
  for (const char* name : {"Authorization", "Content-Type", "Cookie", "User-Agent",
                           "Accept-Encoding", "Host-Name", "X-Host", "Idempotency-Key", "Range"})
    EXPECT_FALSE(is_reserved_header(name)) << name;
}

TEST(HeaderRule, ARefusalNamesTheHeaderAndNotItsValue) {
  EXPECT_EQ(header_problem("X-Fine", "a\tb \xc3\xa9"), "");
  EXPECT_EQ(header_problem("Host", "hush"),
            "header \"Host\" cannot be set: it is the client's own");
  for (const char* name : {"", "Host ", " Host", "Host:", "X A", "X\r\nHost", "Ho\tst", "X;", "é"})
    EXPECT_NE(header_problem(name, "v").find("no header's name"), std::string::npos) << name;
  using namespace std::string_view_literals;
  for (std::string_view value : {"a\r\nHost: b"sv, "a\nb"sv, "a\0b"sv, "\x7f"sv}) {
    std::string problem = header_problem("X", value);
    EXPECT_NE(problem.find("control characters"), std::string::npos);
    EXPECT_EQ(problem.find("b"), problem.find("be "));
  }
  EXPECT_NE(header_problem("X", std::string(70'000, 'a')), "");
}

}  // namespace
}  // namespace pawl::actions
