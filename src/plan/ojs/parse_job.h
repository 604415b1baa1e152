// Job envelopes as Open Job Spec clients send them → NewJob. Accepts the dialects seen in the wild
// (retry policies in five spellings, options beside or inside `options`); refuses the rest with the
// member's name in the message.
//
// Pure; any thread. now_ms is only used for relative times ("+PT2S").
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "plan/ojs/job_spec.h"

namespace pawl {

struct EnvelopeRules {
  int64_t now_ms = 0;
  std::string_view tenant;
  std::string_view cron_name = {};  // put into the job's meta, if any
  // Default options, used where the envelope has none; the first object with a value counts.
  std::vector<json::View> defaults = {};
  bool id_is_name = false;  // `id` is the step's name in a workflow, not the job's id
  uint16_t partitions = 1;   // of the server, on which the ids of named workflows depend
  // The default of on_exhaustion.
  OnExhaustion unsaid = OnExhaustion::DeadLetter;
};

constexpr int64_t kPriorityLeast = -100;
constexpr int64_t kPriorityMost = 100;
constexpr size_t kTagsMax = 100;
constexpr size_t kTypeBytesMax = 255;
constexpr size_t kQueueBytesMax = 255;
constexpr size_t kArgsBytesMax = 16u << 20;
constexpr size_t kMetaBytesMax = 64 * 1024;

// path: the place of the envelope in the request ("$", "$.jobs[3]"), for complaints.
Result<NewJob> parse_job(json::View envelope, const EnvelopeRules& rules,
                         std::string_view path = "$");

// InvalidContent (422) names the member that is wrong.
Result<RetryPolicy> parse_retry(json::View retry, OnExhaustion unsaid = OnExhaustion::DeadLetter);
// The policy in the specification's spelling; unchanged if it was given in that spelling.
std::string retry_text(json::View retry, const RetryPolicy& policy);
// The complete policy. always_strategy: the default strategy is included, too.
std::string policy_text(const RetryPolicy& policy, bool always_strategy);

bool is_job_type(std::string_view type);
bool is_queue_name(std::string_view queue);

}  // namespace pawl
