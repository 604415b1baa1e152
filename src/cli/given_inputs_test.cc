#include "cli/given_inputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pawl::cli {
namespace {

TEST(GivenInputs, AValueThatIsJsonIsThatAnyOtherIsText) {
  Invocation given;
  given.options["--input"] = {"a=1", "b=yes", "c=[1,\"x\"]", "d=\"1\"", "e=", "f=a=b", "a=2"};
  auto inputs = given_inputs(given);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(inputs->json(), R"({"a":2,"b":"yes","c":[1,"x"],"d":"1","e":"","f":"a=b"})");
}

TEST(GivenInputs, PairsWinOverTheFile) {
  std::string path = ::testing::TempDir() + "pawl_inputs_" + std::to_string(::getpid());
  std::ofstream(path) << R"({"a": {"b": null}, "c": 1})";
  Invocation given;
  given.options = {{"--inputs", {path}}, {"--input", {"c=2"}}};
  EXPECT_EQ(given_inputs(given)->json(), R"({"a":{"b":null},"c":2})");
  std::ofstream(path) << "[1]";
  EXPECT_EQ(given_inputs(given).error().code, ErrorCode::InvalidRequest);
  EXPECT_EQ(read_whole_file(path, 2).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(*read_whole_file(path, 3), "[1]");
  ::unlink(path.c_str());
  EXPECT_EQ(given_inputs(given).error().message, "cannot read " + path);
}

TEST(GivenInputs, RefusesWhatIsNoPairOrNoJson) {
  for (const char* pair : {"", "a", "=1"}) {
    Invocation given;
    given.options["--input"] = {pair};
    EXPECT_EQ(given_inputs(given).error().code, ErrorCode::InvalidRequest) << pair;
  }
  Invocation given;
  given.options["--payload"] = {"{x}"};
  EXPECT_FALSE(given_json(given, "--payload").ok());
  EXPECT_EQ(*given_json(given, "--other"), "");
}

}  // namespace
}  // namespace pawl::cli
