// If the disk changes the store's files, a read returns what was written, or Corrupt.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "store/page_sum.h"
#include "store/sqlite_store.h"
#include "store/testing/backing.h"

namespace pawl {
namespace {

constexpr uint64_t kPageBytes = 1024;
constexpr uint64_t kBatches = 40;

std::string rot_outcome(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void save(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
void flip(std::string& bytes, uint64_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
}

SqliteOptions small_pages(bool sums) {
  SqliteOptions options;
  options.page_bytes = kPageBytes;
  options.page_sums = sums;
  return options;
}

// Values that fit into their page, and some with overflow pages.
Batch rot_batch(uint64_t n) {
  Batch batch{.number = n, .journal = "record " + std::to_string(n)};
  const std::string text = std::to_string(n * 7919) + ";";
  for (uint8_t space = 1; space <= 2; ++space) {
    std::string value;
    while (value.size() < (n % 5 == 0 ? 3'000u : 150u)) value += text;
    batch.writes.push_back({space, "row " + std::to_string(n), value});
  }
  return batch;
}

void fill(Store& store) {
  for (uint64_t n = 1; n <= kBatches; ++n) ASSERT_EQ(rot_outcome(store.commit(rot_batch(n))), "ok");
}

Result<std::string> dump(Store& store) {
  std::string text;
  for (uint8_t space = 1; space <= 2; ++space)
    PAWL_TRY_DO(store.scan(space, "", "", false, SIZE_MAX,
                           [&](std::string_view key, std::string_view value) {
                             text += std::string(key) + "=" + std::string(value) + "\n";
                             return true;
                           }));
  PAWL_TRY_DO(store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    text += std::to_string(number) + ":" + std::string(record) + "\n";
    return true;
  }));
  return text;
}

std::string make_database(const std::string& directory, bool sums) {
  auto store = open_sqlite(directory, small_pages(sums));
  EXPECT_TRUE(store.ok());
  fill(**store);
  auto text = dump(**store);
  EXPECT_TRUE(text.ok());
  return *text;
}

// The complete contents, or the error code of the read.
std::string read_all(const std::string& directory) {
  auto store = open_sqlite(directory);
  if (!store.ok()) return std::string(wire_code(store.error().code));
  auto text = dump(**store);
  return text.ok() ? *text : std::string(wire_code(text.error().code));
}

class Rot : public ::testing::Test {
 protected:
  // A data directory with exactly these files.
  std::string with_files(const std::string& database, const std::string& log = "") {
    std::filesystem::remove_all(directory_ / "rotten");
    std::filesystem::create_directory(directory_ / "rotten");
    save(directory_ / "rotten/pawl.db", database);
    if (!log.empty()) save(directory_ / "rotten/pawl.db-wal", log);
    return directory_ / "rotten";
  }

  const TempDirectory directory_;
  std::mt19937_64 random_{7};
};

TEST_F(Rot, OneBitAnywhereInTheDatabase) {
  const std::string good = make_database(directory_ / "data", true);
  const std::string bytes = load(directory_ / "data/pawl.db");
  ASSERT_EQ(read_all(with_files(bytes)), good);
  const uint64_t pages = bytes.size() / kPageBytes;
  ASSERT_GT(pages, 40u);
  std::vector<uint64_t> bits;
  for (uint64_t bit = 0; bit < 100 * 8; bit += 3) bits.push_back(bit);  // the header
  for (uint64_t page = 0; page < pages; ++page) {
    for (int i = 0; i < 3; ++i)
      bits.push_back((page * kPageBytes * 8) + random_() % (kPageBytes * 8));
    bits.push_back((page + 1) * kPageBytes * 8 - 1 - random_() % (kPageSumBytes * 8));
  }
  uint64_t found = 0;
  for (uint64_t bit : bits) {
    std::string rotten = bytes;
    flip(rotten, bit);
    const std::string read = read_all(with_files(rotten));
    ASSERT_TRUE(read == "corrupt" || read == good) << "bit " << bit << ": " << read.substr(0, 200);
    found += read == "corrupt" ? 1 : 0;
  }
  std::printf("%zu bits flipped in %lu pages, %lu found\n", bits.size(),
              static_cast<unsigned long>(pages), static_cast<unsigned long>(found));
  EXPECT_GT(found * 100, bits.size() * 95) << "only a page that nothing needs is not read";
}

TEST_F(Rot, PagesThatChangePlacesAreFound) {
  const std::string good = make_database(directory_ / "data", true);
  const std::string bytes = load(directory_ / "data/pawl.db");
  const uint64_t pages = bytes.size() / kPageBytes;
  for (uint64_t page = 1; page + 1 < pages; ++page) {
    std::string rotten = bytes;
    std::swap_ranges(rotten.begin() + static_cast<long>(page * kPageBytes),
                     rotten.begin() + static_cast<long>((page + 1) * kPageBytes),
                     rotten.begin() + static_cast<long>((page + 1) * kPageBytes));
    const std::string read = read_all(with_files(rotten));
    ASSERT_TRUE(read == "corrupt" || read == good) << "page " << page + 1;
  }
}

TEST_F(Rot, WipedSectorsAndALostEndAreFound) {
  const std::string good = make_database(directory_ / "data", true);
  const std::string bytes = load(directory_ / "data/pawl.db");
  for (uint64_t at = 0; at < bytes.size(); at += 512) {
    std::string rotten = bytes;
    std::fill_n(rotten.begin() + static_cast<long>(at), 512, '\0');
    std::string read = read_all(with_files(rotten));
    ASSERT_TRUE(read == "corrupt" || read == good) << "wiped at " << at;
    if (at == 0) continue;
    read = read_all(with_files(bytes.substr(0, at)));
    ASSERT_TRUE(read == "corrupt" || read == good) << "cut at " << at;
  }
}

TEST_F(Rot, NamesThePageWhileTheStoreIsOpen) {
  SqliteOptions options = small_pages(true);
  options.readers_kept = 0;  // each read opens a new connection
  { ASSERT_NE(make_database(directory_ / "data", true), ""); }
  auto store = open_sqlite(directory_ / "data", options);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(dump(**store).ok());
  const std::string path = directory_ / "data/pawl.db";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const uint64_t pages = std::filesystem::file_size(path) / kPageBytes;
  for (uint64_t page = 5; page < pages; ++page) {
    file.seekp(static_cast<std::streamoff>(page * kPageBytes + 100));
    file.put('\x5a');
  }
  file.close();
  auto text = dump(**store);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::Corrupt);
  EXPECT_NE(text.error().message.find(" of pawl.db is damaged"), std::string::npos)
      << text.error().message;
  EXPECT_EQ(rot_outcome((*store)->backup(directory_ / "copy", [](uint64_t, uint64_t) {})),
            "corrupt");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "copy"));
}

// --- values with a checksum of their own

struct Row {
  uint8_t space;  // 0: a record of the journal
  std::string key, value;
  bool operator==(const Row&) const = default;
};

Result<std::vector<Row>> rows_of(Store& store) {
  std::vector<Row> rows;
  for (uint8_t space = 1; space <= 2; ++space)
    PAWL_TRY_DO(store.scan(space, "", "", false, SIZE_MAX,
                           [&](std::string_view key, std::string_view value) {
                             rows.push_back({space, std::string(key), std::string(value)});
                             return true;
                           }));
  PAWL_TRY_DO(store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view record) {
    rows.push_back({0, std::to_string(number), std::string(record)});
    return true;
  }));
  return rows;
}

