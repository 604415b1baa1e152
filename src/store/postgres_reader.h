// Reads of one partition, each on a connection of its own: a read neither waits for a commit nor
// sees part of one. Thread: any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "store/postgres_pool.h"
#include "store/postgres_segments.h"

namespace pawl {

struct ScanRange {
  uint8_t space = 0;
  std::string_view from;
  std::string_view to;  // "" = no end
  bool reverse = false;
  bool keys_only = false;
};

class PostgresReader {
 public:
  using VisitRow = FunctionRef<bool(std::string_view key, std::string_view value)>;
  using VisitRecord = FunctionRef<bool(uint64_t number, std::string_view record)>;

  PostgresReader(std::shared_ptr<pg::Pool> pool, uint16_t partition)
      : pool_(std::move(pool)), partition_(partition) {}

  Result<std::optional<std::string>> get(uint8_t space, std::string_view key);
  Status scan(const ScanRange& range, size_t limit, VisitRow visit);
  // Records from `from` up to `last`, which lie in `segments`.
  Status read_journal(const Segments& segments, uint64_t from, uint64_t last, size_t limit,
                      VisitRecord visit);

 private:
  Result<pg::Pool::Lease> begin_reading();
  Status scan_one_page(const ScanRange& range, size_t limit, VisitRow visit);
  Result<size_t> scan_page(pg::Connection& database, const ScanRange& range, std::string& behind,
                           bool first, size_t limit, bool& going, VisitRow visit);

  const std::shared_ptr<pg::Pool> pool_;
  const uint16_t partition_;
};

}  // namespace pawl
