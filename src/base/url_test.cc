#include "base/url.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Url, DecodesOnlyWhatIsWellFormed) {
  EXPECT_EQ(percent_decode("a%2Fb+c"), "a/b+c");
  EXPECT_EQ(percent_decode(""), "");
  EXPECT_EQ(percent_decode("%"), std::nullopt);
  EXPECT_EQ(percent_decode("%4"), std::nullopt);
  EXPECT_EQ(percent_decode("%zz"), std::nullopt);
  EXPECT_EQ(percent_decode("a%00b"), std::nullopt);
}

TEST(Url, EncodeIsUndoneByDecode) {
  std::string all;
  for (int c = 1; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a/b c~"), "a%2Fb%20c~");
}

TEST(Url, FindsQueryParameters) {
  EXPECT_EQ(query_param("a=1&b=2+3&c", "b"), "2 3");
  EXPECT_EQ(query_param("a=1&b=2&b=3", "b"), "2");
  EXPECT_EQ(query_param("a=1&c", "c"), "");
  EXPECT_EQ(query_param("a=1&c", "d"), std::nullopt);
  EXPECT_EQ(query_param("", "d"), std::nullopt);
  EXPECT_EQ(query_param("st%61te=x%26y", "state"), "x&y");
  EXPECT_EQ(query_param("a=%zz", "a"), std::nullopt);
  EXPECT_EQ(query_param("aa=1", "a"), std::nullopt);
}

TEST(Url, ListsQueryParametersInOrder) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"a", "2"}, {"b", ""}};
  EXPECT_EQ(query_params("a=1&&a=2&b"), expected);
  EXPECT_EQ(query_params("a=1&b=%"), std::nullopt);
}

}  // namespace
}  // namespace pawl
