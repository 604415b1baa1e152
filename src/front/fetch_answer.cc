#include "front/fetch_answer.h"

#include <algorithm>

#include "base/json.h"
#include "base/read_number.h"

namespace pawl::front {

std::optional<std::vector<std::string>> jobs_of(const http::Response& answer) {
  auto doc = json::parse(answer.body);
  auto list = doc.ok() ? doc->root().find("jobs") : std::nullopt;
  if (!list || !list->is_array()) return std::nullopt;
  std::vector<std::string> jobs;
  jobs.reserve(list->size());
  list->each_element([&](json::View job) { jobs.emplace_back(job.raw()); });
  return jobs;
}

std::vector<uint16_t> partitions_of(std::string_view text) {
  std::vector<uint16_t> partitions;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    uint16_t partition = 0;
    if (read_number(text.substr(0, end), partition)) partitions.push_back(partition);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return partitions;
}

std::string partitions_text(const std::vector<uint16_t>& partitions) {
  std::string text;
  for (uint16_t partition : partitions)
    text += (text.empty() ? "" : ",") + std::to_string(partition);
  return text;
}

std::string jobs_body(const std::vector<std::string>& jobs, std::string_view before) {
  std::string body(before);
  body += "\"jobs\":[";
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) body += ',';
    body += jobs[i];
  }
  return body + "]}";
}

}  // namespace pawl::front
