#include "store/copy_store.h"

#include <gtest/gtest.h>

#include "store/testing/postgres_server.h"

namespace pawl {
namespace {

std::unique_ptr<Backing> backing_of(const std::string& kind) {
  if (kind == "memory") return std::make_unique<MemoryBacking>();
  if (kind == "sqlite") return std::make_unique<SqliteBacking>();
  return std::make_unique<PostgresBacking>();
}

// All rows and records, in order.
std::string content(Store& store) {
  std::string seen;
  for (int space = 0; space < 256; ++space)
    EXPECT_TRUE(store.scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX,
                           [&](std::string_view key, std::string_view value) {
                             seen += std::to_string(space) + "/";
                             seen.append(key).append("=").append(value) += '\n';
                             return true;
                           }));
  EXPECT_TRUE(store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    seen += std::to_string(number) + ":";
    seen.append(record) += '\n';
    return true;
  }));
  return seen;
}

// Rows in several pages, one larger than a page, and a journal whose beginning is gone.
void fill_for_copy(Store& store) {
  for (uint64_t number = 1; number <= 40; ++number) {
    Batch batch{.number = number, .journal = "record " + std::to_string(number)};
    for (int row = 0; row < 50; ++row)
      batch.writes.push_back({static_cast<uint8_t>(row * 5),
                              std::to_string(number) + "-" + std::to_string(row), "value"});
    ASSERT_TRUE(store.commit(batch));
  }
  ASSERT_TRUE(store.commit(
      Batch{.writes = {Write{3, "large", std::string(3u << 20, 'x')}, Write{255, "", ""}},
            .trim_journal_before = 30}));
}

class CopyStore : public testing::TestWithParam<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Each, CopyStore,
    testing::Values(std::pair{"memory", "sqlite"}, std::pair{"sqlite", "memory"},
                    std::pair{"sqlite", "postgres"}, std::pair{"postgres", "sqlite"}),
    [](const auto& param) { return std::string(param.param.first) + "To" + param.param.second; });

TEST_P(CopyStore, BringsEverythingAsItIs) {
  const auto source = backing_of(GetParam().first);
  const auto target = backing_of(GetParam().second);
  auto from = std::move(source->open()).value();
  auto to = std::move(target->open()).value();
  fill_for_copy(*from);
  Copied told;
  const auto copied = copy_store(*from, *to, [&](const Copied& so_far) { told = so_far; });
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(copied->rows, 2002u);
  EXPECT_EQ(told.records, copied->records);
  EXPECT_TRUE(content(*from) == content(*to));
  EXPECT_EQ(to->journal_first(), 30u);
  const uint64_t next = from->journal_last() + 1;
  EXPECT_TRUE(to->commit(Batch{.number = next, .journal = "on"})) << "it goes on from there";
  to.reset();
  to = std::move(target->open()).value();
  EXPECT_EQ(to->journal_first(), 30u);
  EXPECT_EQ(to->journal_last(), next);
}

TEST(CopyStoreInto, WhatHoldsDataIsRefused) {
  MemoryBacking source;
  auto from = std::move(source.open()).value();
  fill_for_copy(*from);
  for (const bool by_row : {true, false}) {
    MemoryBacking target;
    auto to = std::move(target.open()).value();
    ASSERT_TRUE(is_empty(*to).value());
    ASSERT_TRUE(by_row ? to->commit(Batch{.writes = {Write{9, "k", "v"}}})
                       : to->commit(Batch{.number = 1, .journal = "r"}));
    const auto copied = copy_store(*from, *to, [](const Copied&) {});
    ASSERT_FALSE(copied.ok());
    EXPECT_EQ(copied.error().code, ErrorCode::Conflict);
  }
}

TEST(CopyStoreInto, AStoreThatFailsEndsIt) {
  MemoryBacking source;
  MemoryBacking target;
  auto from = std::move(source.open()).value();
  auto to = std::move(target.open()).value();
  fill_for_copy(*from);
  target.disk_fails = true;
  EXPECT_EQ(copy_store(*from, *to, [](const Copied&) {}).error().code, ErrorCode::StoreFailed);
}

}  // namespace
}  // namespace pawl
