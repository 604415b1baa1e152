#include "base/base64.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Base64, EncodesAndDecodesTheStandardsExamples) {
  constexpr std::pair<const char*, const char*> kExamples[] = {{"", ""},
                                                               {"f", "Zg=="},
                                                               {"fo", "Zm8="},
                                                               {"foo", "Zm9v"},
                                                               {"foob", "Zm9vYg=="},
                                                               {"fooba", "Zm9vYmE="},
                                                               {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kExamples) {
    EXPECT_EQ(base64(bytes), text);
    std::string decoded = "before";
    EXPECT_TRUE(from_base64(text, decoded));
    EXPECT_EQ(decoded, bytes);
  }
}

TEST(Base64, EveryByteComesBackAtEveryPlace) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (size_t cut = 0; cut < 4; ++cut) {
    std::string decoded = "before ";
    EXPECT_TRUE(append_from_base64(decoded, base64(bytes.substr(cut))));
    EXPECT_EQ(decoded, "before " + bytes.substr(cut));
  }
}

TEST(Base64, OnlyTheCanonicalTextOfBytesDecodes) {
  for (std::string_view bad : {"Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zm9vYg", "Zm9v\n",
                               "Zm 9v", "Zm9-", "Zm9_", "Zg==Zg==",
                               "Zh==",  // bits behind the last byte
                               "Zm9=", "Zm8=Zm8=",
                               "\xc3\xa4"
                               "aa",
                               "Zm=v"}) {
    std::string decoded = "kept";
    EXPECT_FALSE(append_from_base64(decoded, bad)) << bad;
    EXPECT_EQ(decoded, "kept") << bad;
  }
}

}  // namespace
}  // namespace pawl
