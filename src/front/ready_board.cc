#include "front/ready_board.h"

#include <algorithm>

namespace pawl::front {

ReadyBoard::Entries* ReadyBoard::need(std::string_view queue) {
  auto found = queues_.find(queue);
  if (found == queues_.end()) {
    if (queues_.size() >= kQueuesMax) {
      // A queue that is empty everywhere costs one round of questions when it is asked for again.
      std::erase_if(queues_, [](const auto& known) {
        return std::all_of(known.second.begin(), known.second.end(),
                           [](const Entry& entry) { return entry.empty; });
      });
    }
    if (queues_.size() >= kQueuesMax) return nullptr;
    found = queues_.emplace(queue, Entries(partitions_)).first;
  }
  return &found->second;
}

void ReadyBoard::became_ready(uint16_t partition, std::string_view queue) {
  std::lock_guard lock(mutex_);
  // Who is not on the board counts as ready anyway.
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  Entry& entry = found->second[partition];
  ++entry.version;
  if (std::exchange(entry.empty, false)) entry.turn = ++turns_;
}

void ReadyBoard::forget(uint16_t partition) {
  std::lock_guard lock(mutex_);
  for (auto& [queue, entries] : queues_) {
    ++entries[partition].version;
    entries[partition].empty = false;
  }
}

std::vector<ReadyBoard::Choice> ReadyBoard::choose(std::string_view queue,
                                                   const std::vector<uint16_t>& among) {
  std::vector<Choice> choices;
  std::lock_guard lock(mutex_);
  Entries* entries = need(queue);
  for (uint16_t partition : among) {
    if (entries == nullptr) {
      choices.push_back({partition, 0});
    } else if (!(*entries)[partition].empty) {
      choices.push_back({partition, (*entries)[partition].version});
    }
  }
  if (entries != nullptr)
    std::stable_sort(choices.begin(), choices.end(), [&](const Choice& a, const Choice& b) {
      return (*entries)[a.partition].turn < (*entries)[b.partition].turn;
    });
  return choices;
}

void ReadyBoard::came_short(std::string_view queue, Choice choice) {
  std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  Entry& entry = found->second[choice.partition];
  if (entry.version == choice.version) entry.empty = true;
}

void ReadyBoard::gave_all(std::string_view queue, Choice choice) {
  std::lock_guard lock(mutex_);
  const auto found = queues_.find(queue);
  if (found != queues_.end()) found->second[choice.partition].turn = ++turns_;
}

}  // namespace pawl::front
