#include "expr/template/template.h"

#include <gtest/gtest.h>

namespace pawl::expr {
namespace {

constexpr std::string_view kTemplateRun = R"({
  "steps": {"fetch-data": {"status": 200, "body": {"id": "a b", "big": 1e6}, "items": [{"n": 1}, {"n": 2}]},
            "a.true.b": {"x": "deep"}, "own": {"output": 5}, "evil": "${{ secrets.KEY }}", "quote": "x\",\"admin\":\"true"},
  "inputs": {"name": "Ada", "dotted.key": 1, "dotted": {"key": 2}, "it's": 3, "none": null, "count": 3}})";

// Records the place of each requested secret.
class Desk : public SecretDesk {
 public:
  Result<OpenedSecret> reveal(const SecretPlace& place) override {
    asked += std::string(place.name) + "@" + std::string(place.param) + "/" +
             std::string(place.member) + (place.in_key ? "#" : "") + "<" +
             std::string(place.before) + "> ";
    if (place.name == "KEY") return OpenedSecret{"s3cr3t-value", {"h.example"}};
    if (place.name == "CLOSED") return Error{ErrorCode::Forbidden, "not for you"};
    return Error{ErrorCode::NotFound, "there is none"};
  }
  std::string asked;
};

class Template : public ::testing::Test {
 protected:
  Result<Interpolated> run(std::string_view tree, const TemplateOptions& options = {}) {
    const Value parsed = Value::parse(tree).value();
    return interpolate(parsed, variables_, cache_, budget_, options);
  }
  std::string render(std::string_view tree, const TemplateOptions& options = {}) {
    Result<Interpolated> result = run(tree, options);
    return result.ok() ? result->value.json() : "error: " + result.error().message;
  }

  Template() {
    for (const Value::Member& member : document_.as_object())
      variables_.json(member.key, member.value);
  }

  Value document_ = Value::parse(kTemplateRun).value();
  Variables variables_;
  ProgramCache cache_;
  Budget budget_;
};

TEST_F(Template, WholeValuesKeepTheirType) {
  EXPECT_EQ(
      render(
          R"(["${{ steps.fetch-data.status }}", " ${{steps.fetch-data.output.items}} ", "${{ inputs.none }}"])"),
      R"([200,[{"n":1},{"n":2}],null])");
}