SqliteOptions first_space_checked() {
  SqliteOptions options;
  options.self_checked = [](uint8_t space, std::string_view) { return space == 1; };
  return options;
}

// What a reader finds: "corrupt", "good", or the one row whose value has one byte changed.
std::string reader_finds(const std::string& directory, const std::vector<Row>& good) {
  auto store = open_sqlite(directory, first_space_checked());
  if (!store.ok()) return std::string(wire_code(store.error().code));
  auto rows = rows_of(**store);
  if (!rows.ok()) return std::string(wire_code(rows.error().code));
  if (rows->size() != good.size()) return "another number of rows";
  std::string found = "good";
  for (size_t i = 0; i < good.size(); ++i) {
    const Row &is = (*rows)[i], &was = good[i];
    if (is == was) continue;
    if (found != "good") return "several rows";
    if (is.space != was.space || is.key != was.key || is.value.size() != was.value.size())
      return "another row";
    size_t changed = 0;
    for (size_t at = 0; at < was.value.size(); ++at) changed += is.value[at] != was.value[at];
    found = changed == 1 ? "one byte in space " + std::to_string(is.space) : "several bytes";
  }
  return found;
}

TEST_F(Rot, AChangedByteIsLeftToAReaderWhoChecks) {
  make_database(directory_ / "data", true);
  std::vector<Row> good;
  {
    auto store = open_sqlite(directory_ / "data");
    good = rows_of(**store).value();
  }
  const std::string bytes = load(directory_ / "data/pawl.db");
  std::map<std::string, int> found;
  for (int i = 0; i < 600; ++i) {
    std::string rotten = bytes;
    char& byte = rotten[random_() % bytes.size()];
    byte = static_cast<char>(byte ^ static_cast<char>(1 + random_() % 255));
    ++found[reader_finds(with_files(rotten), good)];
  }
  std::string finds;
  for (const auto& [what, times] : found) finds += what + (times > 20 ? "; " : "?; ");
  EXPECT_EQ(finds, "corrupt; good; one byte in space 0?; one byte in space 1; ");
}

