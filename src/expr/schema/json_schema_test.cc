#include "expr/schema/json_schema.h"

#include <gtest/gtest.h>

namespace pawl::expr {
namespace {

std::shared_ptr<const JsonSchema> compiled(std::string_view schema) {
  const auto parsed = Value::parse(schema);
  EXPECT_TRUE(parsed.ok()) << schema;
  if (!parsed.ok()) return nullptr;
  const auto result = JsonSchema::compile(*parsed);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *result : nullptr;
}

// "valid", or "path keyword" of each fault.
std::string verdict(std::string_view schema, std::string_view instance) {
  const auto compiled_schema = compiled(schema);
  const auto value = Value::parse(instance);
  EXPECT_TRUE(value.ok()) << instance;
  if (compiled_schema == nullptr || !value.ok()) return "broken test";
  std::string out;
  for (const SchemaFault& fault : compiled_schema->check(*value)) {
    if (!out.empty()) out += ", ";
    out += fault.path + (fault.path.empty() ? "" : " ") + fault.keyword;
  }
  return out.empty() ? "valid" : out;
}

std::string schema_refusal(std::string_view schema) {
  const auto parsed = Value::parse(schema);
  EXPECT_TRUE(parsed.ok()) << schema;
  const auto result = JsonSchema::compile(*parsed);
  return result.ok() ? "accepted" : result.error().message;
}

std::string filled(std::string_view schema, std::string_view instance) {
  Value value = *Value::parse(instance);
  compiled(schema)->fill_defaults(value);
  return value.json();
}

struct SchemaCase {
  const char* schema;
  const char* instance;
  const char* verdict;
};

void expect_all_schemas(std::initializer_list<SchemaCase> cases) {
  for (const SchemaCase& each : cases)
    EXPECT_EQ(verdict(each.schema, each.instance), each.verdict)
        << each.schema << " on " << each.instance;
}

TEST(JsonSchema, BooleanSchemas) {
  expect_all_schemas({{"true", "1", "valid"}, {"false", "1", "false"}, {"{}", "[null]", "valid"}});
}

TEST(JsonSchema, Type) {
  expect_all_schemas({
      {R"({"type":"null"})", "null", "valid"},
      {R"({"type":"null"})", "0", "type"},
      {R"({"type":"boolean"})", "false", "valid"},
      {R"({"type":"boolean"})", "\"false\"", "type"},
      {R"({"type":"integer"})", "7", "valid"},
      {R"({"type":"integer"})", "7.0", "valid"},
      {R"({"type":"integer"})", "1e300", "valid"},
      {R"({"type":"integer"})", "7.5", "type"},
      {R"({"type":"number"})", "7", "valid"},
      {R"({"type":"number"})", "\"7\"", "type"},
      {R"({"type":"string"})", "\"\"", "valid"},
      {R"({"type":"string"})", "[]", "type"},
      {R"({"type":"array"})", "[]", "valid"},
      {R"({"type":"array"})", "{}", "type"},
      {R"({"type":"object"})", "{}", "valid"},
      {R"({"type":"object"})", "null", "type"},
      {R"({"type":["string","null"]})", "null", "valid"},
      {R"({"type":["string","null"]})", "1", "type"},
  });
}

TEST(JsonSchema, EnumAndConst) {
  expect_all_schemas({
      {R"({"enum":["a",1,null,{"k":[1]}]})", "1.0", "valid"},
      {R"({"enum":["a",1,null,{"k":[1]}]})", R"({"k":[1]})", "valid"},
      {R"({"enum":["a",1,null,{"k":[1]}]})", "false", "enum"},
      {R"({"enum":[]})", "1", "enum"},
      {R"({"const":{"a":1,"b":2}})", R"({"b":2,"a":1})", "valid"},
      {R"({"const":0})", "false", "const"},
      {R"({"const":null})", "null", "valid"},
  });
}

TEST(JsonSchema, Numbers) {
  expect_all_schemas({
      {R"({"minimum":1.5})", "1.5", "valid"},
      {R"({"minimum":1.5})", "1", "minimum"},
      {R"({"maximum":3})", "3", "valid"},
      {R"({"maximum":3})", "3.01", "maximum"},
      {R"({"maximum":9007199254740992})", "9007199254740993", "maximum"},
      {R"({"exclusiveMinimum":0})", "1", "valid"},
      {R"({"exclusiveMinimum":0})", "0", "exclusiveMinimum"},
      {R"({"exclusiveMaximum":10})", "9.9", "valid"},
      {R"({"exclusiveMaximum":10})", "10", "exclusiveMaximum"},
      {R"({"minimum":1})", "\"a string has no size\"", "valid"},
      {R"({"multipleOf":3})", "-9", "valid"},
      {R"({"multipleOf":3})", "7", "multipleOf"},
      {R"({"multipleOf":0.01})", "19.99", "valid"},
      {R"({"multipleOf":0.0001})", "0.0075", "valid"},
      {R"({"multipleOf":0.0001})", "0.00751", "multipleOf"},
      {R"({"multipleOf":0.5})", "1e308", "valid"},
      {R"({"multipleOf":0.123456789})", "1e308", "multipleOf"},
      {R"({"multipleOf":1e-300})", "1e300", "valid"},
      {R"({"multipleOf":1e300})", "5", "multipleOf"},
  });
}

TEST(JsonSchema, StringsCountCodePoints) {
  expect_all_schemas({
      {R"({"minLength":2})", R"("äö")", "valid"},
      {R"({"minLength":2})", R"("💩")", "minLength"},
      {R"({"maxLength":2})", R"("💩💩")", "valid"},
      {R"({"maxLength":2})", R"("abc")", "maxLength"},
      {R"({"maxLength":2})", "12345", "valid"},
      {R"({"pattern":"^a+$"})", R"("aaa")", "valid"},
      {R"({"pattern":"^a+$"})", R"("aab")", "pattern"},
      {R"({"pattern":"b"})", R"("aab")", "valid"},
      {R"({"pattern":"^\\u00e4(?<x>b)$"})", R"("äb")", "valid"},
  });
}

TEST(JsonSchema, Arrays) {
  expect_all_schemas({
      {R"({"items":{"type":"integer"}})", "[1,2]", "valid"},
      {R"({"items":{"type":"integer"}})", "[1,\"a\",2,\"b\"]", "[1] type, [3] type"},
      {R"({"prefixItems":[{"type":"string"}],"items":false})", R"(["a"])", "valid"},
      {R"({"prefixItems":[{"type":"string"}],"items":false})", R"(["a",1])", "[1] false"},
      {R"({"prefixItems":[{"type":"string"}]})", R"([1,1])", "[0] type"},
      {R"({"contains":{"const":1}})", "[0,1]", "valid"},
      {R"({"contains":{"const":1}})", "[0]", "contains"},
      {R"({"contains":{"const":1},"minContains":2})", "[1,1]", "valid"},
      {R"({"contains":{"const":1},"minContains":2})", "[1]", "minContains"},
      {R"({"contains":{"const":1},"minContains":0})", "[]", "valid"},
      {R"({"contains":{"const":1},"maxContains":1})", "[1,2]", "valid"},
      {R"({"contains":{"const":1},"maxContains":1})", "[1,1]", "maxContains"},
      {R"({"minItems":1})", "[1]", "valid"},
      {R"({"minItems":1})", "[]", "minItems"},
      {R"({"maxItems":1})", "[1]", "valid"},
      {R"({"maxItems":1})", "[1,2]", "maxItems"},
      {R"({"uniqueItems":true})", R"([1,"1",true,[1],{"a":1}])", "valid"},
      {R"({"uniqueItems":true})", R"([{"a":1,"b":2},{"b":2,"a":1.0}])", "uniqueItems"},
      {R"({"uniqueItems":true})", "[1,2,1.0]", "uniqueItems"},
      {R"({"uniqueItems":false})", "[1,1]", "valid"},
  });
}

TEST(JsonSchema, Objects) {
  expect_all_schemas({
      {R"({"properties":{"a":{"type":"string"}}})", R"({"a":"x","b":1})", "valid"},
      {R"({"properties":{"a":{"type":"string"}}})", R"({"a":1})", "a type"},
      {R"({"patternProperties":{"^x-":{"type":"integer"}}})", R"({"x-a":1,"y":"s"})", "valid"},
      {R"({"patternProperties":{"^x-":{"type":"integer"}}})", R"({"x-a":"s"})", "x-a type"},
      {R"({"properties":{"a":true},"patternProperties":{"^x":true},"additionalProperties":false})",
       R"({"a":1,"xy":2})", "valid"},
      {R"({"properties":{"a":true},"additionalProperties":false})", R"({"a":1,"b":2})", "b false"},
      {R"({"additionalProperties":{"type":"integer"}})", R"({"a":1,"b":"2"})", "b type"},
      {R"({"propertyNames":{"maxLength":2}})", R"({"ab":1})", "valid"},
      {R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})", "abc maxLength"},
      {R"({"required":["a","b"]})", R"({"a":null,"b":1})", "valid"},
      {R"({"required":["a","b"]})", R"({"c":1})", "a required, b required"},
      {R"({"dependentRequired":{"card":["street"]}})", R"({"card":1,"street":2})", "valid"},
      {R"({"dependentRequired":{"card":["street"]}})", R"({"card":1})", "street dependentRequired"},
      {R"({"dependentRequired":{"card":["street"]}})", R"({})", "valid"},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1,"b":2})", "valid"},
      {R"({"dependentSchemas":{"a":{"required":["b"]}}})", R"({"a":1})", "b required"},
      {R"({"minProperties":1})", R"({"a":1})", "valid"},
      {R"({"minProperties":1})", "{}", "minProperties"},
      {R"({"maxProperties":1})", R"({"a":1})", "valid"},
      {R"({"maxProperties":1})", R"({"a":1,"b":2})", "maxProperties"},
  });
}

