// Type expressions, and refs between schemas.
#include <gtest/gtest.h>

#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

std::string told(const std::vector<Complaint>& faults) {
  std::string out;
  for (const Complaint& fault : faults)
    out += (out.empty() ? "" : " | ") + fault.path + " " + fault.code;
  return out;
}

// What is wrong with a type expression.
std::string faults_of(std::string_view type_json) {
  const std::string bytes = cbor_of(type_json);
  std::vector<Complaint> faults;
  (void)read_type(*cbor::read(bytes), "/t", faults);
  return told(faults);
}

// What is wrong with schemas {name: type, …}; the place of each is "/" and its name up to the "/".
std::string resolve_faults(std::string_view schemas_json, Types* keep = nullptr) {
  const std::string bytes = cbor_of(schemas_json);
  const auto schemas = cbor::read(bytes);
  std::vector<Complaint> faults;
  Types types;
  std::map<std::string, std::string> paths;
  for (size_t i = 0; i < schemas->items.size(); i += 2) {
    const std::string name(schemas->items[i].string);
    paths[name] = "/" + name.substr(0, name.find('/'));
    types.add(name, read_type(schemas->items[i + 1], paths[name], faults));
  }
  types.resolve(paths, faults);
  if (keep != nullptr) *keep = types;
  return told(faults);
}

std::string nested(std::string_view open, size_t times, std::string_view last) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += open;
  return out.append(last).append(times, '}');
}

TEST(ReadType, AcceptsEveryKindOfType) {
  const Type type = type_of(
      R"({"record":{"s":{"set":{"uuid":{}}},"m":{"map":{"key":{"hash":{}},"value":{"unit":{}}}},"o":{"option":{"list":{"bytes":{}}}},
          "v":{"variant":{"Some_arm":{"bool":{}},"_":{"duration":{}}}},"t":{"time":{}},"d":{"dec128":{}},"i":{"int":{}},"n1":{"nat":{}},"x":{"text":{}}}})");
  EXPECT_EQ(type.kind, TypeKind::Record);
  ASSERT_EQ(type.members.size(), 9u);
  EXPECT_EQ(type.member("m")->inner[0].kind, TypeKind::Hash);
  EXPECT_EQ(type.member("m")->inner[1].kind, TypeKind::Unit);
  EXPECT_EQ(type.member("o")->inner[0].inner[0].kind, TypeKind::Bytes);
  EXPECT_EQ(type.member("v")->member("_")->kind, TypeKind::Duration);
  EXPECT_EQ(type.member("w"), nullptr);
}

TEST(ReadType, MembersStandInTheOrderOfTheirEncodings) {
  const Type type =
      type_of(R"({"record":{"bb":{"nat":{}},"c":{"nat":{}},"Z":{"nat":{}},"aaa":{"nat":{}}}})");
  std::string names;
  for (const auto& [name, member] : type.members) names += name + " ";
  EXPECT_EQ(names, "Z c bb aaa ");
}

