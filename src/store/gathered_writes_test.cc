#include "store/gathered_writes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

// A file in memory that counts writes.
struct MemoryFile {
  sqlite3_file head{&kMethods};  // must come first
  std::string bytes;
  std::vector<int> sizes;
  int code = SQLITE_OK;

  static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
    auto& self = *reinterpret_cast<MemoryFile*>(file);
    if (self.code != SQLITE_OK) return self.code;
    const size_t end = static_cast<size_t>(at) + static_cast<size_t>(size);
    if (self.bytes.size() < end) self.bytes.resize(end, '.');
    self.bytes.replace(static_cast<size_t>(at), static_cast<size_t>(size),
                       static_cast<const char*>(from), static_cast<size_t>(size));
    self.sizes.push_back(size);
    return SQLITE_OK;
  }
  static constexpr sqlite3_io_methods kMethods = {.iVersion = 3, .xWrite = write};
};

int put(GatheredWrites& gathered, MemoryFile& file, const std::string& text, sqlite3_int64 at) {
  return gathered.write(&file.head, text.data(), static_cast<int>(text.size()), at);
}

TEST(GatheredWrites, makes_one_of_those_that_follow_each_other) {
  MemoryFile file;
  GatheredWrites gathered;
  put(gathered, file, "head", 2);
  put(gathered, file, "page", 6);
  EXPECT_TRUE(file.sizes.empty());
  EXPECT_EQ(gathered.flush(&file.head), SQLITE_OK);
  EXPECT_EQ(file.bytes, "..headpage");
  EXPECT_EQ(file.sizes, std::vector<int>{8});
  EXPECT_EQ(gathered.flush(&file.head), SQLITE_OK);
  EXPECT_EQ(file.sizes.size(), 1u) << "nothing waits any more";
}

TEST(GatheredWrites, keeps_the_order_of_writes_to_one_place) {
  MemoryFile file;
  GatheredWrites gathered;
  put(gathered, file, "aaaa", 0);
  put(gathered, file, "bb", 1);
  put(gathered, file, "c", 3);
  gathered.flush(&file.head);
  EXPECT_EQ(file.bytes, "abbc");
}

TEST(GatheredWrites, holds_little_and_loses_nothing_of_much) {
  MemoryFile file;
  GatheredWrites gathered;
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<size_t>(997 + i), static_cast<char>('a' + i % 26));
    ASSERT_EQ(put(gathered, file, piece, static_cast<sqlite3_int64>(all.size())), SQLITE_OK);
    all += piece;
    ASSERT_LE(all.size() - file.bytes.size(), 96u << 10);
  }
  const std::string large(1u << 20, 'L');
  put(gathered, file, large, static_cast<sqlite3_int64>(all.size()));
  gathered.flush(&file.head);
  EXPECT_EQ(file.bytes, all + large);
  EXPECT_LT(file.sizes.size(), 20u);
}

TEST(GatheredWrites, tells_that_the_disk_is_full_and_does_not_try_again) {
  MemoryFile file;
  GatheredWrites gathered;
  put(gathered, file, "lost", 0);
  file.code = SQLITE_FULL;
  EXPECT_EQ(gathered.flush(&file.head), SQLITE_FULL);
  file.code = SQLITE_OK;
  put(gathered, file, "kept", 100);
  EXPECT_EQ(gathered.flush(&file.head), SQLITE_OK);
  EXPECT_EQ(file.bytes.substr(0, 4), "....");
}

TEST(GatheredWrites, forgets_what_a_failed_commit_wanted) {
  MemoryFile file;
  GatheredWrites gathered;
  put(gathered, file, "stale", 0);
  gathered.forget();
  EXPECT_EQ(gathered.flush(&file.head), SQLITE_OK);
  EXPECT_TRUE(file.bytes.empty());
}

}  // namespace
}  // namespace pawl