TEST(JsonSchema, Combinations) {
  expect_all_schemas({
      {R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "3", "valid"},
      {R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "2.5", "type, minimum"},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", "\"s\"", "valid"},
      {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", "2", "anyOf"},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", "4", "valid"},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", "6", "oneOf"},
      {R"({"oneOf":[{"multipleOf":2},{"multipleOf":3}]})", "5", "oneOf"},
      {R"({"not":{"type":"string"}})", "1", "valid"},
      {R"({"not":{"type":"string"}})", "\"s\"", "not"},
      {R"({"if":{"minimum":10},"then":{"multipleOf":10},"else":{"maximum":5}})", "20", "valid"},
      {R"({"if":{"minimum":10},"then":{"multipleOf":10},"else":{"maximum":5}})", "11",
       "multipleOf"},
      {R"({"if":{"minimum":10},"then":{"multipleOf":10},"else":{"maximum":5}})", "7", "maximum"},
      {R"({"then":false,"else":false})", "7", "valid"},
  });
}

TEST(JsonSchema, References) {
  expect_all_schemas({
      {R"({"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}})", "[1]", "valid"},
      {R"({"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}})", "[\"\"]", "[0] type"},
      {R"({"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"integer"}}})", "3", "minimum"},
      {R"({"$ref":"#pos","$defs":{"p":{"$anchor":"pos","minimum":0}}})", "-1", "minimum"},
      {R"({"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{"type":"null"}}})", "1", "type"},
      {R"({"$id":"http://x.example/root","$ref":"item",
           "$defs":{"i":{"$id":"item","$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}}})",
       "\"s\"", "type"},
      {R"({"$id":"http://x.example/a/b","$ref":"../c#top",
           "$defs":{"i":{"$id":"/c","$anchor":"top","type":"null"}}})",
       "null", "valid"},
      {R"({"$ref":"#/odd/place","odd":{"place":{"type":"string"}}})", "1", "type"},
      {R"({"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}})",
       R"({"v":1,"next":{"v":2,"next":{"v":"x"}}})", "next.next.v type"},
  });
}

