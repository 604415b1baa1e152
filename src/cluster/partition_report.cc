#include "cluster/partition_report.h"

#include <array>
#include <optional>
#include <utility>

#include "base/read_number.h"

namespace pawl::cluster {
namespace {

using Letter = std::pair<PartitionStage, char>;
constexpr std::array<Letter, 5> kLetters = {{{PartitionStage::Taking, 't'},
                                             {PartitionStage::Recovering, 'r'},
                                             {PartitionStage::Serving, 's'},
                                             {PartitionStage::HandingOver, 'h'},
                                             {PartitionStage::Ending, 'e'}}};

std::string_view cut(std::string_view& rest, char at) {
  const size_t end = rest.find(at);
  const std::string_view word = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return word;
}

std::optional<PartitionReport> read_report(std::string_view text) {
  PartitionReport report;
  uint64_t id = 0;
  if (!read_number(cut(text, ' '), id) || id > UINT16_MAX) return std::nullopt;
  report.id = static_cast<uint16_t>(id);
  const std::string_view letter = cut(text, ' ');
  if (!read_number(text, report.journal_head)) return std::nullopt;
  for (const auto& [stage, name] : kLetters)
    if (letter == std::string_view(&name, 1)) {
      report.stage = stage;
      return report;
    }
  return std::nullopt;
}

}  // namespace

std::string write_reports(const std::vector<PartitionReport>& reports) {
  std::string out;
  for (const PartitionReport& one : reports)
    for (const auto& [stage, letter] : kLetters)
      if (stage == one.stage)
        out += (out.empty() ? "" : ",") + std::to_string(one.id) + " " + letter + " " +
               std::to_string(one.journal_head);
  return out;
}

std::vector<PartitionReport> read_reports(std::string_view text) {
  std::vector<PartitionReport> reports;
  while (!text.empty())
    if (auto report = read_report(cut(text, ','))) reports.push_back(*report);
  return reports;
}

}  // namespace pawl::cluster
