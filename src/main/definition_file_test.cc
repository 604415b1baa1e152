#include "main/definition_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pawl {
namespace {

class DefinitionFile : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::string path = ::testing::TempDir() + "pawl_definition_" + std::to_string(::getpid());
    std::ofstream(path) << text;
    made_ = path;
    return path;
  }
  void TearDown() override {
    if (!made_.empty()) ::unlink(made_.c_str());
  }
  std::string made_;
};

TEST_F(DefinitionFile, EveryFaultIsALineWithItsPlaceAndHint) {
  plan::ReadResult read = read_definition_text(
      "name: x\nsteps:\n  - {id: a, action: http.gte}\n  - {id: b, type: wait}\n", false);
  std::string lines = fault_lines("x.yaml", read, false);
  EXPECT_NE(lines.find("x.yaml:3: error: steps[0].action: "), std::string::npos) << lines;
  EXPECT_NE(lines.find("http.get"), std::string::npos) << lines;
  EXPECT_NE(lines.find("x.yaml:4: error: steps[1]"), std::string::npos) << lines;
}

TEST_F(DefinitionFile, InputsAreTheFileUnderThePairs) {
  auto inputs = gather_inputs(file("a: 1\nb: [x, y]\n"), {"a=2", "c=plain text", "d=\"3\"", "e="});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  EXPECT_EQ(inputs->json(), R"({"a":2,"b":["x","y"],"c":"plain text","d":"3","e":""})");
  EXPECT_EQ(gather_inputs(file(R"({"k": {"z": null}})"), {})->json(), R"({"k":{"z":null}})");
}

TEST_F(DefinitionFile, RefusalsNameTheFileOrTheOption) {
  EXPECT_EQ(gather_inputs("/nowhere/x.json", {}).error().message, "cannot read /nowhere/x.json");
  EXPECT_EQ(gather_inputs("/", {}).error().message, "cannot read /");
  EXPECT_NE(gather_inputs(file("{\"a\":"), {}).error().message.find("is no JSON"),
            std::string::npos);
  EXPECT_NE(gather_inputs(file("[1]"), {}).error().message.find("must hold an object"),
            std::string::npos);
  for (const char* pair : {"a", "=1", ""})
    EXPECT_EQ(gather_inputs("", {pair}).error().code, ErrorCode::InvalidRequest) << pair;
}

}  // namespace
}  // namespace pawl