TEST(JsonSchema, DynamicRefFindsTheOutermostAnchor) {
  const char* tree = R"({"$id":"http://x.example/strict","$dynamicAnchor":"node",
    "$ref":"tree","unevaluatedProperties":false,
    "$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","type":"object",
      "properties":{"data":true,"children":{"items":{"$dynamicRef":"#node"}}}}}})";
  expect_all_schemas({{tree, R"({"children":[{"data":1}]})", "valid"},
                      {tree, R"({"children":[{"daat":1}]})", "children[0].daat false"}});
}

TEST(JsonSchema, Unevaluated) {
  const char* properties = R"({"allOf":[{"properties":{"a":true}}],
      "anyOf":[{"properties":{"b":{"const":1}},"required":["b"]},{"required":["a"]}],
      "unevaluatedProperties":false})";
  const char* items = R"({"prefixItems":[true],"contains":{"const":"x"},"unevaluatedItems":false})";
  expect_all_schemas({
      {properties, R"({"a":1,"b":1})", "valid"},
      {properties, R"({"a":1,"b":2})", "b false"},
      {items, R"([1,"x","x"])", "valid"},
      {items, R"([1,"x",2])", "[2] false"},
      {R"({"if":{"properties":{"k":{"const":"a"}},"required":["k"]},
           "then":{"properties":{"x":true}},"unevaluatedProperties":false})",
       R"({"k":"a","x":1})", "valid"},
      {R"({"if":{"properties":{"k":{"const":"a"}},"required":["k"]},
           "then":{"properties":{"x":true}},"unevaluatedProperties":false})",
       R"({"x":1})", "x false"},
      {R"({"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false})", R"({"a":1})",
       "a false"},
      {R"({"unevaluatedProperties":{"type":"integer"}})", R"({"a":1,"b":"s"})", "b type"},
  });
}

