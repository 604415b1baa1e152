#include "front/merge_metrics.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/read_number.h"

namespace pawl::front {
namespace {

enum class Figure : uint8_t { Sum, Most, ByPartition, Queues };

Figure figure_of(std::string_view name) {
  if (name == "pawl_journal_first" || name == "pawl_journal_head") return Figure::ByPartition;
  if (name == "pawl_queues") return Figure::Queues;
  const bool is_state = name == "pawl_queue_paused" || name == "pawl_store_fsync_seconds";
  return is_state || name.ends_with("_age_seconds") ? Figure::Most : Figure::Sum;
}

struct Family {
  std::string head;                // its lines of # HELP and # TYPE
  std::vector<std::string> order;  // of the samples, by name and labels
  std::map<std::string, double> values;
};

// Families in the order of their first appearance.
class Page {
 public:
  void read(const MetricsPart& part) {
    std::string_view rest = part.text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      read_line(rest.substr(0, end), part.partition);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  std::string text() {
    std::string out;
    for (const std::string& name : names_) {
      Family& family = families_[name];
      out += family.head;
      if (figure_of(name) == Figure::Queues) count_queues(family);
      for (const std::string& sample : family.order) {
        char value[40];
        const int size = std::snprintf(value, sizeof value, " %.15g\n", family.values[sample]);
        out.append(sample).append(value, static_cast<size_t>(size));
      }
    }
    return out;
  }

 private:
  void read_line(std::string_view line, uint16_t partition) {
    if (line.starts_with("# ")) {
      std::string_view name = line.substr(line.find(' ', 2) + 1);
      name = name.substr(0, name.find(' '));
      if (line.starts_with("# HELP")) begin(std::string(name));
      if (is_new_) families_[names_.back()].head.append(line).append("\n");
      return;
    }
    const size_t space = line.rfind(' ');
    double value = 0;
    if (space == std::string_view::npos || !read_number(line.substr(space + 1), value)) return;
    add(std::string(line.substr(0, space)), value, partition);
  }

  void begin(const std::string& name) {
    current_ = name;
    is_new_ = families_.emplace(name, Family{}).second;
    if (is_new_) names_.push_back(name);
  }

  void add(std::string sample, double value, uint16_t partition) {
    Family& family = families_[current_];
    const Figure figure = figure_of(current_);
    if (figure == Figure::ByPartition)
      sample += "{partition=\"" + std::to_string(partition) + "\"}";
    const auto [at, fresh] = family.values.try_emplace(sample, value);
    if (fresh) {
      family.order.push_back(std::move(sample));
    } else if (figure == Figure::Sum) {
      at->second += value;
    } else {
      at->second = std::max(at->second, value);
    }
  }

  // Each partition counts the queues that it has. Those that are shown are told apart.
  void count_queues(Family& family) {
    const auto shown = static_cast<double>(families_["pawl_queue_paused"].order.size());
    for (auto& [sample, value] : family.values) value = std::max(value, shown);
  }

  std::map<std::string, Family> families_;
  std::vector<std::string> names_;
  std::string current_;
  bool is_new_ = false;
};

}  // namespace

std::string merge_metrics(const std::vector<MetricsPart>& parts) {
  Page page;
  for (const MetricsPart& part : parts) page.read(part);
  return page.text();
}

}  // namespace pawl::front
