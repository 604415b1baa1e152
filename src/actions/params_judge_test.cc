#include "actions/params_judge.h"

#include <gtest/gtest.h>

#include "actions/action.h"
#include "plan/definition.h"

namespace pawl::actions {
namespace {

// "path code" of each fault, then the warnings after a bar.
std::string faults_of(const std::string& step, bool lenient = false) {
  plan::ReadOptions options;
  options.lenient = lenient;
  options.params = judge_params;
  plan::ReadResult read = plan::read_definition("steps: [{id: a, " + step + "}]", options);
  std::string line;
  for (const plan::Fault& fault : read.errors) line += fault.path + " " + fault.code + "; ";
  if (!read.warnings.empty()) line += "| ";
  for (const plan::Fault& fault : read.warnings) line += fault.path + " " + fault.code + "; ";
  return line;
}

TEST(JudgeParams, FindsWhatAnActionDoesNotKnowAndWhatItNeeds) {
  EXPECT_EQ(faults_of("action: http.get, params: {url: 'http://x', headers: {a: b}}"), "");
  EXPECT_EQ(faults_of("action: http.get, params: {ulr: 'http://x'}"),
            "steps[0].params.ulr unknown_field; steps[0].params.url required; ");
  EXPECT_EQ(faults_of("action: http.get"), "steps[0].params.url required; ");
  EXPECT_EQ(faults_of("action: http.get, params: {ulr: 1}", true),
            "| steps[0].params.ulr unknown_field; steps[0].params.url required; ");
  EXPECT_EQ(faults_of("action: http.get, params: {url: u, auth: {typ: bearer}}"),
            "steps[0].params.auth.typ unknown_field; ");
  EXPECT_EQ(faults_of("type: capability, parameters: {capability_id: fs.read, params: {p: 1}}"),
            "steps[0].parameters.params.p unknown_field; "
            "steps[0].parameters.params.path required; ");
  EXPECT_EQ(faults_of("action: own.action, params: {anything: 1}"), "");
}

TEST(JudgeParams, EveryBuiltInActionIsHeldToItsSchema) {
  for (const ActionInfo& info : builtin_actions()) {
    std::string found = faults_of("action: " + info.name + ", params: {no_such_thing: 1}");
    bool open = info.name == "workflow.log" || info.name == "workflow.notify";
    EXPECT_EQ(found.find("no_such_thing unknown_field") == std::string::npos, open) << info.name;
    const Value* required = info.params_schema.find("required");
    if (required == nullptr) continue;
    for (const Value& name : required->as_array())
      EXPECT_NE(found.find("params." + name.as_string() + " required"), std::string::npos)
          << info.name << ": " << found;
  }
}

TEST(JudgeParams, ATemplateIsThereAndMayBecomeAnything) {
  EXPECT_EQ(faults_of("action: http.get, params: '${{ inputs.all }}'"), "");
  EXPECT_EQ(faults_of("action: http.get, params: {url: '${{ inputs.u }}', max_redirects: "
                      "'${{ inputs.n }}', headers: '${{ inputs.h }}', body_encoding: "
                      "'${{ inputs.e }}', auth: {type: '${{ inputs.t }}'}}"),
            "");
}

TEST(JudgeParams, WhatIsWrittenOutIsHeldToItsKind) {
  EXPECT_EQ(faults_of("action: http.get, params: {url: {}}"), "steps[0].params.url type; ");
  EXPECT_EQ(faults_of("action: http.get, params: {url: ''}"), "steps[0].params.url value; ");
  EXPECT_EQ(faults_of("action: http.get, params: {url: u, max_redirects: 99}"),
            "steps[0].params.max_redirects value; ");
  EXPECT_EQ(faults_of("action: http.get, params: {url: u, max_redirects: many}"),
            "steps[0].params.max_redirects type; ");
  EXPECT_EQ(faults_of("action: http.get, params: {url: u, max_redirects: '3', body: null}"), "");
  EXPECT_EQ(faults_of("action: http.get, params: {url: u, body_encoding: jsn}"),
            "steps[0].params.body_encoding value; ");
  EXPECT_EQ(faults_of("action: shell.exec, params: {command: x, args: [1, true, []]}"),
            "steps[0].params.args[2] type; ");
  EXPECT_EQ(faults_of("action: fs.read, params: {path: null}"), "steps[0].params.path type; ");
}

TEST(JudgeParams, OneOfSeveralNamesIsEnough) {
  EXPECT_EQ(faults_of("action: workflow.emit, params: {event: e, data: 1}"), "");
  EXPECT_EQ(faults_of("action: workflow.emit"), "steps[0].params.event_type required; ");
  EXPECT_EQ(faults_of("action: workflow.run, params: {definition: d, inputs: {}}"), "");
  EXPECT_EQ(faults_of("action: workflow.run, params: {}"),
            "steps[0].params.template_name required; ");
  EXPECT_EQ(faults_of("action: workflow.fail, params: {message: m}"), "");
}

TEST(JudgeParams, TheNearestNameIsSaid) {
  plan::ReadOptions options;
  options.params = judge_params;
  plan::ReadResult read = plan::read_definition(
      "steps:\n  - id: a\n    action: fs.read\n    params:\n      pth: x\n", options);
  ASSERT_EQ(read.errors.size(), 2u);
  EXPECT_EQ(read.errors[0].message, "fs.read has no parameter \"pth\"");
  EXPECT_EQ(read.errors[0].hint, "did you mean 'path'?");
  EXPECT_EQ(read.errors[0].line, 5u);
}

TEST(JudgeParams, StepsThatWereAcceptedBeforeStay) {
  plan::ReadOptions options;
  options.params = judge_params;
  options.steps_accepted = 1;
  plan::ReadResult read = plan::read_definition(
      "steps: [{id: a, action: fs.read}, {id: b, action: fs.stat}]\non_error: {action: fs.read}",
      options);
  ASSERT_EQ(read.errors.size(), 1u);
  EXPECT_EQ(read.errors[0].path, "steps[1].params.path");
}

}  // namespace
}  // namespace pawl::actions
