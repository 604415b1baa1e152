#include "kernel/jobs/queue.h"

#include "kernel/spill_index.h"

namespace pawl {
namespace {

template <class QueueType>  // Queue, or const Queue where it is only written
struct QueueRow {
  QueueType* queue;
  std::vector<uint64_t> counts;

  static void fields(auto& self, auto&& visit) {
    QueueType& queue = *self.queue;
    visit(1, "version", queue.version);
    visit(2, "settings", queue.settings);
    visit(3, "counts", self.counts);
    visit(4, "dead", queue.dead);
    visit(5, "created_ms", queue.created_ms);
    visit(6, "rate_window_ms", queue.rate_window_ms);
    visit(7, "rate_used", queue.rate_used);
    visit(8, "forgotten", queue.forgotten);
  }
};

}  // namespace

Queue::Queue(std::string queue_name, size_t window_max)
    : Resident(EntityKind::Queue),
      name(std::move(queue_name)),
      ready(std::make_unique<SpillIndex<ReadyKey>>(window_max)) {}
Queue::~Queue() = default;

std::string_view queue_place_name(QueuePlace place) {
  switch (place) {
    case QueuePlace::Auto:
      return "auto";
    case QueuePlace::Pinned:
      return "pinned";
    case QueuePlace::Spread:
      return "spread";
  }
  return "auto";
}

std::optional<QueuePlace> parse_queue_place(std::string_view name) {
  for (QueuePlace place : {QueuePlace::Auto, QueuePlace::Pinned, QueuePlace::Spread})
    if (name == queue_place_name(place)) return place;
  return std::nullopt;
}

std::string encode_queue(const Queue& queue) {
  QueueRow<const Queue> row{&queue, {queue.counts.begin(), queue.counts.end()}};
  return codec::encoded(row);
}

bool decode_queue(std::string_view bytes, Queue& queue) {
  QueueRow<Queue> row{&queue, {}};
  if (!codec::decode(bytes, row) || row.counts.size() != kJobStateCount) return false;
  std::copy(row.counts.begin(), row.counts.end(), queue.counts.begin());
  return true;
}

}  // namespace pawl
