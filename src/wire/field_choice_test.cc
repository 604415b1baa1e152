#include "wire/field_choice.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(FieldChoice, KeepsWhatIsNamedAndWhatTellsApart) {
  const std::string one =
      R"({"run":{"id":"r","a":{"b":[1,2]},"c":"}","next_cursor":"9"},"at":{"a":1}})";
  EXPECT_EQ(keep_fields(one, "run", "c"),
            R"({"run":{"id":"r","c":"}","next_cursor":"9"},"at":{"a":1}})");
  EXPECT_EQ(keep_fields(one, "run", "c,,a"), one);
  EXPECT_EQ(keep_fields(one, "run", "b,A"), R"({"run":{"id":"r","next_cursor":"9"},"at":{"a":1}})");
}

TEST(FieldChoice, OfEachInAList) {
  EXPECT_EQ(keep_fields(R"({"runs":[{"id":"1","a":1},{"b":2}],"next_cursor":"x"})", "runs", "b"),
            R"({"runs":[{"id":"1"},{"b":2}],"next_cursor":"x"})");
  EXPECT_EQ(keep_fields(R"({"runs":[]})", "runs", "b"), R"({"runs":[]})");
}

TEST(FieldChoice, WhatItCannotChooseFromStays) {
  EXPECT_EQ(keep_fields(R"({"other":{"a":1}})", "run", "b"), R"({"other":{"a":1}})");
  const std::string deep =
      R"({"run":{"a":)" + std::string(2000, '[') + std::string(2000, ']') + "}}";
  EXPECT_EQ(keep_fields(deep, "run", "b"), deep);
}

}  // namespace
}  // namespace pawl
