#include "worlds/types_for.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace pawl::worlds {
namespace {

constexpr std::string_view kShopNodes = R"([
  {"$kind":"defschema","name":"shop/Input@1","type":{"variant":{
     "Order":{"ref":"shop/Order@1"},"Stop":{"unit":{}},"Receipt":{"ref":"sys/EffectError@1"}}}},
  {"$kind":"defschema","name":"shop/Order@1","type":{"record":{"class":{"nat":{}},
     "at":{"option":{"record":{"street_no":{"text":{}}}}},"notes":{"map":{"key":{"text":{}},"value":{"list":{"int":{}}}}}}}},
  {"$kind":"defmodule","name":"shop/m@1"}])";

std::string declared(std::string_view nodes, ModuleLanguage language) {
  const auto doc = json::parse(nodes);
  if (!doc.ok()) return "no JSON: " + doc.error().message;
  const auto text = types_for(doc->root(), language);
  return text.ok() ? *text : "error: " + text.error().message;
}

size_t place(const std::string& text, std::string_view part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, text.npos) << part << "\nin\n" << text;
  return at;
}

TEST(TypesFor, CppDeclaresATypeAfterThoseItNeeds) {
  const std::string text = declared(kShopNodes, ModuleLanguage::Cpp);
  EXPECT_LT(place(text, "struct OrderAt {"), place(text, "struct Order {"));
  EXPECT_LT(place(text, "struct Order {"), place(text, "struct Input {"));
  EXPECT_LT(place(text, "struct EffectError {"), place(text, "struct Input {"));
  place(text, "  pawl::Option<OrderAt> at{};");
  place(text, "  uint64_t class_{};");  // a word of the language
  place(text, "read(value[\"class\"], into.class_);");
  place(text, "  pawl::Pairs<pawl::Text, pawl::Array<int64_t>> notes{};");
  EXPECT_EQ(text.find("as_Stop"), text.npos) << "a unit has nothing in it";
}

TEST(TypesFor, RustHasEnumsForVariants) {
  const std::string text = declared(kShopNodes, ModuleLanguage::Rust);
  place(text, "pub enum Input {\n    Stop,\n    Order(Order),\n    Receipt(EffectError),\n}");
  place(text, "    pub notes: BTreeMap<String, Vec<i64>>,");
  place(text, "    pub at: Option<OrderAt>,");
}

TEST(TypesFor, TypeScriptHasAFunctionPairForEachShape) {
  const std::string text = declared(kShopNodes, ModuleLanguage::Ts);
  EXPECT_LT(place(text, "function read_list_i64("), place(text, "export function read_Order("));
  place(text, "function encode_map_string_list_i64(value: Map<string, Array<i64>>): Encoded {");
  place(text, "  into.notes = read_map_string_list_i64(value.get(\"notes\"));");
}

TEST(TypesFor, EqualNamesAreToldApartByNamespaceAndVersion) {
  const std::string text = declared(
      R"([{"$kind":"defschema","name":"a/X@1","type":{"record":{}}},
          {"$kind":"defschema","name":"a/X@2","type":{"record":{}}},
          {"$kind":"defschema","name":"b.c/X@1","type":{"record":{}}}])",
      ModuleLanguage::Rust);
  place(text, "pub struct AXV1 {");
  place(text, "pub struct AXV2 {");
  place(text, "pub struct BCXV1 {");
}

TEST(TypesFor, ABrokenSchemaIsRefused) {
  EXPECT_EQ(declared(R"([{"$kind":"defschema","name":"a/X@1","type":{"float":{}}}])",
                     ModuleLanguage::Cpp)
                .substr(0, 37),
            "error: the schema a/X@1 is not valid:");
  EXPECT_EQ(declared(R"([{"$kind":"defschema","name":"a/X@1","type":{"ref":"a/Y@1"}}])",
                     ModuleLanguage::Cpp)
                .substr(0, 17),
            "error: the schema");
}

}  // namespace
}  // namespace pawl::worlds