TEST(JsonSchema, Draft07Spellings) {
  expect_all_schemas({
      {R"({"definitions":{"n":{"type":"integer"}},"$ref":"#/definitions/n"})", "1.5", "type"},
      {R"({"items":[{"type":"string"}],"additionalItems":{"type":"integer"}})", R"(["a",1])",
       "valid"},
      {R"({"items":[{"type":"string"}],"additionalItems":false})", R"(["a",1])", "[1] false"},
      {R"({"dependencies":{"a":["b"],"c":{"required":["d"]}}})", R"({"a":1,"c":1})",
       "b dependentRequired, d required"},
      {R"({"$ref":"#foo","definitions":{"x":{"$id":"#foo","type":"null"}}})", "0", "type"},
  });
}

void expect_format(const char* format, std::initializer_list<const char*> good,
                   std::initializer_list<const char*> bad) {
  const auto schema = compiled(std::string(R"({"format":")") + format + "\"}");
  for (const char* text : good)
    EXPECT_TRUE(schema->check(Value(text)).empty()) << format << " " << text;
  for (const char* text : bad)
    EXPECT_EQ(schema->check(Value(text)).size(), 1u) << format << " " << text;
  EXPECT_TRUE(schema->check(Value(12)).empty());
}

TEST(JsonSchema, FormatsOfTime) {
  expect_format("date-time",
                {"2024-02-29T12:00:00Z", "1990-12-31T23:59:60Z", "1990-12-31T15:59:60.123-08:00",
                 "2024-01-01t00:00:00.5+01:00"},
                {"2023-02-29T12:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01 00:00:00Z",
                 "2024-01-01T00:00:00", "1998-12-31T23:58:60Z", "2024-01-01T00:00:00.Z", ""});
  expect_format("date", {"2024-12-31"}, {"2024-13-01", "2024-1-01", "2024-04-31", "20240101"});
  expect_format("time", {"12:34:56Z", "12:34:56.1+05:30"}, {"12:34:56", "25:00:00Z", "1:2:3Z"});
  expect_format("duration", {"P1Y2M3DT4H5M6S", "PT36H", "P4W", "P1D", "P1YT1S", "PT1M"},
                {"P", "PT", "P1", "P1Y2D", "P2D1Y", "P1W2D", "1D", "PT1D", "P1YT", "PT1H1S"});
}

TEST(JsonSchema, FormatsOfTheNetwork) {
  expect_format("email",
                {"joe.bloggs@example.com", "te~st@ex-1.org", "\"joe b\"@x.org", "joe@[127.0.0.1]",
                 "joe@[IPv6:::1]"},
                {"joe", "@x.org", ".a@x.org", "a..b@x.org", "a@-x.org", "a@[1.2.3]", "a b@x.org"});
  expect_format("hostname", {"www.example.com", "a", "xn--4gbwdl.xn--wgbh1c", "1.2"},
                {"", "-a.com", "a-.com", "a..b", "a_b.com", "ex ample",
                 "a234567890123456789012345678901234567890123456789012345678901234.com"});
  expect_format("ipv4", {"192.168.0.1", "0.0.0.0"},
                {"256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4.5", "0x7f.0.0.1", "1.2.3.4 "});
  expect_format("ipv6", {"::1", "::", "12:34:56:78:9a:bc:de:f0", "::ffff:1.2.3.4", "1::"},
                {"12345::", "1:2:3", "1::2::3", "1:2:3:4:5:6:7:8:9", "::1%eth0", ":1",
                 "1:", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8::"});
  expect_format(
      "uri",
      {"http://a.b/c?d=e#f", "urn:x:y", "mailto:a@b", "http://[::1]:80/", "http://u:p@h:80/%20"},
      {"/a/b", "a", "http://a b", "http://x/%zz", "http://[::1", "ht~tp://x", "\\\\x"});
  expect_format("uri-reference", {"/a/b", "../c#d", "", "?q", "http://x"},
                {"a b", "\\x", "a:b\"c"});
}

TEST(JsonSchema, OtherFormats) {
  expect_format("uuid", {"2EB8AA08-aa98-11ea-b4aa-73b441d16380"},
                {"2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380"});
  expect_format("json-pointer", {"", "/a~0b/c~1", "/"}, {"a", "/~2", "/~", "#/a"});
  expect_format("regex", {"^a[bc]+$"}, {"(", "(?=a)"});
  expect_format("shoe-size", {"anything"}, {});
}

TEST(JsonSchema, FaultsSayWhereAndWhat) {
  const auto schema = compiled(R"({"type":"object","properties":{"order":{"properties":{"items":
      {"items":{"properties":{"price":{"type":"number","minimum":0}},"required":["sku"]}}}}}})");
  const Value instance =
      *Value::parse(R"({"order":{"items":[{"sku":1},{"sku":2},{"price":-1}]},"a.b":1})");
  const auto faults = schema->check(instance);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].path, "order.items[2].sku");
  EXPECT_EQ(faults[0].message, "is required");
  EXPECT_EQ(faults[1].path, "order.items[2].price");
  EXPECT_EQ(faults[1].message, "must be at least 0");
  EXPECT_EQ(schema->check(instance, 1).size(), 1u);
  EXPECT_EQ(
      verdict(R"({"additionalProperties":{"additionalProperties":false}})", R"({"a.b":{"":1}})"),
      R"(["a.b"][""] false)");
}

