// Where the records of one partition are: in which tables, and from which number to which. The list
// is ascending and without gaps; the last segment is the one that records are appended to.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "store/postgres_connection.h"

namespace pawl {

struct Segment {
  uint32_t id = 1;
  uint64_t first = 0;  // 0 and 0: no record of this partition
  uint64_t last = 0;

  bool empty() const { return last == 0; }
};

class Segments {
 public:
  // What is in the tables from `first_segment` on.
  Status load(pg::Connection& database, uint16_t partition, uint32_t first_segment);

  std::vector<Segment> list() const;  // empty until they are loaded
  Segment last() const;               // where the newest record is
  uint32_t newest() const;  // where the next one goes: the same, or one that is still empty
  void open(uint32_t newest);
  void appended(uint64_t number);
  // Segments whose records all are below `number` are let go, but for the newest.
  void forget_before(uint64_t number);
  // The oldest one's records from `first` on are in the one behind it now.
  void carried(uint64_t first);

 private:
  mutable std::mutex mutex_;
  std::vector<Segment> held_;  // guarded by mutex_; never empty once loaded
};

}  // namespace pawl
