#include "plan/secret_rule.h"

#include <gtest/gtest.h>

#include "plan/definition.h"

namespace pawl::plan {
namespace {

// A secret at a place where it could be read back is refused with that place, also in lenient mode.
TEST(SecretRule, SecretsStandOnlyWhereTheyLeave) {
  auto told = [](const std::string& text) {
    ReadOptions options;
    options.lenient = true;
    ReadResult read = read_definition(text, options);
    for (const Fault& fault : read.errors)
      if (fault.code == "secret") return fault.path;
    return std::string(read.valid() ? "fine" : "invalid: " + read.errors[0].message);
  };
  auto step = [&](const std::string& action, const std::string& params) {
    return told("steps: [{id: a, action: " + action + ", params: " + params + "}]");
  };
  const std::string s = "'${{ secrets.T }}'";
  EXPECT_EQ(step("http.post", "{url: 'http://a/?k=${{ secrets.T }}', query: {a: " + s +
                                  "}, body: {b: [" + s +
                                  "]}, headers: {A: 'Bearer ${{secrets.T}}'}, "
                                  "auth: {type: bearer, token: " +
                                  s + "}}"),
            "fine");
  EXPECT_EQ(step("shell.exec", "{command: x, env: {A: " + s + "}}"), "fine");
  EXPECT_EQ(step("crypto.hmac", "{data: x, key: " + s + "}"), "fine");
  EXPECT_EQ(step("fs.write", "{path: f, content: " + s + "}"), "steps[0].params.content");
  EXPECT_EQ(step("shell.exec", "{command: x, args: [a, " + s + "]}"), "steps[0].params.args[1]");
  EXPECT_EQ(step("shell.exec", "{command: x, stdin: " + s + "}"), "steps[0].params.stdin");
  EXPECT_EQ(step("jq", "{expression: ., data: " + s + "}"), "steps[0].params.data");
  EXPECT_EQ(step("assert.equals", "{expected: a, actual: " + s + "}"), "steps[0].params.actual");
  EXPECT_EQ(step("workflow.log", "{message: " + s + "}"), "steps[0].params.message");
  EXPECT_EQ(step("http.get", "{url: x, timeout: " + s + "}"), "steps[0].params.timeout");
  EXPECT_NE(step("http.get", "{url: x, body: {" + s + ": 1}}"), "fine");
  EXPECT_EQ(step("http.get", "{url: x, body: \"${{ secrets.T + '' }}\"}"), "steps[0].params.body");
  EXPECT_EQ(step("http.get", "{url: x, body: \"${{ secrets['T'] }}\"}"), "steps[0].params.body");
  EXPECT_EQ(told("steps: [{id: a, action: crypto.uuid, condition: \"secrets.T == 'x'\"}]"),
            "steps[0].condition");
  EXPECT_EQ(told("steps: [{id: a, type: job, config: {type: t, args: [" + s + "]}}]"),
            "steps[0].config.args[0]");
  for (const char* config :
       {"type: job, config: {args: [], type", "type: wait, config: {signal",
        "type: job, config: {type: t, args: [], queue", "type: subworkflow, config: {definition",
        "type: agent, config: {task_type"})
    EXPECT_NE(told("steps: [{id: a, " + std::string(config) + ": " + s + "}}]").find(".config."),
              std::string::npos)
        << config;
  EXPECT_EQ(told("steps: [{id: a, type: reasoning, config: {prompt_context: x, options: [y, " + s +
                 "]}}]"),
            "steps[0].config.options[1]");
  EXPECT_EQ(told("steps: [{id: a, type: reasoning, config: {prompt_context: x, options: [{id: y, "
                 "description: " +
                 s + "}]}}]"),
            "steps[0].config.options[0].description");
  EXPECT_EQ(told("steps: [{id: a, action: crypto.uuid}]\noutputs: {x: " + s + "}"), "outputs.x");
  EXPECT_EQ(told("steps: [{id: a, action: crypto.uuid}]\noutputs: {x: secrets.T}"), "outputs.x");
  EXPECT_EQ(told("steps: [{id: a, type: reasoning, config: {prompt_context: " + s + "}}]"),
            "steps[0].config.prompt_context");
  EXPECT_NE(
      told("steps: [{id: a, action: http.get, params: {url: x}, compensate: {action: fs.write, "
           "params: {path: f, content: " +
           s + "}}}]"),
      "fine");
}

}  // namespace
}  // namespace pawl::plan
