#include "actions/blotter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>

#include "actions/testing/blotter_reference.h"
#include "base/base64.h"
#include "base/hash.h"

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

// The bytes around it shift the bits that a base64 character holds.
TEST(Blotter, FindsBase64AtEveryAlignment) {
  const std::string secret = "correct-horse-battery-staple";
  Blotter blotter = of({secret});
  for (const char* before : {"", "u", "us", "user:", "me@example.org:"})
    for (const char* behind : {"", "x", "\n", "and more"}) {
      std::string told = blotter.text("Basic " + base64(std::string(before) + secret + behind));
      EXPECT_NE(told.find("***"), std::string::npos) << before << behind;
      EXPECT_LT(told.size(), 45u) << told;
    }
}

// Programs differ in the characters they escape.
TEST(Blotter, FindsItHoweverItsCharactersAreEscaped) {
  Blotter blotter = of({"p\"a/b&c <\xc3\xa9> 50%\\x"});
  for (const char* spelt :
       {R"(p\"a\/b&c <\u00e9> 50%\\x)", R"(p\u0022a/b\u0026c \u003c\u00E9\u003e 50\u0025\\x)",
        "p%22a%2fb%26c%20%3c%c3%a9%3e%2050%25%5cx", "p%22a%2Fb%26c+%3C%C3%A9%3E+50%25%5Cx",
        "p&quot;a/b&amp;c &lt;\xc3\xa9&gt; 50%\\x", "p&#34;a&#x2F;b&#38;c &#60;&#233;&#x3e; 50%\\x",
        "p\"a/b&c <\?\?> 50%\\x"})
    EXPECT_EQ(blotter.text("<" + std::string(spelt) + ">"), "<***>") << spelt;
  EXPECT_EQ(of({"\xf0\x9f\x94\x91-key"}).text(R"("\ud83d\udd11-key")"), R"("***")");
}

TEST(Blotter, FindsQuotedAndOctalSpellings) {
  Blotter blotter = of({"it's \"\xc3\xa9\" x"});
  for (const char* spelt : {R"(it'\''s "\303\251" x)", "it''s \"\xc3\xa9\" x",
                            "it's \"\"\xc3\xa9\"\" x", R"(\151\164\047\163 \"\303\251\" x)"})
    EXPECT_EQ(blotter.text("<" + std::string(spelt) + ">"), "<***>") << spelt;
  EXPECT_EQ(of({"a''b''"}).text("(a''b'')"), "(***)");
}

// A JSON text inside a JSON text, and an address in the query of another.
TEST(Blotter, FindsItEscapedTwice) {
  Blotter blotter = of({"p\"a/b c"});
  EXPECT_EQ(blotter.text(base64("\"p\\\"a/b c\"") + " " + base64("p%22a%2fb%20c")),
            "In***Ig== ***w==");
  for (const char* spelt : {R"(p\\\"a/b c)", R"(p\\\"a\\/b c)", R"(p\\\"a\\\/b c)",
                            "p%2522a%252Fb%2520c", "p%2522a%252fb%2520c"})
    EXPECT_EQ(blotter.text("<" + std::string(spelt) + ">"), "<***>") << spelt;
}

TEST(Blotter, FindsHexAndBase64InLinesAndGroups) {
  const std::string secret(70, 'k');
  Blotter blotter = of({secret});
  std::string encoded = base64(secret);
  encoded.insert(76, "\n");
  EXPECT_EQ(blotter.text(encoded + "\n").find("tra2tr"), std::string::npos);
  EXPECT_EQ(of({"abc-def"}).text("00 61 62 63 2D 64\n65:66 00"), "00 *** 00");
  EXPECT_EQ(of({"\?\?>>\?\?>>"}).text("Pz8-Pj8_Pj4="), "***4=");  // the last sextet is not part of
                                                                  // the secret alone
}

// Messages quote and cut their input, so the complete secret may not be there to find.
TEST(Blotter, TheBeginningOfASecretIsEnoughInAMessage) {
  const std::string secret = "begin-of-a-very-long-secret-" + std::string(100, 'z');
  Blotter blotter = of({secret});
  EXPECT_EQ(blotter.message("no such file \"" + secret.substr(0, 64) + "…\""),
            "no such file \"***\"");
  EXPECT_EQ(blotter.message("'" + secret.substr(0, 9) + "'"), "'***'");
  EXPECT_EQ(blotter.message("to begin"), "to begin");
  EXPECT_EQ(blotter.text(secret.substr(0, 40)), secret.substr(0, 40));
}

