// Table: what a world remembers, as items with ordered keys (worlds/items.h). Reading it is reading
// the state: it may wait for the disk, and an item that cannot be read throws Unreadable
// (base/unreadable.h).
//
// An Overlay keeps what a command writes, over a table that it does not change: a frame, a fork for
// a shadow run, or a whole world in memory when it stands on an EmptyTable.
//
// Thread: one at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/function_ref.h"

namespace pawl::worlds {

class Table {
 public:
  virtual ~Table() = default;
  virtual std::optional<std::string> get(std::string_view key) = 0;
  // Items whose keys begin with `prefix`, from `from` on ("" = from the first), ascending; stops
  // when visit returns false. visit may read the table.
  virtual void scan(std::string_view prefix, std::string_view from,
                    FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
};

class EmptyTable final : public Table {
 public:
  std::optional<std::string> get(std::string_view) override { return std::nullopt; }
  void scan(std::string_view, std::string_view,
            FunctionRef<bool(std::string_view, std::string_view)>) override {}
};

class Overlay final : public Table {
 public:
  using Writes =
      std::map<std::string, std::optional<std::string>, std::less<>>;  // nullopt: removed

  explicit Overlay(Table& base) : base_(base) {}
  // Of an overlay, another overlay stands on it: hand it over as a Table&. A copy would not.
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;
  std::optional<std::string> get(std::string_view key) override;
  void scan(std::string_view prefix, std::string_view from,
            FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void put(std::string_view key, std::string value);
  void remove(std::string_view key);
  const Writes& writes() const { return writes_; }
  Writes take() { return std::exchange(writes_, {}); }

 private:
  Table& base_;
  Writes writes_;
};

}  // namespace pawl::worlds
