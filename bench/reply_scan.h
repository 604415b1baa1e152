// What the generator reads of a reply, without building a document: a job costs some 0.2 µs here,
// parsing it would cost more than the server's own share of the work.
//
// The scanner trusts the server to send compact, valid JSON, and reports anything else as malformed
// rather than guessing; it never reads past the text it was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pawl::bench {

struct ScannedJob {
  std::string_view id;    // the job's own "id", not one nested deeper (a workflow's, a parent's)
  std::string_view text;  // the whole object
};

// Appends the objects of the array under "jobs". False: no such array, or an element without a
// string "id", or the text ends inside it. The views point into `body`.
[[nodiscard]] bool scan_jobs(std::string_view body, std::vector<ScannedJob>& jobs);

int64_t count_of(std::string_view text, std::string_view needle);

// True if `needle` stands in `text`; looks at the end first, where counts stand.
bool contains(std::string_view text, std::string_view needle);

// The value of an unlabelled sample in Prometheus text, e.g. "pawl_store_fsyncs_total 17".
std::optional<int64_t> scan_metric(std::string_view text, std::string_view name);

}  // namespace pawl::bench
