// One suite for every store: a rule of store.h that is not checked here is not promised.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "store/testing/backing.h"
#include "store/testing/postgres_server.h"

namespace pawl {
namespace {

using namespace std::string_literals;  // NOLINT: keys with NUL bytes

Write put(std::string key, std::string value, uint8_t space = 1) {
  return Write{space, std::move(key), std::move(value)};
}
Write remove(std::string key, uint8_t space = 1) { return Write{space, std::move(key), {}}; }

std::string conformance_outcome(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

class StoreConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "memory") {
      backing = std::make_unique<MemoryBacking>();
    } else if (GetParam() == "sqlite") {
      backing = std::make_unique<SqliteBacking>();
    } else {
      backing = std::make_unique<PostgresBacking>();
    }
    open();
  }

  void open() {
    auto opened = backing->open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store = std::move(opened).value();
  }
  void reopen() {
    store.reset();
    open();
  }

  std::string write(std::vector<Write> writes) {
    return conformance_outcome(store->commit(Batch{.writes = std::move(writes)}));
  }
  std::string append(uint64_t number, std::string record, uint64_t trim_before = 0) {
    return conformance_outcome(store->commit(
        Batch{.number = number, .journal = std::move(record), .trim_journal_before = trim_before}));
  }
  std::string get(std::string_view key, uint8_t space = 1) {
    const auto value = store->get(space, key);
    if (!value.ok()) return "error " + value.error().message;
    return value->has_value() ? "=" + **value : "none";
  }
  // "a=1 b=2", in the order visited.
  std::string scan(std::string_view from, std::string_view to, bool reverse = false,
                   size_t limit = 1000, uint8_t space = 1) {
    std::string seen;
    const Status status = store->scan(space, from, to, reverse, limit,
                                      [&](std::string_view key, std::string_view value) {
                                        if (!seen.empty()) seen += ' ';
                                        seen.append(key).append("=").append(value);
                                        return true;
                                      });
    return status.ok() ? seen : "error " + status.error().message;
  }
  std::string keys(std::string_view from, std::string_view to, size_t limit = 1000) {
    std::string seen;
    const Status status = store->scan_keys(1, from, to, limit, [&](std::string_view key) {
      if (!seen.empty()) seen += ' ';
      seen.append(key);
      return key != "last";
    });
    return status.ok() ? seen : "error " + status.error().message;
  }
  std::string journal(uint64_t from, size_t limit = 1000) {
    std::string seen;
    const Status status =
        store->read_journal(from, limit, [&](uint64_t number, std::string_view record) {
          if (!seen.empty()) seen += ' ';
          seen.append(std::to_string(number)).append(":").append(record);
          return true;
        });
    return status.ok() ? seen : "error " + status.error().message;
  }
  std::string journal_range() const {
    return std::to_string(store->journal_first()) + ".." + std::to_string(store->journal_last());
  }

