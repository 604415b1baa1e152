#include "report.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

namespace pawl::bench {
namespace {

double rate(double amount, double per) { return per > 0 ? amount / per : 0; }

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string_view sign(Target::Side side) {
  switch (side) {
    case Target::Side::AtLeast:
      return ">=";
    case Target::Side::AtMost:
      return "<=";
    case Target::Side::Below:
      return "<";
  }
  return "";
}

// Rates without decimals, small values with enough of them.
std::string number(double value) {
  if (std::abs(value) >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3f}", value);
}

std::string count_or_dash(const std::optional<int64_t>& count) {
  return count ? fmt::format("{}", *count) : "-";
}

}  // namespace

double Row::jobs_per_second() const { return rate(static_cast<double>(jobs), seconds); }

double Row::jobs_per_server_cpu_second() const {
  return rate(static_cast<double>(jobs), usage.server_cpu_seconds);
}

bool Figure::met() const {
  if (!target) return true;
  switch (target->side) {
    case Target::Side::AtLeast:
      return value >= target->bound;
    case Target::Side::AtMost:
      return value <= target->bound;
    case Target::Side::Below:
      return value < target->bound;
  }
  return false;
}

void Report::add(const Row& row) {
  rows_.push_back(row);
  add(Figure{row.workload + ".jobs_per_s", row.jobs_per_second()});
  add(Figure{row.workload + ".jobs_per_server_cpu_s", row.jobs_per_server_cpu_second()});
}

void Report::add_with_cpu_target(const Row& row, double jobs_per_server_cpu_second_min) {
  add(row);
  figures_.back().target = Target{Target::Side::AtLeast, jobs_per_server_cpu_second_min};
}

void Report::add(Figure figure) { figures_.push_back(std::move(figure)); }

std::string Report::text() const {
  std::string out = fmt::format("{:<22}{:>10}{:>8}{:>10}{:>12}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
                                "workload", "jobs", "s", "jobs/s", "jobs/cpu-s", "srv cpu",
                                "cli cpu", "RSS MiB", "peak MiB", "fsyncs");
  auto end = std::back_inserter(out);
  for (const Row& row : rows_) {
    fmt::format_to(end,
                   "{:<22}{:>10}{:>8.2f}{:>10.0f}{:>12.0f}{:>9.2f}{:>9.2f}{:>9.1f}{:>9.1f}{:>9}\n",
                   row.workload, row.jobs, row.seconds, row.jobs_per_second(),
                   row.jobs_per_server_cpu_second(), row.usage.server_cpu_seconds,
                   row.usage.client_cpu_seconds, mebibytes(row.usage.rss_bytes),
                   mebibytes(row.usage.rss_peak_bytes), count_or_dash(row.usage.fsyncs));
  }
  out.push_back('\n');
  for (const Figure& figure : figures_) {
    fmt::format_to(end, "{:<38}{:>14}", figure.name, number(figure.value));
    if (figure.target) {
      fmt::format_to(end, "   target {:>2} {:<10} {}", sign(figure.target->side),
                     number(figure.target->bound), figure.met() ? "PASS" : "FAIL");
    }
    out.push_back('\n');
  }
  return out;
}

std::string Report::json() const {
  std::string out = "{\"workloads\":[";
  auto end = std::back_inserter(out);
  std::string_view comma = "";
  for (const Row& row : rows_) {
    fmt::format_to(end,
                   R"({}{{"workload":"{}","jobs":{},"seconds":{:.6f},"server_cpu_s":{:.2f},)"
                   R"("client_cpu_s":{:.3f},"rss_bytes":{},"rss_peak_bytes":{},"fsyncs":{}}})",
                   comma, row.workload, row.jobs, row.seconds, row.usage.server_cpu_seconds,
                   row.usage.client_cpu_seconds, row.usage.rss_bytes, row.usage.rss_peak_bytes,
                   row.usage.fsyncs ? fmt::format("{}", *row.usage.fsyncs) : "null");
    comma = ",";
  }
  out.append("],\"figures\":[");
  comma = "";
  for (const Figure& figure : figures_) {
    fmt::format_to(end, R"({}{{"name":"{}","value":{:.6f})", comma, figure.name, figure.value);
    if (figure.target) {
      fmt::format_to(end, R"(,"target":"{}","bound":{:.6f},"met":{})", sign(figure.target->side),
                     figure.target->bound, figure.met());
    }
    out.push_back('}');
    comma = ",";
  }
  out.append("]}\n");
  return out;
}

}  // namespace pawl::bench