// Messages repeat text of a definition, and known tokens begin alike: "***b" for a wrong guess and
// "***" for a right one would reveal the secret letter by letter.
TEST(Blotter, AMessageDoesNotTellHowMuchOfAGuessIsRight) {
  Blotter blotter = of({"sk_live_4eC39HqLyjWDarjtT1zdp7dc"});
  for (const char* guess : {"sk_live_", "sk_live_4", "sk_live_5", "sk_live_4eC", "sk_live_4eX"})
    EXPECT_EQ(blotter.message("header \"" + std::string(guess) + "\" cannot be sent"),
              "header \"***\" cannot be sent")
        << guess;
  EXPECT_EQ(blotter.message("736b5f6c 736b5f6d"), "736b5f6c 736b5f6d");  // four bytes of it
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
  Blotter blotter =
      of({"-----BEGIN KEY-----\nMIIEvQIBADANBg\nx1y2z3\n}\n", "token-with-newline\n"});
  EXPECT_EQ(blotter.text("  MIIEvQIBADANBg  }"), "  ***  }");
  EXPECT_EQ(blotter.text("x1y2z3 eDF5Mnoz"), "*** ***");
  EXPECT_EQ(blotter.text("token-with-newline"), "***");
}

// A command that prints it has its members, parsed, as an output.
TEST(Blotter, TextsInASecretThatIsJsonCount) {
  Blotter blotter = of(
      {R"({"id":"client-77","type":"bearer","keys":["k-1234-abcd","x"],"pem":"MIIEv1\nQIBAD2"})"});
  EXPECT_EQ(blotted(blotter, R"({"id":"client-77","keys":["k-1234-abcd","x"],"pem":"QIBAD2"})"),
            R"({"id":"***","keys":["***","x"],"pem":"***"})");
  EXPECT_EQ(blotter.text("bearer"), "bearer");
  EXPECT_EQ(of({R"("quoted-one")"}).text("quoted-one"), "***");
}

