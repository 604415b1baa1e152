#include "actions/blotter.h"

#include <gtest/gtest.h>

#include "actions/value_text.h"

namespace pawl::actions {
namespace {

Blotter of(const std::vector<std::string>& texts) {
  std::vector<expr::Secret> secrets;
  for (const std::string& text : texts) secrets.push_back({"$", text});
  return Blotter(secrets);
}

std::string blotted(const Blotter& blotter, std::string_view json) {
  Value value = std::move(Value::parse(json)).value();
  blotter.value(value);
  return value.json();
}

TEST(Blotter, FindsTheSecretAndItsSpellings) {
  Blotter blotter = of({"p\"ss/w rd+1"});
  EXPECT_EQ(blotter.text("it is p\"ss/w rd+1!"), "it is ***!");
  EXPECT_EQ(blotter.text(R"({"a":"p\"ss/w rd+1"})"), R"({"a":"***"})");
  EXPECT_EQ(blotter.text("?q=p%22ss%2Fw%20rd%2B1&"), "?q=***&");
  EXPECT_EQ(blotter.text("P\"SS/W RD+1"), "***");
  EXPECT_EQ(blotter.text("702273732f772072642b31"), "***");
  EXPECT_EQ(blotter.text("702273732F772072642B31"), "***");
}

// Whatever stands before and behind it moves the bits that a base64 character holds.
TEST(Blotter, FindsBase64AtEveryAlignment) {
  const std::string secret = "correct-horse-battery-staple";
  Blotter blotter = of({secret});
  for (const char* before : {"", "u", "us", "user:", "me@example.org:"})
    for (const char* behind : {"", "x", "\n", "and more"}) {
      std::string told =
          blotter.text("Basic " + actions::base64(std::string(before) + secret + behind));
      EXPECT_NE(told.find("***"), std::string::npos) << before << behind;
      EXPECT_LT(told.size(), 45u) << told;
    }
}

TEST(Blotter, FindsItInEveryPlaceOfAValue) {
  EXPECT_EQ(blotted(of({"hunter2"}), R"({"a":["x hunter2",{"hunter2":1}],"b":true,"n":null})"),
            R"({"a":["x ***",{"***":1}],"b":true,"n":null})");
}

// A command that prints a secret of digits has a number as its output.
TEST(Blotter, ANumberThatIsASecretIsNone) {
  EXPECT_EQ(blotted(of({"4711081542"}), "[4711081542,47110815421,4711]"),
            R"(["***",47110815421,4711])");
  EXPECT_EQ(blotted(of({"200"}), "[200]"), "[200]");  // too short to be told from a status
}

TEST(Blotter, LinesOfASecretAndTheSecretWithoutItsLastNewlineCount) {
  Blotter blotter = of({"-----BEGIN KEY-----\nMIIEvQIBADANBg\n}\n", "token-with-newline\n"});
  EXPECT_EQ(blotter.text("  MIIEvQIBADANBg  }"), "  ***  }");
  EXPECT_EQ(blotter.text("token-with-newline"), "***");
}

TEST(Blotter, ShortSecretsAreLeftAlone) {
  Blotter blotter = of({"", "a", "ab", " \n "});
  EXPECT_EQ(blotter.text("abacus"), "abacus");
  EXPECT_TRUE(of({}).empty());
}

}  // namespace
}  // namespace pawl::actions