  std::unique_ptr<Backing> backing;
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(Each, StoreConformance, testing::Values("memory", "sqlite", "postgres"),
                         [](const auto& param) { return param.param; });

TEST_P(StoreConformance, WritesOfABatchApplyInOrder) {
  EXPECT_EQ(write({put("a", "1"), put("a", "2"), put("b", "1"), remove("b"), remove("c"),
                   put("c", "3"), remove("d"), put("e", "1"), remove("e"), put("e", "9")}),
            "ok");
  EXPECT_EQ(scan("", ""), "a=2 c=3 e=9");
}

TEST_P(StoreConformance, ALaterBatchReplacesAndDeletes) {
  EXPECT_EQ(write({put("a", "1"), put("b", "1"), put("c", "1")}), "ok");
  EXPECT_EQ(write({put("a", "22"), remove("b"), remove("never there")}), "ok");
  EXPECT_EQ(scan("", ""), "a=22 c=1");
  EXPECT_EQ(get("b"), "none");
}

TEST_P(StoreConformance, SpacesAreApart) {
  EXPECT_EQ(write({put("k", "zero", 0), put("k", "one", 1), put("k", "last", 255)}), "ok");
  EXPECT_EQ(write({remove("k", 1)}), "ok");
  EXPECT_EQ(get("k", 0) + " " + get("k", 1) + " " + get("k", 255), "=zero none =last");
  EXPECT_EQ(scan("", "", false, 10, 0), "k=zero");
  EXPECT_EQ(scan("", "", true, 10, 255), "k=last");
  EXPECT_EQ(scan("", "", false, 10, 7), "");
}

TEST_P(StoreConformance, KeysAreThoseOfAnAscendingScan) {
  EXPECT_EQ(write({put("a", "1"), put("b", std::string(3u << 20, 'x')), put("c", "3"),
                   put("last", "4"), put("more", "5"), put("b", "other space", 2)}),
            "ok");
  EXPECT_EQ(keys("", ""), "a b c last");  // told to stop there
  EXPECT_EQ(keys("b", "c"), "b");
  EXPECT_EQ(keys("b", "", 2), "b c");
  EXPECT_EQ(keys("m", ""), "more");
  EXPECT_EQ(keys("x", ""), "");
}

TEST_P(StoreConformance, ScansTakeTheirRangeInEitherDirectionUpToTheLimit) {
  EXPECT_EQ(write({put("a", "1"), put("b", "2"), put("ba", "3"), put("bb", "4"), put("c", "5")}),
            "ok");
  EXPECT_EQ(scan("b", "c"), "b=2 ba=3 bb=4");
  EXPECT_EQ(scan("b", "c", true), "bb=4 ba=3 b=2");
  EXPECT_EQ(scan("b", "", false, 2), "b=2 ba=3");
  EXPECT_EQ(scan("", "", true, 2), "c=5 bb=4");
  EXPECT_EQ(scan("", "bb", true, 2), "ba=3 b=2");
  EXPECT_EQ(scan("", "", false, 0), "");
  EXPECT_EQ(scan("bc", "c"), "");
  EXPECT_EQ(scan("c", "a"), "");
  EXPECT_EQ(scan("b", "b"), "");
  EXPECT_EQ(scan("d", ""), "");
}

TEST_P(StoreConformance, AVisitThatReturnsFalseEndsTheScan) {
  EXPECT_EQ(write({put("a", "1"), put("b", "2"), put("c", "3")}), "ok");
  std::string seen;
  EXPECT_TRUE(store->scan(1, "", "", false, 10, [&](std::string_view key, std::string_view) {
    seen += key;
    return key != "b";
  }));
  EXPECT_EQ(seen, "ab");
}

TEST_P(StoreConformance, AVisitMayUseTheStore) {
  EXPECT_EQ(write({put("a", "1"), put("b", "2")}), "ok");
  std::string seen;
  EXPECT_TRUE(store->scan(1, "", "", false, 10, [&](std::string_view key, std::string_view) {
    EXPECT_EQ(write({put("c" + std::string(key), "new")}), "ok");
    seen += get("c" + std::string(key)) + " ";
    return true;
  }));
  EXPECT_EQ(seen, "=new =new ") << "the scan itself keeps the state it began with";
}

TEST_P(StoreConformance, KeysAreBytesInMemcmpOrder) {
  const std::vector<std::string> keys = {"",       "\0"s,        "\0\0"s,    "\0\1"s,  "\1"s,
                                         "a"s,     "a\0"s,       "a\0b"s,    "a\x7f"s, "a\x80"s,
                                         "a\xff"s, "a\xff\xff"s, "\xfe\xff", "\xff"s,  "\xff\0"s};
  std::vector<Write> writes;
  for (const std::string& key : keys) writes.push_back(put(key, "v" + key));
  std::shuffle(writes.begin(), writes.end(), std::mt19937(7));
  EXPECT_EQ(write(writes), "ok");

  std::vector<std::string> seen;
  EXPECT_TRUE(store->scan(1, "", "", false, 100, [&](std::string_view key, std::string_view value) {
    EXPECT_EQ(value, "v" + std::string(key));
    seen.emplace_back(key);
    return true;
  }));
  EXPECT_EQ(seen, keys);
  EXPECT_EQ(get("a\0b"s), "=va\0b"s);
  EXPECT_EQ(scan("a\0"s, "a\0\1"s), "a\0=va\0"s);
}

TEST_P(StoreConformance, EmptyKeysAndValuesAreNotAbsence) {
  EXPECT_EQ(write({put("", ""), put("k", "")}), "ok");
  EXPECT_EQ(get(""), "=");
  EXPECT_EQ(get("k"), "=");
  EXPECT_EQ(get("x"), "none");
  EXPECT_EQ(append(1, ""), "ok");
  EXPECT_EQ(journal(0), "1:");
  EXPECT_EQ(write({remove("")}), "ok");
  EXPECT_EQ(scan("", ""), "k=");
}

TEST_P(StoreConformance, LargeValuesComeBackWhole) {
  std::string large(5 << 20, '\0');
  std::mt19937 random(1);
  for (char& byte : large) byte = static_cast<char>(random());
  EXPECT_EQ(write({put("a", "1"), put("large", large), put("z", "2")}), "ok");
  EXPECT_EQ(append(1, large), "ok");
  reopen();
  EXPECT_TRUE(get("large") == "=" + large);
  EXPECT_TRUE(journal(1) == "1:" + large);
  EXPECT_EQ(write({put("large", "small")}), "ok");
  EXPECT_EQ(scan("", ""), "a=1 large=small z=2");
}

TEST_P(StoreConformance, WhatPassesABoundIsRefusedAndFailsNothingElse) {
  EXPECT_EQ(write({put("before", "1"), put(std::string(kStoreKeyBytesMax + 1, 'k'), "v")}),
            "payload_too_large");
  EXPECT_EQ(get("before"), "none") << "a refused batch leaves nothing";
  EXPECT_EQ(write({put(std::string(kStoreKeyBytesMax, 'k'), "v")}), "ok");
  EXPECT_EQ(get(std::string(kStoreKeyBytesMax, 'k')), "=v");
  EXPECT_EQ(get(std::string(kStoreKeyBytesMax + 1, 'k')), "none");
}

TEST_P(StoreConformance, JournalNumbersAreContiguousFromOne) {
  EXPECT_EQ(journal_range(), "0..0");
  EXPECT_EQ(append(2, "gap at the start"), "conflict");
  EXPECT_EQ(append(1, "one"), "ok");
  EXPECT_EQ(append(1, "again"), "conflict");
  EXPECT_EQ(append(3, "gap"), "conflict");
  EXPECT_EQ(append(0, "without a number"), "conflict");
  EXPECT_EQ(append(2, "two"), "ok");
  EXPECT_EQ(journal(0), "1:one 2:two");
  EXPECT_EQ(journal_range(), "1..2");
}

TEST_P(StoreConformance, TheJournalOfACopyBeginsWhereTheOriginalDoes) {
  const auto begin = [&](uint64_t number) {
    return conformance_outcome(
        store->commit(Batch{.number = number, .journal = "r", .begins_journal = true}));
  };
  EXPECT_EQ(begin(7), "ok");
  EXPECT_EQ(journal_range(), "7..7");
  EXPECT_EQ(begin(9), "conflict") << "it has begun";
  EXPECT_EQ(append(8, "r"), "ok");
  reopen();
  EXPECT_EQ(journal(0), "7:r 8:r");
  EXPECT_EQ(journal_range(), "7..8");
}

TEST_P(StoreConformance, ARefusedRecordRefusesItsRows) {
  EXPECT_EQ(conformance_outcome(
                store->commit(Batch{.number = 5, .journal = "x", .writes = {put("a", "1")}})),
            "conflict");
  EXPECT_EQ(get("a"), "none");
}

TEST_P(StoreConformance, ReadJournalStartsAnywhereAndStopsAtTheLimit) {
  for (uint64_t number = 1; number <= 5; ++number) {
    EXPECT_EQ(append(number, std::string(1, static_cast<char>('a' + number - 1))), "ok");
  }
  EXPECT_EQ(journal(4), "4:d 5:e");
  EXPECT_EQ(journal(2, 2), "2:b 3:c");
  EXPECT_EQ(journal(6), "");
  EXPECT_EQ(journal(1, 0), "");
  uint64_t seen = 0;
  EXPECT_TRUE(store->read_journal(1, 10, [&](uint64_t number, std::string_view) {
    seen = number;
    return number < 3;
  }));
  EXPECT_EQ(seen, 3U);
}

TEST_P(StoreConformance, TrimKeepsWhatWasNotNamedAndTheNewest) {
  for (uint64_t number = 1; number <= 5; ++number) EXPECT_EQ(append(number, "r"), "ok");
  EXPECT_EQ(append(0, "", 3), "ok");
  EXPECT_EQ(journal(0), "3:r 4:r 5:r");
  EXPECT_EQ(append(0, "", 2), "ok") << "what is gone already is no error";
  EXPECT_EQ(append(6, "new", 100), "ok");
  EXPECT_EQ(journal(0), "6:new") << "the numbering continues from the newest";
  reopen();
  EXPECT_EQ(journal_range(), "6..6");
  EXPECT_EQ(append(1, "back to the start"), "conflict");
  EXPECT_EQ(append(7, "on"), "ok");
}

TEST_P(StoreConformance, TrimIsBoundedPerCommit) {
  const uint64_t count = 2 * kStoreTrimRecordsMax + 10;
  for (uint64_t number = 1; number <= count; ++number) ASSERT_EQ(append(number, "r"), "ok");
  EXPECT_EQ(append(0, "", count), "ok");
  EXPECT_EQ(store->journal_first(), backing->trims_whole ? count : 1 + kStoreTrimRecordsMax);
  EXPECT_EQ(append(0, "", count), "ok");
  EXPECT_EQ(append(0, "", count), "ok");
  EXPECT_EQ(store->journal_first(), count);
}

TEST_P(StoreConformance, TrimIsBoundedInBytesButAlwaysMoves) {
  const std::string half(kStoreTrimBytesMax / 2, 'h');
  for (uint64_t number = 1; number <= 4; ++number) ASSERT_EQ(append(number, half), "ok");
  ASSERT_EQ(append(5, std::string(kStoreTrimBytesMax + 1, 'x')), "ok");
  ASSERT_EQ(append(6, "last"), "ok");
  EXPECT_EQ(append(0, "", 6), "ok");
  EXPECT_EQ(store->journal_first(), backing->trims_whole ? 6U : 3U);
  EXPECT_EQ(append(0, "", 6), "ok");
  EXPECT_EQ(store->journal_first(), backing->trims_whole ? 6U : 5U);
  EXPECT_EQ(append(0, "", 6), "ok");
  EXPECT_EQ(store->journal_first(), 6U);
}

TEST_P(StoreConformance, ReopeningGivesEverythingBack) {
  EXPECT_EQ(conformance_outcome(store->commit(
                Batch{.number = 1, .journal = "one", .writes = {put("a", "1"), put("b", "2")}})),
            "ok");
  EXPECT_EQ(conformance_outcome(store->commit(
                Batch{.number = 2, .journal = "two", .writes = {remove("a"), put("c", "3")}})),
            "ok");
  reopen();
  EXPECT_EQ(scan("", ""), "b=2 c=3");
  EXPECT_EQ(journal(0), "1:one 2:two");
  EXPECT_EQ(journal_range(), "1..2");
  EXPECT_EQ(append(3, "three"), "ok");
}

TEST_P(StoreConformance, AnEmptyBatchIsNoCommit) {
  EXPECT_EQ(write({}), "ok");
  EXPECT_EQ(store->stats().commits, 0U);
  EXPECT_EQ(append(1, "four"), "ok");
  EXPECT_EQ(store->stats().commits, 1U);
  EXPECT_EQ(store->stats().journal_bytes, 4U);
}

TEST_P(StoreConformance, AFailureIsStickyUntilReopenedAndReadsGoOn) {
  EXPECT_EQ(conformance_outcome(
                store->commit(Batch{.number = 1, .journal = "one", .writes = {put("a", "1")}})),
            "ok");
  backing->disk_fails = true;
  EXPECT_EQ(conformance_outcome(
                store->commit(Batch{.number = 2, .journal = "two", .writes = {put("a", "2")}})),
            "store_failed");
  backing->disk_fails = false;
  EXPECT_EQ(append(2, "two"), "store_failed");
  EXPECT_EQ(write({put("b", "1")}), "store_failed");
  EXPECT_EQ(scan("", "") + " " + journal(0), "a=1 1:one");
  reopen();
  EXPECT_EQ(scan("", "") + " " + journal(0), "a=1 1:one");
  EXPECT_EQ(append(2, "two"), "ok");
}

TEST_P(StoreConformance, ReopenedInPlaceItTakesCommitsAgain) {
  EXPECT_EQ(append(1, "one"), "ok");
  backing->disk_fails = true;
  EXPECT_EQ(append(2, "lost"), "store_failed");
  EXPECT_EQ(conformance_outcome(store->reopen()), "store_failed") << "the disk still fails";
  EXPECT_EQ(append(2, "two"), "store_failed");
  EXPECT_EQ(journal(0), "1:one");
  backing->disk_fails = false;
  EXPECT_EQ(conformance_outcome(store->reopen()), "ok");
  EXPECT_EQ(store->journal_last(), 1u);
  EXPECT_EQ(append(2, "two"), "ok");
  EXPECT_EQ(append(3, "three"), "ok");
  EXPECT_EQ(conformance_outcome(store->reopen()), "ok") << "also one that has not failed";
  EXPECT_EQ(append(4, "four"), "ok");
  reopen();
  EXPECT_EQ(journal(0), "1:one 2:two 3:three 4:four");
}

TEST_P(StoreConformance, ASecondStoreOnTheSameDiskIsRefused) {
  const auto second = backing->open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::Unavailable);
  store.reset();
  EXPECT_TRUE(backing->open().ok());
}

