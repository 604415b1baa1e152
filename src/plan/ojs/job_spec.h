// What a job is to be, before the kernel makes it one. JobSpec is the part that never changes: it
// is encoded once when the job is pushed, and passed through as bytes from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/codec.h"
#include "journal/events.h"

namespace pawl {

bool is_terminal(JobState state);
std::string_view state_name(JobState state);
JobState parse_job_state(std::string_view name);  // None if there is no such state

// What happens to a job that has used up its attempts; the usual policy is DeadLetter.
enum class OnExhaustion : uint8_t { Discard = 0, DeadLetter = 1 };

struct RetryPolicy {
  uint32_t max_attempts = 0;
  int64_t initial_ms = 0;
  uint32_t coefficient_milli = 0;
  int64_t max_ms = 0;
  bool no_jitter = false;
  BackoffStrategy backoff = BackoffStrategy::Exponential;
  OnExhaustion on_exhaustion = OnExhaustion::Discard;
  std::vector<std::string> non_retryable;  // error types; "Auth.*" matches by prefix

  // Three runs, from one second doubling up to five minutes, with jitter.
  static RetryPolicy standard() {
    return {.max_attempts = 3,
            .initial_ms = 1000,
            .coefficient_milli = 2000,
            .max_ms = 300'000,
            .on_exhaustion = OnExhaustion::DeadLetter};
  }

  static void fields(auto& self, auto&& visit) {
    visit(1, "max_attempts", self.max_attempts);
    visit(2, "initial_ms", self.initial_ms);
    visit(3, "coefficient_milli", self.coefficient_milli);
    visit(4, "max_ms", self.max_ms);
    visit(5, "no_jitter", self.no_jitter);
    visit(6, "backoff", self.backoff);
    visit(7, "on_exhaustion", self.on_exhaustion);
    visit(8, "non_retryable", self.non_retryable);
  }
};

enum class OnConflict : uint8_t { Reject = 0, Ignore = 1, Replace = 2, ReplaceExceptSchedule = 3 };

struct UniquePolicy {
  std::string key;        // 16 bytes: digest of what must be unique; empty = not unique
  uint32_t states = 0;    // bit per JobState that counts as a conflict
  int64_t period_ms = 0;  // how long the existing job counts, from its creation; 0 = always
  OnConflict on_conflict = OnConflict::Reject;

  static void fields(auto& self, auto&& visit) {
    visit(1, "key", self.key);
    visit(2, "states", self.states);
    visit(3, "period_ms", self.period_ms);
    visit(4, "on_conflict", self.on_conflict);
  }
};

// Text is std::string where a spec is built, std::string_view where one is read in place.
template <class Text>
struct BasicJobSpec {
  Text type;
  Text args;     // JSON array text
  Text meta;     // JSON object text
  Text options;  // JSON object text as the client sent it, or empty
  Text extra;    // further members of the envelope, as "name":value,… text
  Text retry;    // RetryPolicy, encoded; empty = RetryPolicy::standard()
  int64_t timeout_ms = 0;
  int64_t visibility_ms = 0;
  Text scheduled_text;  // as given, for echoing verbatim
  Text expires_text;
  Text tags;  // JSON array text
  Text tenant;
  Text retry_text;   // JSON object text: the policy in the words of the specification, if given
  Text unique_text;  // likewise
  // Of a job whose run is in another partition, as text "name":value,…: what its worker is told of
  // the run and its results so far. And the id that clients chose for the run, if they did.
  Text around;
  Text around_id;

  static void fields(auto& self, auto&& visit) {
    visit(1, "type", self.type);
    visit(2, "args", self.args);
    visit(3, "meta", self.meta);
    visit(4, "options", self.options);
    visit(5, "extra", self.extra);
    visit(6, "retry", self.retry);
    visit(7, "timeout_ms", self.timeout_ms);
    visit(8, "visibility_ms", self.visibility_ms);
    visit(9, "scheduled_text", self.scheduled_text);
    visit(10, "expires_text", self.expires_text);
    visit(11, "tags", self.tags);
    visit(12, "tenant", self.tenant);
    visit(13, "retry_text", self.retry_text);
    visit(14, "unique_text", self.unique_text);
    visit(15, "around", self.around);
    visit(16, "around_id", self.around_id);
  }
};
using JobSpec = BasicJobSpec<std::string>;
using JobSpecView = BasicJobSpec<std::string_view>;

// A job before it is one: what the API, a cron entry or a run hands to the kernel.
struct NewJob {
  JobId id;           // nil: the kernel makes one
  std::string queue;  // scoped
  int32_t priority = 0;
  uint32_t max_attempts = 0;
  int64_t scheduled_ms = 0;  // 0 = now
  int64_t expires_ms = 0;
  bool pending = false;  // waits for an activation by hand
  std::string type;
  std::string spec;  // JobSpec, encoded
  UniquePolicy unique;
  std::string limit;  // concurrency key
  LimitSettings limit_settings;
  uint32_t queue_rate = 0;  // sets its queue's leases per second, 0 = leaves them
  JobParent parent;
  uint32_t placed_by = 0;  // as in JobCreated

  static void fields(auto& self, auto&& visit) {
    visit(1, "id", self.id);
    visit(2, "queue", self.queue);
    visit(3, "priority", self.priority);
    visit(4, "max_attempts", self.max_attempts);
    visit(5, "scheduled_ms", self.scheduled_ms);
    visit(6, "expires_ms", self.expires_ms);
    visit(7, "pending", self.pending);
    visit(8, "type", self.type);
    visit(9, "spec", self.spec);
    visit(10, "unique", self.unique);
    visit(11, "limit", self.limit);
    visit(12, "limit_settings", self.limit_settings);
    visit(13, "queue_rate", self.queue_rate);
    visit(14, "parent", self.parent);
    visit(15, "placed_by", self.placed_by);
  }
};

// The job's type, read off an encoded JobSpec without decoding the rest.
std::string_view type_of_spec(std::string_view spec);

}  // namespace pawl
