// The requests of every workload as ready HTTP bytes: built once, sent many times. What differs
// from one to the next (a job's id, a sequence number) has a fixed width and is written in place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::bench {

inline constexpr size_t kJobIdBytes = 36;
inline constexpr size_t kSequenceDigits = 10;
inline constexpr std::string_view kQueue = "bench";
inline constexpr std::string_view kCallbackQueue = "bench-callback";
inline constexpr std::string_view kCallbackType = "bench.callback";

std::string get_request(std::string_view path);
std::string push_request();
std::string push_batch_request(int jobs);
std::string chain_request(int steps);
std::string chains_request(int chains, int steps);  // a group of them: many workflows at once
std::string batch_workflow_request(int jobs);  // with an on_complete callback in kCallbackQueue
std::string fetch_request(int count, int wait_ms);  // from kQueue and kCallbackQueue

// A request with one hole of fixed width.
class Template {
 public:
  // `body` holds `hole` once; it is where the values go.
  Template(std::string_view path, std::string_view body, std::string_view hole);

  // The request with `value` in the hole, until the next call. The widths must agree.
  std::string_view with(std::string_view value);

 private:
  std::string text_;
  size_t at_ = 0;
  size_t width_ = 0;
};

Template ack_template();
Template ack_and_fetch_template(int count, int wait_ms);
Template numbered_push_template();  // args: ["0000000042"], the hole is the digits

// `ids` in one ack; the buffer is reused.
std::string_view bulk_ack(const std::vector<std::string>& ids, std::string& buffer);

// Runs of definitions. The definition is called "bench".
std::string definition_request(int steps, bool parallel);
std::string waiting_definition_request();
std::string run_request(std::string_view wait);
std::string loop_run_request(int iterations);

}  // namespace pawl::bench
