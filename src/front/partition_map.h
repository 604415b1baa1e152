// PartitionMap: who serves each partition now, as this node knows it: an App of this process,
// another node, or nobody yet.
//
// A partition that is served here may be given up at any time: whoever hands something to its App
// holds Here meanwhile, which end_here() waits for. Answers may come later.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "api/app.h"
#include "link/links.h"

namespace pawl::front {

struct Here {
  api::App* app = nullptr;
  std::shared_ptr<void> entered;

  explicit operator bool() const { return app != nullptr; }
};

// At most one of both.
struct Server {
  Here here = {};
  std::optional<link::Peer> peer = {};
  uint64_t epoch = 0;
};

class PartitionMap {
 public:
  explicit PartitionMap(uint16_t partitions) : entries_(partitions) {}

  uint16_t partitions() const { return static_cast<uint16_t>(entries_.size()); }

  // --- told by who takes and gives up partitions
  void serve_here(uint16_t partition, uint64_t epoch, api::App& app);
  // Waits for those who are handing something to it. Not by one of them.
  void end_here(uint16_t partition);
  struct Elsewhere {
    link::Peer peer;
    uint64_t epoch = 0;
  };
  // What the other nodes serve, by partition; nothing: nobody, or this node.
  void note_others(const std::vector<std::optional<Elsewhere>>& others);

  // --- asked by who passes requests on
  Server find(uint16_t partition) const;
  // The partitions that are served here.
  std::vector<std::pair<uint16_t, Here>> all_here() const;
  bool serves(uint16_t partition) const;
  // A partition that is served here, if there is one: for what any can answer.
  std::optional<std::pair<uint16_t, Here>> any_here(uint64_t choice = 0) const;
  std::vector<link::Peer> peers() const;  // that serve something, each once
  std::vector<uint16_t> without_owner() const;

  // Calls back, once, when somebody serves the partition; at once if that is so already. From the
  // thread that learns of it; it must not block.
  void when_served(uint16_t partition, std::function<void()> call);

 private:
  struct Entry {
    api::App* app = nullptr;
    std::shared_ptr<void> door;  // that those who enter hold, too
    uint64_t epoch = 0;          // of app
    std::optional<Elsewhere> elsewhere;
    std::vector<std::function<void()>> waiting;
  };
  static bool is_served(const Entry& entry) {
    return entry.app != nullptr || entry.elsewhere.has_value();
  }

  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
};

}  // namespace pawl::front