// The bytes of a removed row stay in its page, and nothing reads them again.
TEST_F(Rot, AChangedByteOfARemovedRowHarmsNobody) {
  const std::string gone = "the only row that says this";
  std::vector<Row> good;
  {
    auto store = open_sqlite(directory_ / "data", small_pages(true));
    fill(**store);
    Batch added = rot_batch(kBatches + 1), removed = rot_batch(kBatches + 2);
    added.writes.push_back({2, "row 20 and a half", gone});
    removed.writes.push_back({2, "row 20 and a half", std::nullopt});
    ASSERT_EQ(rot_outcome((*store)->commit(added)), "ok");
    ASSERT_EQ(rot_outcome((*store)->commit(removed)), "ok");
    good = rows_of(**store).value();
  }
  const std::string bytes = load(directory_ / "data/pawl.db");
  const size_t left = bytes.find(gone);
  ASSERT_NE(left, std::string::npos);
  for (size_t at = left; at < left + gone.size(); ++at) {
    std::string rotten = bytes;
    flip(rotten, at * 8 + 3);
    EXPECT_EQ(reader_finds(with_files(rotten), good), "good") << at - left;
    EXPECT_EQ(read_all(with_files(rotten)), "corrupt") << "without readers who check";
  }
}

TEST_F(Rot, TwoChangedBytesAreLeftToNobody) {
  make_database(directory_ / "data", true);
  std::vector<Row> good;
  {
    auto store = open_sqlite(directory_ / "data");
    good = rows_of(**store).value();
  }
  const std::string bytes = load(directory_ / "data/pawl.db");
  for (int i = 0; i < 200; ++i) {
    std::string rotten = bytes;
    const uint64_t page = random_() % (bytes.size() / kPageBytes) * kPageBytes;
    const uint64_t at = page + random_() % (kPageBytes - 100);
    flip(rotten, at * 8);
    flip(rotten, (at + 1 + random_() % 90) * 8);
    const std::string finds = reader_finds(with_files(rotten), good);
    ASSERT_TRUE(finds == "corrupt" || finds == "good") << finds << " at " << at;
  }
}

TEST(PageSum, TellsWhichByteWasChanged) {
  std::mt19937_64 random(3);
  std::string page(8192, '\0');
  for (char& byte : page) byte = static_cast<char>(random());
  put_page_sum(page.data(), 8192, 77);
  EXPECT_EQ(find_changed_byte(page.data(), 8192, 77), std::nullopt) << "nothing was changed";
  for (uint32_t at = 0; at < 8192 - kPageSumBytes; at += 13) {
    const char before = page[at];
    page[at] = static_cast<char>(before ^ static_cast<char>(1 + random() % 255));
    EXPECT_EQ(find_changed_byte(page.data(), 8192, 77), at);
    page[at] = before;
  }
}

// --- the log

struct Unclosed {
  std::string database, log;
  std::vector<std::string> dumps;  // after so many batches
};

Unclosed leave_unclosed(const std::string& directory) {
  Unclosed left;
  auto store = open_sqlite(directory, small_pages(true));
  EXPECT_TRUE(store.ok());
  left.dumps.push_back(*dump(**store));
  for (uint64_t n = 1; n <= kBatches; ++n) {
    EXPECT_EQ(rot_outcome((*store)->commit(rot_batch(n))), "ok");
    left.dumps.push_back(*dump(**store));
  }
  left.database = load(directory + "/pawl.db");
  left.log = load(directory + "/pawl.db-wal");
  return left;
}

