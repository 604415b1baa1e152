// The answers to fetches: those of partitions and nodes are read, the one of a worker is made.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/responder.h"

namespace pawl::front {

// The jobs of a fetch, each as JSON text, or why there are none.
struct FetchedJobs {
  std::vector<std::string> jobs = {};
  std::optional<http::Response> refusal = {};
  // Of those here, the partitions that have no more such jobs, or gave theirs.
  std::vector<uint16_t> covered = {};
};

// In the answer of a whole node: which partitions that covers, as "0,3,5".
inline constexpr std::string_view kCoveredHeader = "Pawl-Partitions";
std::string partitions_text(const std::vector<uint16_t>& partitions);

std::vector<uint16_t> partitions_of(std::string_view text);
// The jobs of an answer, as texts; nothing if it is none.
std::optional<std::vector<std::string>> jobs_of(const http::Response& answer);

// The body of the answer to a fetch.
std::string jobs_body(const std::vector<std::string>& jobs, std::string_view before = "{");

}  // namespace pawl::front
