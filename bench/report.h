// Report: what a run found, as a table and one line per figure, or as one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meter.h"

namespace pawl::bench {

// One workload's throughput and cost.
struct Row {
  std::string workload;
  int64_t jobs = 0;
  double seconds = 0;
  Usage usage;

  double jobs_per_second() const;
  double jobs_per_server_cpu_second() const;
};

struct Target {
  enum class Side { AtLeast, AtMost, Below };
  Side side;
  double bound;
};

struct Figure {
  std::string name;  // workload.what_unit
  double value = 0;
  std::optional<Target> target = {};

  bool met() const;
};

class Report {
 public:
  void add(const Row& row);  // and its two rates as figures
  void add(Figure figure);

  // As add(row), with a target for jobs per server CPU-second.
  void add_with_cpu_target(const Row& row, double jobs_per_server_cpu_second_min);

  std::string text() const;
  std::string json() const;

 private:
  std::vector<Row> rows_;
  std::vector<Figure> figures_;
};

}  // namespace pawl::bench
