#include "expr/template.h"

#include <gtest/gtest.h>

namespace pawl::expr {
namespace {

constexpr std::string_view kRun = R"({
  "steps": {"fetch-data": {"status": 200, "body": {"id": "a b", "big": 1e6}, "items": [{"n": 1}, {"n": 2}]},
            "a.true.b": {"x": "deep"}, "own": {"output": 5}, "evil": "${{ secrets.KEY }}", "quote": "x\",\"admin\":\"true"},
  "inputs": {"name": "Ada", "dotted.key": 1, "dotted": {"key": 2}, "it's": 3, "none": null, "count": 3},
  "secrets": {"KEY": "s3cr3t-value", "PIN": 1234}})";

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

  Value document_ = Value::parse(kRun).value();
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
  EXPECT_EQ(
      render(R"("${{ input.name }}")"),
      "error: $: in ${{ input.name }}: unknown name 'input'; available: inputs, secrets, steps");
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

TEST_F(Template, SecretsAreReportedWithTheirPlace) {
  Result<Interpolated> result = run(
      R"({"headers": {"Authorization": "Bearer ${{ secrets.KEY }}"}, "list": [1, "${{ secrets.PIN }}"],
                                        "plain": "${{ inputs.name }}", "derived": "${{ base64.encode(bytes(secrets.KEY)) }}"})");
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->secrets.size(), 3u);
  EXPECT_EQ(result->secrets[0].path + "=" + result->secrets[0].text,
            "$.headers.Authorization=s3cr3t-value");
  EXPECT_EQ(result->secrets[1].path + "=" + result->secrets[1].text, "$.list[1]=1234");
  EXPECT_EQ(result->secrets[2].path + "=" + result->secrets[2].text, "$.derived=czNjcjN0LXZhbHVl");
  EXPECT_EQ(
      redact(result->value.json(), result->secrets),
      R"({"headers":{"Authorization":"Bearer ***"},"list":[1,***],"plain":"Ada","derived":"***"})");
}

TEST_F(Template, SecretsAreReportedLeafByLeaf) {
  Result<Interpolated> result = run(R"({"all": "${{ secrets }}", "text": "x${{ secrets }}"})");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(redact(result->value.json(), result->secrets).find("s3cr3t"), std::string::npos);
  EXPECT_EQ(result->secrets[0].path, "$.all.KEY");
}

TEST_F(Template, FailuresDoNotQuoteSecrets) {
  EXPECT_EQ(render(R"("${{ int(secrets.KEY) }}")"),
            "error: $: in ${{ int(secrets.KEY) }}: the expression failed; it names secrets, so the "
            "reason is not shown");
  EXPECT_EQ(render(R"("${{ secrets.NOPE }}")"),
            "error: $: in ${{ secrets.NOPE }}: 'secrets' has no 'NOPE'; available: KEY, PIN");
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
