// Large values are stored outside the tree of all rows, live as long as their row, and are added to
// older databases.
#include "store/sqlite_large.h"

#include <gtest/gtest.h>

#include "store/sqlite_store.h"
#include "store/testing/backing.h"

namespace pawl {
namespace {

const std::string kLarge(kLargeValueBytes * 3, 'L');

class SqliteLarge : public testing::Test {
 protected:
  // Without checksums, so that plain SQLite can look into it.
  void open() {
    auto opened = open_sqlite(directory_ / "data", {.page_sums = false});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened).value();
  }
  void write(std::vector<Write> writes) {
    const Status status = store_->commit(Batch{.writes = std::move(writes)});
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  size_t size_of(const std::string& key) {
    const auto value = store_->get(1, key);
    EXPECT_TRUE(value.ok() && value->has_value()) << key;
    return value.ok() && *value ? (*value)->size() : 0;
  }
  uint64_t ask(const std::string& sql) { return database_.ask(sql); }
  void run(const std::string& sql) { database_.run(sql); }

  const TempDirectory directory_;
  const PlainDatabase database_{directory_ / "data/pawl.db"};
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteLarge, TheTreeOfAllRowsHoldsNone) {
  open();
  write({{1, "a", "1"}, {1, "b", kLarge}, {2, "b", kLarge}, {1, "c", "2"}});
  EXPECT_EQ(ask("SELECT max(length(value)) FROM kv WHERE typeof(value) = 'blob'"), 1u);
  EXPECT_EQ(ask("SELECT count(*) FROM large"), 2u);
  EXPECT_EQ(size_of("b"), kLarge.size());
}

TEST_F(SqliteLarge, TheyGoWithTheirRowAlsoAfterARestart) {
  open();
  write({{1, "grows", "1"}, {1, "shrinks", kLarge}, {1, "goes", kLarge}, {1, "stays", kLarge}});
  store_.reset();
  open();
  write({{1, "grows", kLarge}, {1, "shrinks", "1"}, {1, "goes", {}}, {1, "stays", kLarge + "x"}});
  EXPECT_EQ(size_of("grows"), kLarge.size());
  EXPECT_EQ(size_of("shrinks"), 1u);
  EXPECT_EQ(size_of("stays"), kLarge.size() + 1);
  EXPECT_EQ(ask("SELECT count(*) FROM large"), 2u);
  EXPECT_EQ(ask("SELECT sum(length(bytes)) FROM large"), 2 * kLarge.size() + 1);
}

TEST_F(SqliteLarge, ADatabaseOfTheFormerLayoutGetsThem) {
  open();
  write({{1, "old", "1"}});
  store_.reset();
  run("DROP TABLE large; DROP TABLE large_spaces; ALTER TABLE journal DROP COLUMN unpacked;"
      "UPDATE meta SET value = 1 WHERE name = 'schema';"
      "INSERT INTO kv(space, key, value) VALUES (1, CAST('large' AS BLOB), zeroblob(100000))");
  open();
  EXPECT_EQ(size_of("old"), 1u);
  EXPECT_EQ(size_of("large"), 100'000u);
  write({{1, "large", kLarge}});
  EXPECT_EQ(size_of("large"), kLarge.size());
  EXPECT_EQ(ask("SELECT value FROM meta WHERE name = 'schema'"), 5u);
  EXPECT_EQ(ask("SELECT count(*) FROM large"), 1u);
}

TEST_F(SqliteLarge, BytesThatAreMissingAreDamage) {
  open();
  write({{1, "a", kLarge}});
  run("DELETE FROM large");
  const auto value = store_->get(1, "a");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(wire_code(value.error().code), "corrupt");
}

}  // namespace
}  // namespace pawl
