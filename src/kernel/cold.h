// Cold: the part of the state that is not in memory. Reading it is reading the state, so it may
// happen inside a decision; it changes nothing and does not depend on time, randomness or threads.
//
// An unreadable row is not a missing row. No decision can be made without it, so a failed read does
// not return: it throws Unreadable, through the decision, to reading(), and the state is discarded
// together with the unfinished decision. Nothing else in the tree is thrown across modules
// (docs/adr/0007-unreadable.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/unreadable.h"

namespace pawl {

// The space of each kind of row in the store. Numbers are part of the format on disk.
enum class Space : uint8_t {
  Meta = 1,
  Job = 2,       // id → Job
  Queue = 3,     // scoped name → Queue
  Limit = 4,     // key → Limit
  Doc = 5,       // kind, key → Doc
  Cron = 6,      // name → Cron
  Run = 7,       // id → Run
  RunChild = 8,  // run id, index → PlanNode: children that have not started, and callbacks
  Scope = 9,     // run id, path → Scope: a list of steps of a definition's run
  Ready = 10,    // queue, order → nothing: jobs that wait for a worker
  Due = 11,      // time, kind, id → nothing: jobs and runs that a timer will move
  Unique = 12,   // unique key, id → nothing
  Dead = 13,     // id → nothing: the dead letter list
  Busy = 14,     // run id → nothing: runs with open effects, or that have yielded
  Part = 15,     // run id, number → a large text of a definition's run
};

struct Row {
  Space space;
  std::string key;
  std::optional<std::string> value;  // nullopt: delete
  // A large text that the run keeps too: the value without a copy.
  std::shared_ptr<const std::string> text = nullptr;

  size_t size() const { return text ? text->size() : value ? value->size() : 0; }
};

// An invalid row counts as unreadable.
[[noreturn]] void unreadable_row(std::string_view what, std::string_view key);

// Catches Unreadable: runs work() to its end, or returns the error of the first unreadable row.
Status reading(auto&& work) {
  try {
    if constexpr (std::is_same_v<decltype(work()), Status>) {
      return work();
    } else {
      work();
      return ok_status();
    }
  } catch (const Unreadable& hole) {
    return hole.error;
  }
}

// Every read returns the stored value or throws Unreadable.
class Cold {
 public:
  virtual ~Cold() = default;
  virtual std::optional<std::string> get(Space space, std::string_view key) = 0;
  // from <= key < to ("" = no end), ascending or descending; stops when visit returns false.
  virtual void scan(Space space, std::string_view from, std::string_view to, bool reverse,
                    size_t limit,
                    FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
  // The keys of a scan upwards; values, which may be large, are not read where that can be avoided.
  virtual void scan_keys(Space space, std::string_view from, std::string_view to, size_t limit,
                         FunctionRef<bool(std::string_view key)> visit) {
    scan(space, from, to, false, limit,
         [&](std::string_view key, std::string_view) { return visit(key); });
  }
};

// The smallest key greater than every key that starts with prefix; "" when there is none.
std::string prefix_end(std::string_view prefix);

}  // namespace pawl
