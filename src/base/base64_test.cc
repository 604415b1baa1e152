#include "base/base64.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Base64, EveryLengthOfTheLastGroup) {
  const std::pair<std::string_view, std::string_view> kPairs[] = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kPairs) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(from_base64(base64(all)), all);
  EXPECT_EQ(base64(std::string_view("\x00\x01\x02\xff", 4)), "AAEC/w==");
}

// One spelling per value: hashes of what holds the text would differ otherwise.
TEST(Base64, RefusesEveryOtherSpelling) {
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n", "Zm-_",
                            "====", "Z===", "=Zg=", "Zg==Zg=="})
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace pawl