TEST(ReadType, ComplainsOfEachPlaceThatIsNoType) {
  constexpr std::pair<const char*, const char*> kFaults[] = {
      {R"({"float":{}})", "/t type.invalid"},
      {R"("nat")", "/t type.invalid"},
      {R"({})", "/t type.invalid"},
      {R"({"nat":{},"int":{}})", "/t type.invalid"},
      {R"({"nat":null})", "/t/nat type.invalid"},
      {R"({"nat":{"max":9}})", "/t/nat/max field.unknown"},
      {R"({"record":[]})", "/t/record type.invalid"},
      {R"({"record":{"a":{"nope":{}},"b":{"list":7}}})",
       "/t/record/a type.invalid | /t/record/b/list type.invalid"},
      {R"({"record":{"1a":{"nat":{}}}})", "/t/record/1a type.invalid"},
      {R"({"record":{"":{"nat":{}}}})", "/t/record/ type.invalid"},
      {R"({"record":{"a-b":{"nat":{}}}})", "/t/record/a-b type.invalid"},
      {R"({"variant":{"$tag":{"nat":{}}}})", "/t/variant/$tag type.invalid"},
      {R"({"variant":{"a/b~c":{"nat":{}}}})", "/t/variant/a~1b~0c type.invalid"},
      {R"({"map":{"key":{"text":{}}}})", "/t/map/value field.missing"},
      {R"({"map":{"key":{"text":{}},"value":{"nat":{}},"of":1}})", "/t/map/of field.unknown"},
      {R"({"map":{"key":{"bool":{}},"value":{"nat":{}}}})", "/t/map/key type.invalid"},
      {R"({"map":{"key":{"bytes":{}},"value":{"nat":{}}}})", "/t/map/key type.invalid"},
      {R"({"map":{"key":{"time":{}},"value":{"nat":{}}}})", "/t/map/key type.invalid"},
      {R"({"option":{"option":{"nat":{}}}})", "/t/option type.invalid"},
      {R"({"option":{"unit":{}}})", "/t/option type.invalid"},
      {R"({"option":{"oops":{}}})", "/t/option type.invalid"},
      {R"({"ref":{}})", "/t/ref type.invalid"},
  };
  for (const auto& [type, faults] : kFaults) EXPECT_EQ(faults_of(type), faults) << type;
}

TEST(ReadType, IsAtMost64LevelsDeep) {
  // The notation nests as deep as the type: more than 64 levels do not even arrive.
  EXPECT_EQ(faults_of(nested(R"({"list":)", 62, R"({"nat":{}})")), "");
  cbor::Item item, unit;
  unit.kind = item.kind = cbor::Kind::Map;
  cbor::Item text;
  text.kind = cbor::Kind::Text;
  text.string = "nat";
  item.items = {text, unit};
  text.string = "list";
  for (int i = 0; i < 64; ++i) {
    cbor::Item outer;
    outer.kind = cbor::Kind::Map;
    outer.items = {text, item};
    item = outer;
  }
  std::vector<Complaint> faults;
  (void)read_type(item, "", faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].message, "a type has at most 64 levels");
}

TEST(ResolveTypes, RefsPointToTheirTargets) {
  Types types;
  EXPECT_EQ(resolve_faults(
                R"({"a/A@1":{"list":{"ref":"b/B@1"}},"b/B@1":{"ref":"c/C@1"},"c/C@1":{"nat":{}}})",
                &types),
            "");
  const auto a = types.find("a/A@1");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->inner[0].target, types.find("b/B@1"));
  EXPECT_EQ(&a->inner[0].plain(), types.find("c/C@1").get());
  EXPECT_EQ(types.find("d/D@1"), nullptr);
}

TEST(ResolveTypes, ComplainsOfUnknownNamesWhereTheyStand) {
  EXPECT_EQ(
      resolve_faults(
          R"({"a/A@1":{"record":{"x":{"map":{"key":{"text":{}},"value":{"ref":"no/No@1"}}},"y":{"option":{"ref":"no/No@2"}}}}})"),
      "/a/record/x/map/value/ref ref.unknown | /a/record/y/option/ref ref.unknown");
}

TEST(ResolveTypes, RefusesRecursionDirectAndIndirect) {
  EXPECT_EQ(resolve_faults(R"({"a/A@1":{"option":{"list":{"ref":"a/A@1"}}}})"), "/a type.invalid");
  EXPECT_EQ(
      resolve_faults(
          R"({"a/A@1":{"list":{"ref":"b/B@1"}},"b/B@1":{"record":{"c":{"ref":"c/C@1"}}},"c/C@1":{"ref":"a/A@1"}})"),
      "/a type.invalid | /b type.invalid | /c type.invalid");
}

// What only leads to a circle is not in it, and what is wrong elsewhere in it is told too.
TEST(ResolveTypes, BlamesThoseInTheCircleOnly) {
  EXPECT_EQ(
      resolve_faults(
          R"({"a/A@1":{"record":{"b":{"ref":"b/B@1"},"x":{"ref":"x/X@1"}}},"b/B@1":{"list":{"ref":"b/B@1"}},
                              "c/C@1":{"list":{"ref":"a/A@1"}},"d/D@1":{"nat":{}}})"),
      "/a/record/x/ref ref.unknown | /b type.invalid");
}

