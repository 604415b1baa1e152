// The cost of a commit: the figures of docs/adr/0001-storage.md.
//
//   store_bench DIRECTORY [rows=0] [page=8192] [seconds=2] [sums=1]
//
// Opens (or creates) a store, brings space 1 up to `rows` rows of 350 bytes under ascending 16-byte
// keys, then measures each kind of batch and read for `seconds`. CPU is the committing thread's
// own, so that waiting for the disk and the checkpoint thread do not hide it; the process's CPU
// stands beside it.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "store/sqlite_store.h"

namespace pawl {
namespace {

constexpr size_t kRowBytes = 350;

double now_us(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

std::string row_key(uint64_t number) { return fmt::format("{:016x}", number); }

struct Settings {
  std::string directory;
  uint64_t rows = 0;
  uint64_t page_bytes = 8192;
  uint64_t seconds = 2;
  bool sums = true;  // of the pages
};

struct Bench {
  Store& store;
  const Settings& settings;
  uint64_t next_row = 0;

  void fatal(const Status& status) const {
    if (status.ok()) return;
    fmt::print(stderr, "{}\n", status.error().message);
    std::exit(1);
  }

  void put_rows(Batch& batch, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      batch.writes.push_back({1, row_key(++next_row), std::string(kRowBytes, 'v')});
    }
  }

  void preload() {
    while (next_row < settings.rows) {
      Batch batch;
      put_rows(batch, 4096);
      fatal(store.commit(batch));
    }
  }

  void commits(const char* name, size_t journal_bytes, uint64_t puts, uint64_t journal_kept) {
    std::vector<double> walls;
    double thread_us = 0;
    const double process_start = now_us(CLOCK_PROCESS_CPUTIME_ID);
    double build_us = 0;
    const StoreStats before = store.stats();
    const double end = now_us(CLOCK_MONOTONIC) + static_cast<double>(settings.seconds) * 1e6;
    while (now_us(CLOCK_MONOTONIC) < end) {
      const double build_start = now_us(CLOCK_THREAD_CPUTIME_ID);
      Batch batch{.number = store.journal_last() + 1, .journal = std::string(journal_bytes, 'j')};
      if (batch.number > journal_kept) batch.trim_journal_before = batch.number - journal_kept;
      put_rows(batch, puts);
      const double cpu = now_us(CLOCK_THREAD_CPUTIME_ID);
      const double wall = now_us(CLOCK_MONOTONIC);
      fatal(store.commit(batch));
      walls.push_back(now_us(CLOCK_MONOTONIC) - wall);
      thread_us += now_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
      build_us += cpu - build_start;
    }
    const auto count = static_cast<double>(walls.size());
    const double process_us = now_us(CLOCK_PROCESS_CPUTIME_ID) - process_start - build_us;
    std::sort(walls.begin(), walls.end());
    const StoreStats after = store.stats();
    fmt::print("{:<28} {:>8.1f} {:>8.1f} {:>9.0f} {:>9.0f} {:>9.0f} {:>7.2f} {:>8.0f}\n", name,
               thread_us / count, process_us / count, walls[walls.size() / 2],
               walls[walls.size() * 99 / 100], walls.back(),
               static_cast<double>(after.fsyncs - before.fsyncs) / count,
               static_cast<double>(after.sync_ns_p50) / 1e3);
  }

  void reads(const char* name, FunctionRef<void(uint64_t random)> read) {
    constexpr uint64_t kReads = 20000;
    uint64_t random = 88172645463325252U;
    const double start = now_us(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < kReads; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      read(random);
    }
    fmt::print("{:<28} {:>8.2f} us CPU each\n", name,
               (now_us(CLOCK_THREAD_CPUTIME_ID) - start) / kReads);
  }

  void run() {
    fmt::print("{:<28} {:>8} {:>8} {:>9} {:>9} {:>9} {:>7} {:>8}\n", "batch", "cpu_us", "proc_us",
               "wall_p50", "wall_p99", "wall_max", "fsyncs", "sync_p50");
    commits("journal 300 B", 300, 0, 10000);
    commits("journal 150 KB", 150 << 10, 0, 200);
    commits("journal 300 B + 64 puts", 300, 64, 10000);
    commits("journal 300 B + 512 puts", 300, 512, 10000);
    commits("journal 150 KB + 512 puts", 150 << 10, 512, 200);
    const auto random_key = [&](uint64_t random) { return row_key(1 + random % next_row); };
    reads("get, random", [&](uint64_t random) {
      if (!store.get(1, random_key(random)).ok()) std::exit(1);
    });
    reads("get, one of 100 keys", [&](uint64_t random) {
      if (!store.get(1, row_key(1 + random % 100)).ok()) std::exit(1);
    });
    reads("scan of 10, random", [&](uint64_t random) {
      fatal(store.scan(1, random_key(random), "", false, 10, [](auto, auto) { return true; }));
    });
  }
};

uint64_t last_row(Store& store) {
  uint64_t last = 0;
  const auto visit = [&](std::string_view key, std::string_view) {
    std::from_chars(key.data(), key.data() + key.size(), last, 16);
    return false;
  };
  return store.scan(1, "", "", true, 1, visit).ok() ? last : 0;
}

int run(const Settings& settings) {
  SqliteOptions options;
  options.page_bytes = settings.page_bytes;
  options.page_sums = settings.sums;
  const double start = now_us(CLOCK_MONOTONIC);
  auto opened = open_sqlite(settings.directory, options);
  if (!opened.ok()) {
    fmt::print(stderr, "{}\n", opened.error().message);
    return 1;
  }
  fmt::print("open: {:.0f} us\n", now_us(CLOCK_MONOTONIC) - start);
  Bench bench{**opened, settings, last_row(**opened)};
  const double loading = now_us(CLOCK_MONOTONIC);
  const uint64_t before = bench.next_row;
  bench.preload();
  if (bench.next_row > before) {
    fmt::print("preload: {:.2f} us wall per row\n",
               (now_us(CLOCK_MONOTONIC) - loading) / static_cast<double>(bench.next_row - before));
  }
  fmt::print("rows {}, file {} MB, page {}\n", bench.next_row, (*opened)->stats().file_bytes >> 20,
             settings.page_bytes);
  bench.run();
  return 0;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: store_bench DIRECTORY [rows=0] [page=8192] [seconds=2] [sums=1]\n");
    return 2;
  }
  pawl::Settings settings{.directory = argv[1]};
  if (argc > 2) settings.rows = std::stoull(argv[2]);
  if (argc > 3) settings.page_bytes = std::stoull(argv[3]);
  if (argc > 4) settings.seconds = std::stoull(argv[4]);
  if (argc > 5) settings.sums = std::stoull(argv[5]) != 0;
  return pawl::run(settings);
}
