#include "worlds/step_io.h"

#include <gtest/gtest.h>

#include "worlds/testing/test_world.h"
#include "worlds/testing/values.h"
#include "worlds/walk.h"

namespace pawl::worlds {
namespace {

std::string code_of(std::string_view output) {
  StepOutput read;
  const auto fault = read_step_output(output, read);
  return fault ? fault->code : "sound";
}

TEST(StepOutput, IsReadInAnyOrderAndWithLongHeads) {
  StepOutput read;
  // {"effects":[{"params_cbor":h'00',"kind":"k","cap_slot":null}],"state":h'01',"status":"failed","error":"e"}
  const std::string bytes = from_hex(
      "b90004"
      "676566666563747381a36b706172616d735f63626f724100646b696e64616b686361705f736c6f74f6"
      "65737461746558020102"
      "66737461747573666661696c6564"
      "656572726f726165");
  ASSERT_EQ(read_step_output(bytes, read), std::nullopt);
  EXPECT_EQ(read.state, std::string_view("\x01\x02"));
  ASSERT_EQ(read.effects.size(), 1u);
  EXPECT_EQ(read.effects[0].kind, "k");
  EXPECT_EQ(read.effects[0].params, std::string_view("\0", 1));
  EXPECT_FALSE(read.effects[0].cap_slot);
  EXPECT_EQ(read.said, Said::Failed);
  EXPECT_EQ(read.error, "e");
  EXPECT_TRUE(read.events.empty());
}

// R-3.2.5, and the strictness of section 3: nothing is guessed.
TEST(StepOutput, AnythingElseIsInvalid) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"empty", ""},
      {"not a map", "80"},
      {"no state", "a0"},
      {"a member that is none", "a2657374617465f66178f6"},
      {"a member twice", "a2657374617465f6657374617465f6"},
      {"a name that is bytes", "a1457374617465f6"},
      {"state as text", "a16573746174656178"},
      {"state as a number", "a165737461746501"},
      {"state undefined", "a1657374617465f7"},
      {"bytes behind", "a1657374617465f600"},
      {"cut off", "a16573746174654501"},
      {"cut off in a name", "a1657374"},
      {"an indefinite map", "bf657374617465f6ff"},
      {"an indefinite string", "a16573746174655f4101ff"},
      {"a tag", "d9d9f7a1657374617465f6"},
      {"a status of its own", "a2657374617465f6667374617475736764656c61796564"},
      {"an empty status", "a2657374617465f66673746174757360"},
      {"bad UTF-8", "a2657374617465f6656572726f7261ff"},
      {"effects that are no list", "a2657374617465f667656666656374736161"},
      {"an effect that is no map", "a2657374617465f6676566666563747381f6"},
      {"an effect without a kind",
       "a2657374617465f6676566666563747381a16b706172616d735f63626f724100"},
      {"an event without a value",
       "a2657374617465f66d646f6d61696e5f6576656e747381a166736368656d616173"},
      {"a reserved length", "a16573746174655c"},
      {"a length beyond the end", "a16573746174655bffffffffffffffff"},
      {"a count beyond the end", "bbffffffffffffffff"},
  };
  for (const auto& [name, hex] : cases)
    EXPECT_EQ(code_of(from_hex(hex)), "step.output_invalid") << name;
  EXPECT_EQ(code_of(from_hex("a1657374617465f6")), "sound");
  EXPECT_EQ(code_of(from_hex("a3657374617465f66765666665637473f663616e6ef6")), "sound");
}

TEST(StepOutput, CountsAndBytesHaveBounds) {
  auto effects = [](size_t count) {
    StepSaid said;
    for (size_t i = 0; i < count; ++i) said.effect("k", "");
    return said.bytes();
  };
  EXPECT_EQ(code_of(effects(kStepEffectsMax)), "sound");
  EXPECT_EQ(code_of(effects(kStepEffectsMax + 1)), "step.output_limit");
  // A list that only says how long it is.
  EXPECT_EQ(code_of(from_hex("a167656666656374739a7fffffff")), "step.output_limit");
  auto state = [](size_t size) {
    return StepSaid().state(std::string(size - 10, 'x')).annotations(std::string(10, 'y')).bytes();
  };
  EXPECT_EQ(code_of(state(kStepBytesMax)), "sound");
  EXPECT_EQ(code_of(state(kStepBytesMax + 1)), "step.output_limit");
}

TEST(PureOutput, IsOneByteString) {
  auto read = [](std::string_view hex) {
    std::string_view output;
    const std::string bytes = from_hex(hex);
    const auto fault = read_pure_output(bytes, output);
    return fault ? fault->code : std::string(output);
  };
  EXPECT_EQ(read("a1666f75747075744178"), "x");
  EXPECT_EQ(read("a0"), "pure.output_invalid");
  EXPECT_EQ(read("a1666f75747075746178"), "pure.output_invalid");
  EXPECT_EQ(read("a1666f75747075744178"
                 "00"),
            "pure.output_invalid");
  // R-3.1.2: what a workflow says is no output of a pure module.
  std::string_view output;
  EXPECT_EQ(read_pure_output(StepSaid().bytes(), output)->code, "pure.output_invalid");
}

TEST(PureInput, HasAContextOnlyWhereTheModuleAsksForOne) {
  Module module;
  module.name = "t/m@1";
  EXPECT_EQ(json_of(pure_input({.module = module, .input = "x"})),
            R"({"input":"eA==","version":1})");
  module.has_context = true;
  const std::string input = pure_input(
      {.module = module, .input = "x", .logical_now_ns = 5, .seq = 6, .manifest_hash = "h"});
  EXPECT_EQ(*cbor::canonical(input), input);
  const std::string context(string_of(member_of(input, "ctx")));
  EXPECT_EQ(json_of(context),
            R"({"module":"t/m@1","manifest_hash":"h","journal_height":6,"logical_now_ns":5})");
}

TEST(CutText, KeepsCharactersWhole) {
  EXPECT_EQ(cut_text("abc", 3), "abc");
  EXPECT_EQ(cut_text("abc", 2), "ab");
  EXPECT_EQ(cut_text("a\xc3\xa4", 2), "a");
  EXPECT_EQ(cut_text("\xf0\x9f\x98\x80", 3), "");
}

}  // namespace
}  // namespace pawl::worlds