// A bundle of certificates: every line has many spellings, and an output may be large.
TEST(Blotter, ManyLinesDoNotMakeItSlow) {
  std::string bundle, text;
  for (int i = 0; i < 700; ++i)
    bundle += base64(sha256_hex(std::to_string(i))).substr(0, 64) + "\n";
  while (text.size() < 200'000) text += sha256_hex(std::to_string(text.size())) + " %41\\/ ";
  Blotter blotter = of({bundle});
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(blotter.text(text), text);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  EXPECT_EQ(blotter.text(bundle.substr(65 * 350, 64)), "***");
}

// Small alphabets of escapes and encodings, so that much text nearly matches a secret.
TEST(Blotter, FindsWhatTryingEverythingFinds) {
  std::mt19937 random(7);
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::vector<std::string>> alphabets = {
      {"a", "b"},
      {"a", "%61", "\\u0061", "&#97;", "6", "1", "%"},
      {"\\", "\\\\", "'", "''", "\"", "b", "'\\''"},
      {"\xc3\xa9", "%c3%a9", "\\u00e9", "%C3", "\xa9", "c", "3", "?"},
      {" ", "+", "%20", "%2b", "a", "\n", ":"},
      {"a", "A", "6", "1", "41", "61", "4", "Y", "W", "FhY", "\n", "=", "%0a"},
      {"&", "&amp;", "%26", "%2526", "amp;", "a"},
      {"/", "\\/", "%2F", "%2f", "-", "_", "Lw", "8", "v", "2f", "2F", ":"}};
  for (int round = 0; round < 1000; ++round) {
    const auto& alphabet = alphabets[below(alphabets.size())];
    auto some = [&](size_t max) {
      std::string out;
      for (size_t count = below(max); count > 0; --count) out += alphabet[below(alphabet.size())];
      return out;
    };
    std::vector<expr::Secret> secrets;
    for (size_t count = 1 + below(3); count > 0; --count)
      secrets.push_back({"$", some(below(8) == 0 ? 60 : 8)});
    const std::string& spelt = secrets[0].text;
    std::string text = some(60);
    if (below(2) == 0) text += spelt + some(20);
    if (below(4) == 0) text += base64(some(3) + spelt) + some(20);
    const Blotter blotter(secrets);
    const BlotterReference reference(secrets);
    Blotter::Effort effort;
    const std::string left = blotter.text(text, &effort), message = blotter.message(text, &effort);
    if (effort.gave_up) continue;
    ASSERT_EQ(left, reference.without(text, false)) << round << ": " << spelt << " in " << text;
    ASSERT_EQ(message, reference.without(text, true)) << round << ": " << spelt << " in " << text;
  }
}

std::string repeated(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

// For any contents: twice the secret and twice the text cost about twice as much.
TEST(Blotter, TheCostGrowsAsSecretAndTextDo) {
  struct Case {
    std::string secret, text;
    bool gives_up = false;
  };
  auto lines = [](size_t bytes, std::string_view before, size_t digits) {
    std::string out;
    for (size_t i = 1; out.size() < bytes; ++i) {
      std::string number = std::to_string(i);
      out += std::string(before) + std::string(digits - number.size(), '0') + number + "\n";
    }
    return out;
  };
  auto nested = [](size_t bytes) {
    std::string out;
    for (size_t i = 5; out.size() < bytes; ++i) out += std::string(i, 'a') + "\n";
    return out;
  };
  auto cases = [&](size_t n) {
    return std::map<std::string, Case>{
        {"as it is", {repeated("a", n) + "b", repeated("a", n)}},
        {"in its middle", {repeated("a", n / 2) + "b" + repeated("a", n / 2), repeated("a", n)}},
        {"percent", {repeated("a", n) + "b", repeated("%61", n)}},
        {"entities", {repeated("a", n) + "b", repeated("&#97;", n)}},
        {"percent, beginning inside", {"61" + repeated("a", n) + "b", repeated("%61", n)}},
        {"percent as it is", {repeated("%61", n) + "b", repeated("%61", n)}},
        {"percent of bytes", {repeated("\xc3\xa9", n) + "b", repeated("%C3%A9", n)}},
        {"backslashes", {repeated("\\", n) + "b", repeated("\\", n)}},
        {"quotes", {repeated("'", n) + "b", repeated("'", n)}},
        {"hex", {repeated("a", n) + "b", repeated("61", n)}},
        {"hex in groups", {repeated("a", n) + "b", repeated("61 ", n)}},
        {"base64", {repeated("a", n) + "b", repeated("YWFh", n)}},
        {"base64 in lines", {repeated("a", n) + "b", repeated("YWFhYWFh\n", n)}},
        {"blanks", {repeated("a ", n) + "b", repeated("a+", n)}},
        {"lines", {lines(n, "aa", 8), repeated("aa00000", n)}},
        {"long lines", {lines(n, "", 200), repeated("0", n)}},
        {"quoted lines", {lines(n, "\"aa", 8), repeated("\"aa00000", n)}},
        {"nested lines", {nested(n), repeated("aaaac", n)}},
        // At each place of the text, the number of steps is the length of the secret.
        {"turns", {repeated("\\A", n) + "b", repeated("\\%41", n), true}}};
  };
  const std::map<std::string, Case> small = cases(4'000), large = cases(16'000);
  for (const auto& [name, at_first] : small) {
    SCOPED_TRACE(name);
    const Case& then = large.at(name);
    Blotter::Effort before, behind;
    EXPECT_EQ(of({at_first.secret}).text(at_first.text, &before) == at_first.text,
              !at_first.gives_up);
    EXPECT_EQ(of({then.secret}).text(then.text, &behind) == then.text, !then.gives_up);
    EXPECT_EQ(behind.gave_up, then.gives_up);
    EXPECT_LT(behind.steps, 6 * before.steps);  // four times as much, and logarithms
    EXPECT_LT(behind.steps, 400 * then.text.size()) << behind.steps;
  }
}

// A secret must not appear because the search for it is expensive.
TEST(Blotter, WhatIsTooDearToSearchIsBlottedOut) {
  const std::string secret = repeated("\\A", 10'000) + "b";
  Blotter::Effort effort;
  const std::string left =
      of({secret}).text("before " + repeated("\\%41", 30'000) + secret, &effort);
  EXPECT_TRUE(effort.gave_up);
  EXPECT_EQ(left.substr(0, 7), "before ");
  EXPECT_EQ(left.find(secret), std::string::npos);
  EXPECT_EQ(left.substr(left.size() - 3), "***");
}

TEST(Blotter, ShortSecretsAreLeftAlone) {
  Blotter blotter = of({"", "a", "ab", " \n "});
  EXPECT_EQ(blotter.text("abacus"), "abacus");
  EXPECT_TRUE(of({}).empty());
}

}  // namespace
}  // namespace pawl::actions