// A log ends at its first bad sum, so it loses its last commits as after a power cut.
TEST_F(Rot, OneBitInALogThatACrashLeft) {
  const Unclosed left = leave_unclosed(directory_ / "data");
  ASSERT_EQ(read_all(with_files(left.database, left.log)), left.dumps.back());
  // The checkpoint sequence number is the one unprotected part of the log's header.
  for (uint64_t bit = 0; bit < kLogHeaderBytes * 8; bit += bit == 12 * 8 - 1 ? 4 * 8 + 1 : 1) {
    std::string rotten = left.log;
    flip(rotten, bit);
    ASSERT_EQ(read_all(with_files(left.database, rotten)), "corrupt") << "bit " << bit;
  }
  uint64_t found = 0, cut = 0;
  constexpr uint64_t kFlips = 400;
  for (uint64_t i = 0; i < kFlips; ++i) {
    std::string rotten = left.log;
    const uint64_t past_header = kLogHeaderBytes * 8;
    flip(rotten, past_header + random_() % (rotten.size() * 8 - past_header));
    const std::string read = read_all(with_files(left.database, rotten));
    found += read == "corrupt" ? 1 : 0;
    if (read == "corrupt" || read == left.dumps.back()) continue;
    ++cut;
    ASSERT_TRUE(read == left.dumps[kBatches - 1] || read == left.dumps[kBatches - 2]);
  }
  std::printf("%lu bits flipped, %lu found, %lu took the last commits\n",
              static_cast<unsigned long>(kFlips), static_cast<unsigned long>(found),
              static_cast<unsigned long>(cut));
  EXPECT_GT(found, kFlips * 85 / 100);
}

// SQLite checks its sums only when it recovers a log; later reads must detect damage too.
TEST_F(Rot, OneBitInTheLogOfAnOpenStore) {
  SqliteOptions options = small_pages(true);
  options.readers_kept = 0;
  auto store = open_sqlite(directory_ / "data", options);
  ASSERT_TRUE(store.ok());
  fill(**store);
  auto good = dump(**store);
  ASSERT_TRUE(good.ok());
  const std::string path = directory_ / "data/pawl.db-wal";
  const std::string log = load(path);
  uint64_t found = 0;
  for (int i = 0; i < 300; ++i) {
    std::string rotten = log;
    flip(rotten, random_() % (rotten.size() * 8));
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << rotten;
    auto read = dump(**store);
    ASSERT_TRUE(read.ok() ? *read == *good : read.error().code == ErrorCode::Corrupt);
    found += read.ok() ? 0 : 1;
  }
  EXPECT_GT(found, 20u) << "most frames are older versions of their pages";
}

// --- databases of before

TEST_F(Rot, ADatabaseWithoutSumsGoesOnWithoutThem) {
  const std::string good = make_database(directory_ / "old", false);
  EXPECT_EQ(load(directory_ / "old/pawl.db")[20], 0);
  EXPECT_EQ(read_all(directory_ / "old"), good);
  {
    auto store = open_sqlite(directory_ / "old");
    ASSERT_TRUE(store.ok());
    EXPECT_EQ(rot_outcome((*store)->commit(rot_batch(kBatches + 1))), "ok");
  }
  EXPECT_EQ(load(directory_ / "old/pawl.db")[20], 0);
  EXPECT_NE(read_all(directory_ / "old"), good);
}

TEST_F(Rot, BackupsOfBothKindsAreWhole) {
  for (bool sums : {false, true}) {
    const std::string name = sums ? "new" : "old";
    const std::string good = make_database(directory_ / name, sums);
    auto store = open_sqlite(directory_ / name);
    ASSERT_TRUE(store.ok());
    ASSERT_EQ(rot_outcome((*store)->commit(rot_batch(kBatches + 1))), "ok")
        << "a part is in the log";
    ASSERT_EQ(rot_outcome((*store)->backup(directory_ / (name + ".db"), [](uint64_t, uint64_t) {})),
              "ok");
    const std::string copy = load(directory_ / (name + ".db"));
    EXPECT_EQ(copy[20], sums ? 8 : 0);
    EXPECT_EQ(read_all(with_files(copy)), *dump(**store));
    for (uint64_t page = 1; sums && page <= copy.size() / kPageBytes; ++page)
      ASSERT_EQ(check_page(copy.data() + (page - 1) * kPageBytes, kPageBytes, page),
                PageState::Whole)
          << page;
  }
}

}  // namespace
}  // namespace pawl
