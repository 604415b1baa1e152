#include "plan/source.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

// The tree as JSON, or the first fault with its line.
std::string read(std::string_view text) {
  const Source source = read_source(text, {});
  if (source.faults.empty()) return source.value.json();
  return "line " + std::to_string(source.faults[0].line) + ": " + source.faults[0].message;
}

TEST(Source, YamlScalarsAreThoseOfTheCoreSchema) {
  EXPECT_EQ(read("[1, -2, 0x10, 0o17, 1.5, 1e3, .5, true, False, null, ~, yes, 2020-01-01, '5', "
                 "\"true\"]"),
            R"([1,-2,16,15,1.5,1000.0,0.5,true,false,null,null,"yes","2020-01-01","5","true"])");
  EXPECT_EQ(read("a: !!str 5\nb: !!int '7'\nc:\n"), R"({"a":"5","b":7,"c":null})");
  EXPECT_EQ(read("[.inf, .nan, 1_000, 99999999999999999999, +5, --5, 0x, 1e999]"),
            R"([".inf",".nan","1_000",1e+20,5,"--5","0x","1e999"])");
}

TEST(Source, AnchorsAliasesAndMerges) {
  EXPECT_EQ(read("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n"),
            R"({"a":{"k":1,"l":2},"b":{"l":3,"k":1},"c":{"k":1,"l":2}})");
  EXPECT_EQ(read("a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}\n"),
            R"({"a":{"k":1},"b":{"k":2,"m":3},"c":{"k":1,"m":3}})");
  EXPECT_EQ(read("a: &x [*x]\n"), "line 1: YAML: an alias inside of what it stands for");
  EXPECT_EQ(read("a: {<<: 5}\n"), "line 1: YAML: << takes a map or a list of maps");
}

TEST(Source, WhatIsNoDocumentSaysWhere) {
  EXPECT_EQ(read(""), "line 0: there is no definition: the text is empty");
  EXPECT_EQ(read("# only a comment\n"), "line 0: there is no definition: the document is empty");
  EXPECT_EQ(read("a: 1\nb: [1\n").substr(0, 6), "line 3");
  EXPECT_EQ(read("a: 1\n---\nb: 2\n"), "line 0: the text holds more than one document");
  EXPECT_EQ(read("a: 1\na: 2\n"), "line 2: YAML: the key \"a\" is there twice");
  EXPECT_EQ(read("{\"a\": 1,\n \"a\": 2}"), "line 2: the key \"a\" is there twice");
  EXPECT_EQ(read("a: 1\nb: \xff\n"), "line 2: the text is not UTF-8");
  EXPECT_EQ(read("? [a]\n: 1\n"), "line 1: YAML: a key must be text");
  EXPECT_EQ(read("a: !thing 5\n"), "line 1: YAML: the tag \"!thing\" does not fit here");
}

TEST(Source, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_EQ(read("\xef\xbb\xbf{\"a\": 1}"), R"({"a":1})");
}

TEST(Source, DepthIsBounded) {
  EXPECT_EQ(read(std::string(100'000, '[')).substr(0, 5), "line ");
  std::string deep = "a: ";
  for (int i = 0; i < 200; ++i) deep += "[";
  for (int i = 0; i < 200; ++i) deep += "]";
  EXPECT_EQ(read(deep), "line 1: YAML: values are nested too deeply");
  std::string json = "{\"a\":";
  for (int i = 0; i < 200; ++i) json += "[";
  for (int i = 0; i < 200; ++i) json += "]";
  EXPECT_NE(read(json + "}").find("JSON"), std::string::npos);
}

TEST(Source, LargeTextMustBeJson) {
  const std::string filler(2u << 20, ' ');
  EXPECT_EQ(read("{\"a\": 1" + filler + "}"), R"({"a":1})");
  EXPECT_EQ(read("a: 1" + filler), "line 0: YAML is read up to 1048576 bytes");
}

TEST(Source, AliasesCannotUnfoldWithoutBound) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(read(text).find("more than 1000000 values"), std::string::npos);

  std::string wide = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 1000; ++i) wide += ", *a";
  EXPECT_NE(read(wide + "]\n").find("more than 1000000 values"), std::string::npos);
}

}  // namespace
}  // namespace pawl::plan