// A ref that was complained of has no values, and nothing runs in circles.
TEST(ResolveTypes, WhatWasComplainedOfHasNoValues) {
  Types types;
  EXPECT_EQ(resolve_faults(R"({"a/A@1":{"list":{"ref":"a/A@1"}},"b/B@1":{"ref":"a/A@1"}})", &types),
            "/a type.invalid");
  EXPECT_EQ(json_to_hex(*types.find("a/A@1"), "[]"), "80");
  EXPECT_EQ(json_to_hex(*types.find("a/A@1"), "[[]]"), "0: the schema of this place is unknown");
  EXPECT_EQ(cbor_to_hex(*types.find("b/B@1"), "80"), "value: the schema of this place is unknown");
}

TEST(ResolveTypes, SeesThroughRefsWhatKeysAndOptionsHold) {
  constexpr const char* kRest =
      R"(,"n/N@1":{"nat":{}},"o/O@1":{"option":{"nat":{}}},"u/U@1":{"ref":"v/V@1"},"v/V@1":{"unit":{}},"t/T@1":{"time":{}}})";
  constexpr std::pair<const char*, const char*> kFaults[] = {
      {R"({"option":{"ref":"n/N@1"}})", ""},
      {R"({"option":{"ref":"o/O@1"}})", "/a/option type.invalid"},
      {R"({"list":{"option":{"ref":"u/U@1"}}})", "/a/list/option type.invalid"},
      {R"({"map":{"key":{"ref":"n/N@1"},"value":{"ref":"o/O@1"}}})", ""},
      {R"({"map":{"key":{"ref":"t/T@1"},"value":{"nat":{}}}})", "/a/map/key type.invalid"},
      {R"({"map":{"key":{"ref":"o/O@1"},"value":{"nat":{}}}})", "/a/map/key type.invalid"},
  };
  for (const auto& [type, faults] : kFaults)
    EXPECT_EQ(resolve_faults(std::string(R"({"a/A@1":)") + type + kRest), faults) << type;
}

std::string chain(size_t length) {
  std::string out = R"({"s0/S@1":{"nat":{}})";
  for (size_t i = 1; i < length; ++i)
    out += R"(,"s)" + std::to_string(i) + R"(/S@1":{"record":{"l":{"ref":"s)" +
           std::to_string(i - 1) + R"(/S@1"},"r":{"ref":"s)" + std::to_string(i - 1) +
           R"(/S@1"}}})";
  return out + "}";
}

// Each names the one before twice: written out, the last would fill any memory.
TEST(ResolveTypes, SharedSchemasAreNotWrittenOut) {
  EXPECT_EQ(resolve_faults(chain(32)), "");
  EXPECT_EQ(resolve_faults(chain(33)), "/s32 type.invalid");
  EXPECT_EQ(resolve_faults(chain(60)), "/s32 type.invalid");
  EXPECT_TRUE(resolve_faults(chain(20'000)).starts_with("/s32 type.invalid | /s65 "));
}

TEST(ResolveTypes, ATypeOutsideTheTableFindsWhatIsInIt) {
  const Type type = type_of(R"({"record":{"hosts":{"option":{"ref":"a/Hosts@1"}}}})",
                            R"({"a/Hosts@1":{"set":{"text":{}}}})");
  EXPECT_EQ(json_to_hex(type, R"({"hosts":["b","a"]})"), "a165686f7374738261616162");
  Types types;
  std::vector<Complaint> faults;
  Type unknown;
  unknown.kind = TypeKind::Ref;
  unknown.ref = "a/Hosts@1";
  types.resolve(unknown, "/nodes/0/schema", faults);
  EXPECT_EQ(told(faults), "/nodes/0/schema/ref ref.unknown");
}

}  // namespace
}  // namespace pawl::worlds
