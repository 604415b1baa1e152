#include "store/packing.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "store/sqlite_connection.h"
#include "store/sqlite_store.h"
#include "store/testing/backing.h"

namespace pawl {
namespace {

std::string text(size_t bytes) {
  std::string made;
  while (made.size() < bytes) made += "{\"item\":" + std::to_string(made.size()) + "},";
  return made;
}

std::string noise(size_t bytes) {
  std::mt19937_64 random(7);
  std::string made;
  for (size_t i = 0; i < bytes; ++i) made += static_cast<char>(random());
  return made;
}

TEST(Packing, WhatShrinksComesBackAsItWas) {
  for (size_t bytes : {1u, 100u, 70'000u, 1'000'000u}) {
    const std::string given = text(bytes);
    PackingRoom room, back;
    const Packed packed = pack(given, room);
    EXPECT_EQ(packed.unpacked != 0, bytes > 1) << bytes;
    EXPECT_EQ(unpack(packed, back).value(), given) << bytes;
  }
}

TEST(Packing, WhatDoesNotShrinkIsKept) {
  for (size_t bytes : {1'000u, 1'000'000u}) {
    const std::string given = noise(bytes);
    PackingRoom room;
    const Packed packed = pack(given, room);
    EXPECT_EQ(packed.unpacked, 0u) << bytes;
    EXPECT_EQ(packed.bytes.data(), given.data()) << "no copy";
  }
}

TEST(Packing, WhatIsDamagedIsRefused) {
  const std::string given = text(10'000);
  PackingRoom room, back;
  Packed packed = pack(given, room);
  packed.unpacked += 1;
  EXPECT_EQ(unpack(packed, back).error().code, ErrorCode::Corrupt);
  packed.unpacked = UINT64_MAX;
  EXPECT_EQ(unpack(packed, back).error().code, ErrorCode::Corrupt);
  packed.unpacked = given.size();
  packed.bytes.remove_suffix(1);
  EXPECT_EQ(unpack(packed, back).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(unpack({noise(100), 200}, back).error().code, ErrorCode::Corrupt);
}

class PackedStore : public testing::Test {
 protected:
  void open() {  // without checksums, so that plain SQLite can look into it
    store_.reset();
    auto opened = open_sqlite(directory_ / "data", {.page_sums = false});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened).value();
  }
  void commit(uint64_t number, const std::string& record, const std::string& value) {
    const Status status =
        store_->commit({.number = number, .journal = record, .writes = {{1, "key", value}}});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  std::string record(uint64_t number) {
    std::string found;
    EXPECT_TRUE(store_
                    ->read_journal(number, 1,
                                   [&](uint64_t, std::string_view bytes) {
                                     found = bytes;
                                     return true;
                                   })
                    .ok());
    return found;
  }
  uint64_t ask(const std::string& sql) { return database_.ask(sql); }
  void run(const std::string& sql) { database_.run(sql); }

  const TempDirectory directory_;
  const PlainDatabase database_{directory_ / "data/pawl.db"};
  std::unique_ptr<Store> store_;
};

TEST_F(PackedStore, LargeRecordsAndValuesTakeLessRoomAndAreReadAsTheyWere) {
  open();
  const std::string large = text(2u << 20), larger = text(3u << 20);
  commit(1, "small", "small");
  commit(2, large, larger);
  EXPECT_LT(ask("SELECT length(record) FROM journal WHERE number = 2"), large.size() / 2);
  EXPECT_LT(ask("SELECT length(bytes) FROM large"), larger.size() / 2);
  open();
  EXPECT_EQ(record(1), "small");
  EXPECT_EQ(record(2), large);
  EXPECT_EQ(**store_->get(1, "key"), larger);
}

TEST_F(PackedStore, ADatabaseThatPackedNothingGoesOn) {
  open();
  const std::string large = noise(1u << 20);  // as it is, in either layout
  commit(1, large, large);
  store_.reset();
  run("ALTER TABLE large DROP COLUMN unpacked; ALTER TABLE journal DROP COLUMN unpacked;"
      "UPDATE meta SET value = 3 WHERE name = 'schema'");
  open();
  commit(2, text(1u << 20), "small");
  EXPECT_EQ(record(1), large);
  EXPECT_EQ(record(2), text(1u << 20));
  EXPECT_EQ(ask("SELECT value FROM meta WHERE name = 'schema'"), 5u);
}

TEST_F(PackedStore, PackedBytesThatMakeNoSenseAreDamage) {
  open();
  commit(1, text(1u << 20), text(1u << 20));
  run("UPDATE journal SET unpacked = unpacked + 1; UPDATE large SET unpacked = unpacked - 1");
  EXPECT_EQ(
      store_->read_journal(1, 1, [](uint64_t, std::string_view) { return true; }).error().code,
      ErrorCode::Corrupt);
  EXPECT_EQ(store_->get(1, "key").error().code, ErrorCode::Corrupt);
}

}  // namespace
}  // namespace pawl