TEST(JsonSchema, RefusesWhatIsNoSchema) {
  EXPECT_EQ(schema_refusal("1"), "schema at #: a schema must be an object, true or false");
  EXPECT_EQ(schema_refusal(R"({"properties":{"a/b":{"type":"strnig"}}})"),
            "schema at #/properties/a~1b/type: must be null, boolean, integer, number, string, "
            "array or object, or an array of these");
  for (const char* schema : {R"({"minLength":-1})",
                             R"({"maxItems":1.5})",
                             R"({"minimum":"1"})",
                             R"({"multipleOf":0})",
                             R"({"required":"a"})",
                             R"({"required":[1]})",
                             R"({"properties":[]})",
                             R"({"allOf":[]})",
                             R"({"enum":1})",
                             R"({"uniqueItems":1})",
                             R"({"$ref":1})",
                             R"({"$ref":"#/nowhere"})",
                             R"({"$ref":"#nowhere"})",
                             R"({"pattern":"("})",
                             R"({"patternProperties":{"(":true}})",
                             R"({"format":1})",
                             R"({"$id":1})",
                             R"({"$defs":{"a":1}})",
                             R"({"items":[1]})",
                             R"({"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}})"}) {
    EXPECT_EQ(schema_refusal(schema).substr(0, 11), "schema at #") << schema;
  }
  EXPECT_NE(schema_refusal(R"({"$ref":"http://example.com/s"})").find("nothing is fetched"),
            std::string::npos);
  EXPECT_NE(schema_refusal(R"~({"pattern":"a(?!b)"})~").find("look-ahead"), std::string::npos);
  EXPECT_NE(schema_refusal(R"~({"pattern":"(a)\\1"})~").find("back reference"), std::string::npos);
}

TEST(JsonSchema, WorkIsBounded) {
  const char* given_up = "the check was given up: it nests too deep or takes too many steps";
  const auto endless = compiled(R"({"$ref":"#"})");
  ASSERT_EQ(endless->check(Value(1)).size(), 1u);
  EXPECT_EQ(endless->check(Value(1))[0].message, given_up);
  EXPECT_EQ(compiled(R"({"not":{"$ref":"#"}})")->check(Value(1))[0].message, given_up);
  std::string doubling = R"({"$defs":{"d0":true)";
  for (int i = 1; i < 60; ++i) {
    const std::string before = std::to_string(i - 1);
    doubling += ",\"d" + std::to_string(i) + R"(":{"allOf":[{"$ref":"#/$defs/d)" + before +
                R"("},{"$ref":"#/$defs/d)" + before + R"("}]})";
  }
  doubling += R"(},"$ref":"#/$defs/d59"})";
  EXPECT_EQ(compiled(doubling)->check(Value(1))[0].message, given_up);
}

TEST(JsonSchema, FillsDefaults) {
  EXPECT_EQ(filled(R"({"properties":{"a":{"default":1},"b":{"default":2}}})", R"({"b":null})"),
            R"({"b":null,"a":1})");
  EXPECT_EQ(
      filled(R"({"properties":{"o":{"default":{},"properties":{"x":{"default":[]}}}}})", "{}"),
      R"({"o":{"x":[]}})");
  EXPECT_EQ(filled(R"({"items":{"$ref":"#/$defs/i"},
                       "$defs":{"i":{"properties":{"n":{"$ref":"#/$defs/d"}}},"d":{"default":7}}})",
                   R"([{},{"n":1},3])"),
            R"([{"n":7},{"n":1},3])");
  EXPECT_EQ(filled(R"({"allOf":[{"properties":{"a":{"default":1}}}],
                       "anyOf":[{"properties":{"b":{"default":1}}}]})",
                   "{}"),
            R"({"a":1})");
  EXPECT_EQ(filled(R"({"default":{"a":1}})", "null"), "null");
  const std::string wild = filled(
      R"({"properties":{"a":{"$ref":"#","default":{}},"b":{"$ref":"#","default":{}}}})", "{}");
  EXPECT_LT(wild.size(), 4'000'000u);
}

}  // namespace
}  // namespace pawl::expr
