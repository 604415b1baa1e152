// What operators and clients set: queues, limits, documents, crons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl {

struct QueueSettings {
  bool paused = false;
  uint64_t depth_max = 0;        // 0 = no bound of its own
  uint32_t warn_permille = 0;    // share of depth_max from which replies carry a warning
  uint32_t rate_per_second = 0;  // 0 = no limit

  bool operator==(const QueueSettings&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "paused", self.paused);
    visit(2, "depth_max", self.depth_max);
    visit(3, "warn_permille", self.warn_permille);
    visit(4, "rate_per_second", self.rate_per_second);
  }
};

struct QueueConfigured {
  std::string queue;
  QueueSettings settings;
  bool paused_before = false;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "queue", self.queue);
    visit(2, "settings", self.settings);
    visit(3, "paused_before", self.paused_before);
  }
};

// A concurrency key shared by jobs of any queue.
struct LimitSettings {
  uint32_t concurrency = 0;  // 0 = no bound
  uint32_t rate = 0;         // leases per period, 0 = no bound
  int64_t period_ms = 0;

  bool operator==(const LimitSettings&) const = default;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "concurrency", self.concurrency);
    visit(2, "rate", self.rate);
    visit(3, "period_ms", self.period_ms);
  }
};

struct LimitConfigured {
  std::string key;
  LimitSettings settings;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "key", self.key);
    visit(2, "settings", self.settings);
  }
};

// Small things that are only put, read and deleted whole: the API decides what stands in them.
enum class DocKind : uint8_t {
  None = 0,
  ApiKey = 1,
  Schema = 2,
  Webhook = 3,
  Idempotency = 4,
  Pool = 5,
  Definition = 6,  // name, unit separator, version → what was registered
  Decision = 7,    // id → a question that a run asks, and its answer
  Secret = 8,      // name → sealed value
  Breaker = 9      // action and place → how often it failed in a row
};
constexpr DocKind kLastDocKind = DocKind::Breaker;
// Kinds of which there may be very many: their documents leave memory once their row is durable.
constexpr bool is_numerous(DocKind kind) {
  return kind == DocKind::Idempotency || kind == DocKind::Decision;
}

struct DocPut {
  DocKind kind = DocKind::None;
  std::string key;
  std::string value;
  int64_t expires_ms = 0;  // 0 = kept until deleted

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
    visit(3, "value", self.value);
    visit(4, "expires_ms", self.expires_ms);
  }
};

struct DocDeleted {
  DocKind kind = DocKind::None;
  std::string key;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
  }
};

enum class CronOverlap : uint8_t { Skip = 0, Allow = 1, CancelPrevious = 2, Enqueue = 3 };

struct CronSpec {
  std::string name;
  std::string expression;
  std::string timezone;
  CronOverlap overlap = CronOverlap::Skip;
  bool paused = false;
  std::string job;          // JobTemplate, encoded: see kernel/job.h
  std::string description;  // JSON text of what the caller sent beside, or empty
  int64_t created_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "expression", self.expression);
    visit(3, "timezone", self.timezone);
    visit(4, "overlap", self.overlap);
    visit(5, "paused", self.paused);
    visit(6, "job", self.job);
    visit(7, "description", self.description);
    visit(8, "created_ms", self.created_ms);
  }
};

struct CronPut {
  CronSpec cron;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "cron", self.cron);
    visit(2, "next_ms", self.next_ms);
  }
};

struct CronDeleted {
  std::string name;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
  }
};

struct CronFired {
  std::string name;
  JobId job;
  int64_t due_ms = 0;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "job", self.job);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
  }
};

struct CronSkipped {
  std::string name;
  std::string reason;
  int64_t due_ms = 0;
  int64_t next_ms = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor&& visit) {
    visit(1, "name", self.name);
    visit(2, "reason", self.reason);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
  }
};

}  // namespace pawl
