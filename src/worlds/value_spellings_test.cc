// Random types and values: every spelling of a value reads as the same canonical bytes.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "worlds/testing/random_value.h"
#include "worlds/testing/values.h"

namespace pawl::worlds {
namespace {

constexpr uint64_t kSeeds = 1000;

struct Drawn {
  std::string type_json;
  Type type;
  std::string json;
  std::string bytes;
};

Drawn drawn_from(Choices& choices) {
  Drawn drawn;
  drawn.type_json = random_type(choices, 4);
  drawn.type = type_of(drawn.type_json);
  drawn.json = random_json(choices, drawn.type);
  const auto doc = json::parse(drawn.json);
  auto bytes = doc.ok() ? from_json(drawn.type, doc->root()) : Result<std::string>(doc.error());
  EXPECT_TRUE(bytes.ok()) << bytes.error().message << "\n" << drawn.type_json << "\n" << drawn.json;
  if (bytes.ok()) drawn.bytes = std::move(bytes).value();
  return drawn;
}

TEST(ValueSpellings, AllReadAsTheSameBytes) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    Choices choices(seed);
    const Drawn drawn = drawn_from(choices);
    const std::string hex = to_hex(drawn.bytes);
    const auto item = cbor::read(drawn.bytes);
    ASSERT_TRUE(item.ok()) << drawn.json;
    SCOPED_TRACE(drawn.type_json + "\n" + drawn.json);
    const std::string sugar = respell_json(choices, drawn.type, *item, Lens::Sugar);
    EXPECT_EQ(json_to_hex(drawn.type, sugar), hex) << sugar;
    const std::string tagged = respell_json(choices, drawn.type, *item, Lens::Tagged);
    EXPECT_EQ(json_to_hex(drawn.type, tagged, Lens::Tagged), hex) << tagged;
    const std::string loose = respell_cbor(choices, drawn.type, *item);
    EXPECT_EQ(cbor_to_hex(drawn.type, to_hex(loose)), hex) << to_hex(loose);
  }
}

TEST(ValueSpellings, PrintedValuesReadBackAsTheSameBytes) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    Choices choices(seed);
    const Drawn drawn = drawn_from(choices);
    std::string printed;
    append_json(printed, drawn.type, drawn.bytes);
    EXPECT_EQ(json_to_hex(drawn.type, printed), to_hex(drawn.bytes)) << drawn.type_json << "\n"
                                                                     << printed;
  }
}

// The look-over of canonical bytes and the reading of items agree on what canonical is.
TEST(ValueSpellings, OnlyCanonicalBytesPassUnchanged) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    Choices choices(seed);
    const Drawn drawn = drawn_from(choices);
    EXPECT_TRUE(cbor::is_canonical(drawn.bytes)) << drawn.json;
    const auto item = cbor::read(drawn.bytes);
    ASSERT_TRUE(item.ok());
    EXPECT_EQ(*from_cbor(drawn.type, *item), drawn.bytes) << drawn.json;
    EXPECT_EQ(*from_cbor(drawn.type, drawn.bytes), drawn.bytes) << drawn.json;
    const std::string loose = respell_cbor(choices, *item);
    EXPECT_EQ(cbor::is_canonical(loose), loose == drawn.bytes) << to_hex(loose);
    EXPECT_EQ(*cbor::canonical(loose), drawn.bytes) << to_hex(loose);
  }
}

// A value with one byte changed is refused or another value; never bytes that are not canonical.
TEST(ValueSpellings, FlippedBytesGiveCanonicalBytesOrARefusal) {
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    Choices choices(seed);
    const Drawn drawn = drawn_from(choices);
    std::string flipped = drawn.bytes;
    flipped[choices.below(flipped.size())] ^= static_cast<char>(1u << choices.below(8));
    const auto bytes = from_cbor(drawn.type, flipped);
    if (!bytes.ok()) {
      EXPECT_EQ(bytes.error().code, ErrorCode::InvalidContent);
      continue;
    }
    EXPECT_TRUE(cbor::is_canonical(*bytes)) << drawn.type_json << "\n" << to_hex(flipped);
    EXPECT_EQ(*from_cbor(drawn.type, *cbor::read(*bytes)), *bytes) << drawn.type_json;
  }
}

}  // namespace
}  // namespace pawl::worlds
