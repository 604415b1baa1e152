#include "engine/parking_lot.h"

#include <algorithm>

namespace pawl {

int64_t ParkingLot::wake_ms(const Parking& parking) {
  if (parking.retry_at_ms == 0) return parking.until_ms;
  return std::min(parking.retry_at_ms, parking.until_ms);
}

void ParkingLot::park(TaskPtr task, Parking parking, uint64_t old_place) {
  uint64_t number = old_place != 0 ? old_place : ++arrivals_;
  parked_.push_back({number, std::move(task), std::move(parking)});
  Place place = std::prev(parked_.end());
  for (const std::string& queue : place->parking.queues) by_queue_[queue].emplace(number, place);
  by_time_.emplace(std::pair{wake_ms(place->parking), number}, place);
}

TaskPtr ParkingLot::leave(Place place) {
  for (const std::string& queue : place->parking.queues) {
    auto at = by_queue_.find(queue);
    if (at == by_queue_.end()) continue;  // named twice in one request
    at->second.erase(place->number);
    if (at->second.empty()) by_queue_.erase(at);
  }
  by_time_.erase({wake_ms(place->parking), place->number});
  TaskPtr task = std::move(place->task);
  parked_.erase(place);
  return task;
}

TaskPtr ParkingLot::take(std::string_view queue, uint64_t& place) {
  auto at = by_queue_.find(queue);
  if (at == by_queue_.end()) return nullptr;
  place = at->second.begin()->first;
  return leave(at->second.begin()->second);
}

TaskPtr ParkingLot::take_due(int64_t now_ms, bool& last_call, uint64_t& place_taken) {
  if (by_time_.empty() || by_time_.begin()->first.first > now_ms) return nullptr;
  Place place = by_time_.begin()->second;
  last_call = place->parking.until_ms <= now_ms;
  place_taken = place->number;
  return leave(place);
}

std::vector<TaskPtr> ParkingLot::take_all() {
  std::vector<TaskPtr> tasks;
  while (!parked_.empty()) tasks.push_back(leave(parked_.begin()));
  return tasks;
}

}  // namespace pawl
