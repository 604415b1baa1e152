// StoreCold: the rows of a Store, read as the cold part of a state. Every read waits for the store;
// a failed one throws Unreadable.
//
// Whatever makes keys bounds them. Should one pass the store's bound all the same, its row must not
// keep the whole server from committing: it stands under a key that is cut and ends in its hash,
// where get() finds it. Scans see the cut key.
//
// Thread: that of the state it belongs to; the engine's own belongs to the engine's thread.
#pragma once

#include "kernel/cold.h"
#include "store/store.h"

namespace pawl {

Write write_of(Row row);

class StoreCold : public Cold {
 public:
  explicit StoreCold(Store& store) : store_(store) {}

  std::optional<std::string> get(Space space, std::string_view key) override;
  void scan(Space space, std::string_view from, std::string_view to, bool reverse, size_t limit,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void scan_keys(Space space, std::string_view from, std::string_view to, size_t limit,
                 FunctionRef<bool(std::string_view key)> visit) override;

 private:
  Store& store_;
};

}  // namespace pawl
