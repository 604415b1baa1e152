// Dotted paths into values and types.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

// What is at a path of a value, in hex; "-" if nothing. Items and bytes must agree.
std::string at_path(const Type& type, std::string_view json, std::string_view path) {
  const std::string bytes = from_hex(json_to_hex(type, json));
  const auto item = cbor::read(bytes);
  const Place place = find_path(type, *item, path);
  std::string encoded;
  if (place.item != nullptr) cbor::append(encoded, *place.item);
  EXPECT_EQ(find_bytes(type, bytes, path), encoded) << path;
  return encoded.empty() ? "-" : to_hex(encoded) + " " + std::string(type_name(place.type->kind));
}

std::string type_at(const Type& type, std::string_view path) {
  const Type* found = path_type(type, path);
  return found == nullptr ? "-" : std::string(type_name(found->kind));
}

constexpr const char* kOrder =
    R"({"variant":{"Placed":{"record":{"id":{"text":{}},"lines":{"list":{"nat":{}}},"to":{"option":{"record":{"zip":{"option":{"nat":{}}}}}}}},
       "Paid":{"record":{"id":{"text":{}},"cents":{"nat":{}}}},"Noted":{"record":{"id":{"nat":{}}}},"Count":{"nat":{}},"Open":{"unit":{}}}})";

TEST(FindPath, EntersRecordsArmsAndOptions) {
  const Type type = type_of(kOrder);
  constexpr const char* kPlaced = R"({"Placed":{"id":"o-1","lines":[1],"to":{"zip":7}}})";
  EXPECT_EQ(at_path(type, kPlaced, "$value.id"), "636f2d31 text");
  EXPECT_EQ(at_path(type, kPlaced, "$value.to.zip"), "07 nat");
  EXPECT_EQ(at_path(type, kPlaced, "$value.lines"), "8101 list");
  EXPECT_EQ(at_path(type, kPlaced, "$value.to"), "a1637a697007 record");
  EXPECT_EQ(at_path(type, R"({"Count":5})", "$value"), "05 nat");
  EXPECT_EQ(at_path(type_of(R"({"record":{"a":{"record":{"b":{"uuid":{}}}}}})"),
                    R"({"a":{"b":"01890a5d-ac96-774b-bcce-b302099a8057"}})", "a.b")
                .substr(0, 4),
            "7824");
}

TEST(FindPath, FindsNothingWhereThereIsNothing) {
  const Type type = type_of(kOrder);
  constexpr const char* kPlaced = R"({"Placed":{"id":"o-1","lines":[1],"to":{}}})";
  for (std::string_view path :
       {"id", "$value.cents", "$value.none", "$value.to.zip", "$value.lines.0", "$value.id.x",
        "$tag", "$value.$value", "", ".", "$value.", ".$value", "$value..id"})
    EXPECT_EQ(at_path(type, kPlaced, path), "-") << path;
  EXPECT_EQ(at_path(type, R"({"Placed":{"id":"o-1","lines":[]}})", "$value.to.zip"), "-");
  EXPECT_EQ(at_path(type, R"({"Placed":{"id":"o-1","lines":[]}})", "$value.to"), "-");
  EXPECT_EQ(at_path(type, R"({"Open":null})", "$value"), "-");
  EXPECT_EQ(at_path(type, R"({"Open":null})", "$value.id"), "-");
}

TEST(FindPath, GoesThroughRefs) {
  const Type type =
      type_of(R"({"variant":{"A":{"ref":"a/A@1"}}})",
              R"({"a/A@1":{"record":{"k":{"option":{"ref":"a/Key@1"}}}},"a/Key@1":{"int":{}}})");
  EXPECT_EQ(at_path(type, R"({"A":{"k":-1}})", "$value.k"), "20 int");
  EXPECT_EQ(at_path(type, R"({"A":{}})", "$value.k"), "-");
  EXPECT_EQ(type_at(type, "$value.k"), "int");
}

TEST(FindPath, DamagedBytesHaveNothing) {
  const Type type = type_of(R"({"record":{"a":{"nat":{}},"b":{"nat":{}}}})");
  for (std::string_view hex : {"", "a2", "a2616101", "a261610161", "a261619bffffffffffffffff",
                               "bbffffffffffffffff616101", "8161", "a26161bbffffffffffffffff"})
    EXPECT_EQ(find_bytes(type, from_hex(hex), "b"), "") << hex;
}

TEST(PathType, IsWhatAllArmsThatHaveThePlaceAgreeOn) {
  const Type type = type_of(kOrder);
  EXPECT_EQ(type_at(type, "$value.cents"), "nat");
  EXPECT_EQ(type_at(type, "$value.to.zip"), "nat");
  EXPECT_EQ(type_at(type, "$value.id"), "-");  // text, but nat in Noted
  EXPECT_EQ(type_at(type, "$value"), "-");
  for (std::string_view path : {"id", "$value.none", "$value.lines.0", "", "$value.", "$tag"})
    EXPECT_EQ(type_at(type, path), "-") << path;
  const Type agreed = type_of(
      R"({"variant":{"A":{"record":{"k":{"text":{}},"r":{"ref":"a/R@1"}}},"B":{"record":{"k":{"ref":"a/T@1"},"r":{"record":{"x":{"nat":{}}}}}},"C":{"unit":{}}}})",
      R"({"a/T@1":{"text":{}},"a/R@1":{"record":{"x":{"nat":{}}}}})");
  EXPECT_EQ(type_at(agreed, "$value.k"), "text");
  EXPECT_EQ(type_at(agreed, "$value.r"), "record");
  EXPECT_EQ(type_at(agreed, "$value.r.x"), "nat");
}

// Two arms at each of 30 levels: a thousand million ways, but 30 types.
TEST(PathType, ArmsWithinArmsDoNotMultiply) {
  std::string schemas = R"({"s0/S@1":{"record":{"k":{"text":{}}}})", path = "$value.";
  for (int i = 1; i < 30; ++i) {
    const std::string number = std::to_string(i - 1);
    schemas += R"(,"s)";
    schemas += std::to_string(i);
    schemas += R"(/S@1":{"variant":{"A":{"ref":"s)";
    schemas += number;
    schemas += R"(/S@1"},"B":{"ref":"s)";
    schemas += number;
    schemas += R"(/S@1"}}})";
    if (i > 1) path += "$value.";
  }
  const Type type = type_of(R"({"ref":"s29/S@1"})", schemas + "}");
  EXPECT_EQ(type_at(type, path + "k"), "text");
  EXPECT_EQ(type_at(type, path + "$value.k"), "-");
}

}  // namespace
}  // namespace pawl::worlds