TEST_F(Template, EmbeddedValuesBecomeText) {
  EXPECT_EQ(
      render(
          R"("id=${{ steps.fetch-data.body.id }}; big=${{ steps.fetch-data.body.big }}; all=${{ steps.fetch-data.items }}, ${{ inputs.none }}")"),
      R"("id=a b; big=1000000; all=[{\"n\":1},{\"n\":2}], null")");
}

TEST_F(Template, PathsComeBeforeCel) {
  EXPECT_EQ(
      render(
          R"(["${{ inputs.dotted.key }}", "${{ steps.a.true.b.x }}", "${{ steps.own.output }}", "${{ steps.fetch-data.items.1.n }}", "${{ inputs.it's }}"])"),
      R"([1,"deep",5,2,3])");
}

TEST_F(Template, WhatIsNoPathIsCel) {
  EXPECT_EQ(
      render(
          R"(["${{ inputs.count - 1 }}", "${{ steps['fetch-data'].items.map(i, i.n * 1.5) }}", "${{ {'a': {'b': '}}'}}.a }}", "n: ${{ size(inputs.name) }}!"])"),
      R"([2,[1.5,3.0],{"b":"}}"},"n: 3!"])");
}

TEST_F(Template, ValuesAreNeverScannedAgain) {
  EXPECT_EQ(render(R"({"a": "${{ steps.evil }}", "b": "<${{ steps.evil }}>"})"),
            R"({"a":"${{ secrets.KEY }}","b":"<${{ secrets.KEY }}>"})");
  EXPECT_EQ(render(R"({"a": "${{ steps.quote }}"})"), R"({"a":"x\",\"admin\":\"true"})");
}

TEST_F(Template, UnknownNamesListWhatThereIs) {
  EXPECT_EQ(render(R"({"x": ["${{ inputs.nme }}"]})"),
            "error: $.x[0]: in ${{ inputs.nme }}: 'inputs' has no 'nme'; available: count, dotted, "
            "dotted.key, it's, name, none");
  EXPECT_EQ(render(R"("${{ input.name }}")"),
            "error: $: in ${{ input.name }}: unknown name 'input'; available: inputs, steps");
  EXPECT_EQ(render(R"("${{ steps.fetch-data.status.code }}")"),
            "error: $: in ${{ steps.fetch-data.status.code }}: 'steps.fetch-data.status' has no "
            "'code'; available: no fields, it is of type int");
  EXPECT_EQ(render(R"("${{ steps.fetch-data.body.output }}")").substr(0, 6), "error:");
}

TEST_F(Template, BadTemplatesAreRefused) {
  EXPECT_EQ(render(R"("a ${{ inputs.name")"), "error: $: expected }} to close ${{");
  EXPECT_EQ(render(R"("${{  }}")"), "error: $: expected an expression between ${{ and }}");
  EXPECT_EQ(render(R"("${{ 1 + }}")").substr(0, 6), "error:");
  EXPECT_EQ(render(R"({"${{ inputs.name }}": 1, "Ada": 2, "${{ 'Ada' }}": 3})").substr(0, 6),
            "error:");
}

TEST_F(Template, KeysMayHoldTemplates) {
  EXPECT_EQ(render(R"({"for-${{ inputs.name }}": true, "n": 1})"), R"({"for-Ada":true,"n":1})");
}

TEST_F(Template, ASecretIsAskedForWithItsPlaceAndReported) {
  Desk desk;
  Result<Interpolated> result = run(
      R"({"headers": {"A": "Bearer ${{ secrets.KEY }}"}, "list": [1, ["${{secrets.KEY}}"]], "n": "${{ inputs.name }}"})",
      {.secrets = &desk});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->value.json(),
            R"({"headers":{"A":"Bearer s3cr3t-value"},"list":[1,["s3cr3t-value"]],"n":"Ada"})");
  EXPECT_EQ(desk.asked, "KEY@headers/A<Bearer > KEY@list/<> ");
  ASSERT_EQ(result->secrets.size(), 2u);
  const Secret& first = result->secrets[0];
  EXPECT_EQ(first.path + "=" + first.text + " " + first.name + " " + first.hosts[0],
            "$.headers.A=s3cr3t-value KEY h.example");
  EXPECT_EQ(result->secrets[1].path, "$.list[1][0]");
  run(R"({"body": {"${{ secrets.KEY }}": 1}})", {.secrets = &desk}).ok();
  EXPECT_NE(desk.asked.find("KEY@body/${{ secrets.KEY }}#<>"), std::string::npos) << desk.asked;
}

// Regression: a header whose name is a template was not recognized as holding a secret and was sent
// along on redirects.
TEST_F(Template, ThePlaceOfASecretHasTheNamesAsFilledIn) {
  Desk desk;
  const Result<Interpolated> result = run(
      R"({"headers": {"X-${{ inputs.name }}": "${{ secrets.KEY }}", "B": "${{ secrets.KEY }}"}})",
      {.secrets = &desk});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(desk.asked, "KEY@headers/X-Ada<> KEY@headers/B<> ");
  EXPECT_EQ(result->secrets[0].member, "X-Ada");
}

// An expression that computes with a secret could reveal it bit by bit.
TEST_F(Template, NoExpressionSeesSecrets) {
  Desk desk;
  for (const char* text :
       {"${{ secrets.KEY + '' }}", "${{ size(secrets.KEY) }}", "${{ secrets.KEY == 's' }}",
        "${{ secrets['KEY'] }}", "${{ secrets }}", "${{ secrets.KEY.x }}",
        "${{ has(secrets.KEY) }}", "${{ true ? secrets.KEY : '' }}", "${{ 'a' in secrets }}",
        "${{ [secrets.KEY][0] }}", "x ${{ string(secrets.KEY) }}", "${{ secrets.KEY[0] }}",
        "${{ base64.encode(b'x' + bytes(secrets.KEY)) }}"}) {
    const Result<Interpolated> result = run("\"" + std::string(text) + "\"", {.secrets = &desk});
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_TRUE(is_secret_denied(result.error())) << text << result.error().message;
  }
  EXPECT_EQ(desk.asked, "");
}

TEST_F(Template, ARefusedSecretSaysWhere) {
  Desk desk;
  EXPECT_EQ(render(R"({"a": ["${{ secrets.CLOSED }}"]})", {.secrets = &desk}),
            "error: $.a[0]: in ${{ secrets.CLOSED }}: not for you");
  EXPECT_EQ(render(R"("${{ secrets.NOPE }}")", {.secrets = &desk}),
            "error: $: in ${{ secrets.NOPE }}: there is none");
  EXPECT_FALSE(is_secret_denied(run(R"("${{ secrets.NOPE }}")", {.secrets = &desk}).error()));
  const Result<Interpolated> nobody = run(R"("${{ secrets.KEY }}")");
  EXPECT_TRUE(is_secret_denied(nobody.error())) << nobody.error().message;
}

TEST_F(Template, OldTypingOnRequest) {
  EXPECT_EQ(
      render(R"(["${{ steps.fetch-data.status }}", "${{ inputs.none }}"])", {.always_text = true}),
      R"(["200","null"])");
}

TEST_F(Template, OneBudgetPaysForTheWholeTree) {
  budget_ = Budget(BudgetLimits{.bytes_max = 4000});
  std::string tree = "[";
  for (int i = 0; i < 200; ++i) tree += (i > 0 ? "," : "") + std::string(R"("${{ steps }}")");
  EXPECT_EQ(run(tree + "]").error().code, ErrorCode::TooLarge);
}

TEST(UnwrapTemplate, GuardsMayBeWrapped) {
  EXPECT_EQ(unwrap_template(" ${{ a > 1 }} "), "a > 1");
  EXPECT_EQ(unwrap_template("a > 1"), "a > 1");
  EXPECT_EQ(unwrap_template("${{ a }} && ${{ b }}"), "${{ a }} && ${{ b }}");
}

}  // namespace
}  // namespace pawl::expr
