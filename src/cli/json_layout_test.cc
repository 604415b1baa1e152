#include "cli/json_layout.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

TEST(JsonLayout, WhatFitsStaysOnOneLine) {
  EXPECT_EQ(laid_out_json(R"({"a":[1,2,{"b":null}]})"), R"({"a":[1,2,{"b":null}]})");
  EXPECT_EQ(laid_out_json("not json"), "not json");
  EXPECT_EQ(laid_out_json("\"text\""), "\"text\"");
}

TEST(JsonLayout, WhatDoesNotFitIsIndentedAndMeansTheSame) {
  std::string wide(70, 'x');
  std::string json = R"({"a":[1,2],"b\n":{")" + wide + R"(":[true]},"c":")" + wide + R"("})";
  std::string text = laid_out_json(json);
  EXPECT_EQ(text, "{\n  \"a\": [1,2],\n  \"b\\n\": {\n    \"" + wide +
                      "\": [true]\n  },\n  \"c\": \"" + wide + "\"\n}");
  EXPECT_EQ(Value::parse(text)->json(), json);
}

}  // namespace
}  // namespace pawl::cli
