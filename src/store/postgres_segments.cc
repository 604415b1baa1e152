#include "store/postgres_segments.h"

#include "base/check.h"
#include "store/postgres_schema.h"

namespace pawl {

Status Segments::load(pg::Connection& database, uint16_t partition, uint32_t first_segment) {
  PAWL_TRY(const pg::Rows ids,
           database.run("SELECT id FROM pawl_segment WHERE id >= $1::int4"
                        " ORDER BY id",
                        pg::Params().int4(static_cast<int32_t>(first_segment))));
  if (ids.size() == 0)
    return Error{ErrorCode::Corrupt, "the database lacks the tables of its journal"};
  std::vector<Segment> found;
  for (size_t i = 0; i < ids.size(); ++i) {
    Segment segment{.id = static_cast<uint32_t>(ids.number(i, 0))};
    PAWL_TRY(const pg::Rows bounds,
             database.run("SELECT min(number), max(number) FROM " + segment_table(segment.id) +
                              " WHERE partition = $1::int4",
                          pg::Params().int4(partition)));
    segment.first = bounds.number(0, 0);
    segment.last = bounds.number(0, 1);
    if (!segment.empty() || i + 1 == ids.size()) found.push_back(segment);
  }
  // Records that were carried over are in two tables until the older one is dropped.
  for (size_t i = found.size() - 1; i > 0; --i)
    if (!found[i].empty() && found[i - 1].last >= found[i].first)
      found[i - 1].last = found[i].first - 1;
  std::erase_if(found,
                [&](const Segment& one) { return &one != &found.back() && one.last < one.first; });
  std::lock_guard lock(mutex_);
  held_ = std::move(found);
  return ok_status();
}

std::vector<Segment> Segments::list() const {
  std::lock_guard lock(mutex_);
  return held_;
}

Segment Segments::last() const {
  std::lock_guard lock(mutex_);
  if (held_.back().empty() && held_.size() > 1) return held_[held_.size() - 2];
  return held_.back();
}

uint32_t Segments::newest() const {
  std::lock_guard lock(mutex_);
  return held_.back().id;
}

void Segments::open(uint32_t newest) {
  std::lock_guard lock(mutex_);
  if (newest <= held_.back().id) return;
  if (held_.back().empty()) {
    held_.back().id = newest;
  } else {
    held_.push_back({.id = newest});
  }
}

void Segments::appended(uint64_t number) {
  std::lock_guard lock(mutex_);
  Segment& newest = held_.back();
  if (newest.empty()) newest.first = number;
  newest.last = number;
}

void Segments::forget_before(uint64_t number) {
  std::lock_guard lock(mutex_);
  while (held_.size() > 1 && !held_[1].empty() && held_.front().last < number)
    held_.erase(held_.begin());
}

void Segments::carried(uint64_t first) {
  std::lock_guard lock(mutex_);
  PAWL_CHECK(held_.size() > 1);
  if (held_[1].empty()) held_[1].last = held_.front().last;
  held_[1].first = first;
  held_.erase(held_.begin());
}

}  // namespace pawl
