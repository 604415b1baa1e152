// World: typed access to the items of one world (worlds/items.h), over a table. Keeps nothing:
// every call reads the table, and throws Unreadable if it cannot.
//
// Thread: that of the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "worlds/items.h"
#include "worlds/table.h"

namespace pawl::worlds {

class World {
 public:
  explicit World(Table& table) : table_(table) {}

  Table& table() { return table_; }
  Head head();
  std::optional<Instance> instance(std::string_view module, std::string_view key);
  std::optional<Intent> intent(std::string_view hash);
  std::optional<ClientNote> client(std::string_view client_id);
  std::optional<Proposal> proposal(uint64_t seq);
  std::optional<Adapter> adapter(std::string_view id);
  std::optional<FrameRecords> frame(uint64_t seq);  // Corrupt frames throw Unreadable
  std::optional<std::string> blob(std::string_view hash);
  std::optional<std::string> node(std::string_view hash);

  // Each visits in the order of its keys from `from` on, an item key ("" = from the first); stops
  // on false.
  void each_instance(std::string_view module, std::string_view from,
                     FunctionRef<bool(std::string_view item_key, const std::string& module,
                                      const std::string& key, const Instance&)>
                         visit);
  void each_open(
      std::string_view from,
      FunctionRef<bool(std::string_view item_key, const std::string& hash, const Intent&)> visit);
  void each_settled(
      std::string_view from,
      FunctionRef<bool(std::string_view item_key, const std::string& hash, const Intent&)> visit);
  void each_frame(uint64_t from_seq, FunctionRef<bool(uint64_t seq, FrameRecords frame)> visit);
  // The same for replies that only show frames: corrupt ones count as missing, so that a
  // quarantined world can still be read.
  std::optional<FrameRecords> shown_frame(uint64_t seq);
  void each_shown_frame(uint64_t from_seq,
                        FunctionRef<bool(uint64_t seq, const FrameRecords&)> visit);
  void each_proposal(std::string_view from,
                     FunctionRef<bool(std::string_view item_key, const Proposal&)> visit);
  void each_client(FunctionRef<bool(const std::string& client_id, const ClientNote&)> visit);

 private:
  Table& table_;
};

}  // namespace pawl::worlds
