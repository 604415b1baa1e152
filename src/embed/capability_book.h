// CapabilityBook: functions of the program as actions of the engine, and how often and how long
// they were called. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actions/action.h"
#include "embed/instance_names.h"
#include "pawl/calls.h"

namespace pawl::embed {

class CapabilityBook {
 public:
  // `names` must outlive the runner.
  CapabilityBook(actions::ActionRunner& runner, const InstanceNames& names, bool count)
      : runner_(runner), names_(names), count_(count) {}

  // `schema`: JSON Schema, "" = any object. Conflict if the name is taken.
  Status add(const std::string& name, const std::string& schema, Capability capability);
  bool remove(const std::string& name);
  std::vector<std::string> names() const;  // own ones
  // {NAME: {total_executions, successes, failures, success_rate, avg/min/max_execution_time}},
  // times in seconds. Only finished calls count.
  Value metrics() const;

 private:
  struct Tally {
    int64_t successes = 0;
    int64_t failures = 0;
    double seconds = 0;
    double seconds_min = 0;
    double seconds_max = 0;
  };
  // Shared, since calls may end after the book is destroyed.
  struct Tallies {
    std::mutex mutex;
    std::map<std::string, Tally> of;  // guarded by mutex
  };
  static void note(Tallies& tallies, const std::string& name, bool success, double seconds);

  actions::ActionRunner& runner_;
  const InstanceNames& names_;
  const bool count_;
  std::shared_ptr<Tallies> tallies_ = std::make_shared<Tallies>();
};

}  // namespace pawl::embed