// Batch n sets every key of a group to n: a reader that sees two values saw half a batch, one that
// misses a batch that was acknowledged before it began saw an old state.
TEST_P(StoreConformance, ReadersSeeWholeBatchesAndEveryReturnedCommit) {
  constexpr uint64_t kBatchesWritten = 400;
  constexpr int kKeys = 20;
  std::atomic<uint64_t> acknowledged = 0;
  std::atomic<bool> torn = false;
  std::atomic<bool> stale = false;
  std::atomic<bool> ahead = false;
  const auto read = [&] {
    while (acknowledged < kBatchesWritten && !torn && !stale && !ahead) {
      const uint64_t at_least = acknowledged;
      std::string first;
      int rows = 0;
      const Status status =
          store->scan(2, "", "", false, 100, [&](std::string_view, std::string_view value) {
            if (rows++ == 0) first = value.substr(0, 8);
            if (value.substr(0, 8) != first) torn = true;
            return true;
          });
      if (!status.ok() || (at_least > 0 && rows != kKeys)) torn = true;
      if (at_least > 0 && std::stoull(first) < at_least) stale = true;
      const auto one = store->get(2, "key 3");
      if (!one.ok() || (at_least > 0 && std::stoull(**one) < at_least)) stale = true;
      if (store->journal_last() < at_least) stale = true;
      uint64_t newest = 0;
      const Status journal = store->read_journal(0, 1000, [&](uint64_t number, std::string_view) {
        newest = number;
        return true;
      });
      if (!journal.ok() || newest > store->journal_last()) ahead = true;
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  for (uint64_t number = 1; number <= kBatchesWritten; ++number) {
    Batch batch{.number = number, .journal = std::string(300, 'j')};
    batch.trim_journal_before = number;
    const std::string digits = std::to_string(number);
    const std::string value = std::string(8 - digits.size(), '0') + digits + std::string(300, ' ');
    for (int key = 0; key < kKeys; ++key) {
      batch.writes.push_back(put("key " + std::to_string(key), value, 2));
    }
    const Status status = store->commit(batch);
    ASSERT_TRUE(status.ok()) << status.error().message;
    acknowledged = number;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(torn);
  EXPECT_FALSE(stale);
  EXPECT_FALSE(ahead);
}

// Compares the store with a std::map over random batches and restarts.
TEST_P(StoreConformance, AgreesWithAMapOverRandomBatchesAndRestarts) {
  std::mt19937 random(20240229);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  std::map<std::string, std::string> rows;
  std::map<uint64_t, std::string> records;
  for (uint64_t number = 1; number <= 300; ++number) {
    Batch batch{.number = number, .journal = std::string(below(5000), 'j')};
    for (uint32_t i = below(30); i > 0; --i) {
      const std::string key(1 + below(3), static_cast<char>(below(40)));
      if (below(3) == 0) {
        batch.writes.push_back(remove(key));
        rows.erase(key);
      } else {
        batch.writes.push_back(put(
            key, std::string(below(below(8) == 0 ? 40'000 : 3000), static_cast<char>(below(256)))));
        rows[key] = *batch.writes.back().value;
      }
    }
    records[number] = batch.journal;
    if (below(4) == 0) {
      batch.trim_journal_before = number - std::min<uint64_t>(number, below(40));
      records.erase(records.begin(), records.lower_bound(batch.trim_journal_before));
    }
    ASSERT_EQ(conformance_outcome(store->commit(batch)), "ok");
    if (below(25) != 0) continue;
    reopen();
    std::map<std::string, std::string> rows_back;
    std::map<uint64_t, std::string> records_back;
    ASSERT_TRUE(store->scan(1, "", "", below(2) == 0, 100000, [&](auto key, auto value) {
      return rows_back.emplace(key, value).second;
    }));
    ASSERT_TRUE(store->read_journal(0, 100000, [&](uint64_t at, std::string_view record) {
      return records_back.emplace(at, record).second;
    }));
    ASSERT_TRUE(rows_back == rows) << "after batch " << number;
    ASSERT_TRUE(records_back == records) << "after batch " << number;
  }
}

}  // namespace
}  // namespace pawl
