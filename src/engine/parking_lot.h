// ParkingLot: tasks that wait for a job. They cost memory only: no thread, no polling. Longest
// waiting first. Thread: the engine's.
#pragma once

#include <list>
#include <map>
#include <string>

#include "engine/task.h"

namespace pawl {

class ParkingLot {
 public:
  explicit ParkingLot(size_t places_max) : places_max_(places_max) {}

  bool full() const { return parked_.size() >= places_max_; }
  bool empty() const { return parked_.empty(); }
  size_t size() const { return parked_.size(); }

  // A task that was tried in vain returns to its previous place; 0 = behind all others.
  void park(TaskPtr task, Parking parking, uint64_t place = 0);

  // Takes the longest waiting task of this queue out; null if there is none.
  TaskPtr take(std::string_view queue, uint64_t& place);
  // Takes a task that is due; last_call tells whether it must answer now.
  TaskPtr take_due(int64_t now_ms, bool& last_call, uint64_t& place);
  int64_t next_due_ms() const { return by_time_.empty() ? 0 : by_time_.begin()->first.first; }
  // Everything, for stopping.
  std::vector<TaskPtr> take_all();

 private:
  struct Parked {
    uint64_t number;
    TaskPtr task;
    Parking parking;
  };
  using Place = std::list<Parked>::iterator;

  static int64_t wake_ms(const Parking& parking);
  TaskPtr leave(Place place);

  size_t places_max_;
  uint64_t arrivals_ = 0;
  std::list<Parked> parked_;
  std::map<std::string, std::map<uint64_t, Place>, std::less<>> by_queue_;
  std::map<std::pair<int64_t, uint64_t>, Place> by_time_;  // when it wakes, arrival
};

}  // namespace pawl
