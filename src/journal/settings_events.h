// Events of settings: queues, limits, documents, crons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl {

// Where the jobs of a queue live, if there are several partitions. Auto: pinned if it has a rate.
enum class QueuePlace : uint8_t {
  Auto = 0,
  Pinned = 1,  // at the queue's home: order, rate and depth are exact
  Spread = 2,  // wherever they come
};

struct QueueSettings {
  bool paused = false;
  bool deleted = false;          // not shown until it is used again
  uint64_t depth_max = 0;        // 0 = no bound of its own
  uint32_t warn_permille = 0;    // share of depth_max from which replies carry a warning
  uint32_t rate_per_second = 0;  // 0 = no limit
  QueuePlace partition = QueuePlace::Auto;

  bool operator==(const QueueSettings&) const = default;
  static void fields(auto& self, auto&& visit) {
    visit(1, "paused", self.paused);
    visit(2, "depth_max", self.depth_max);
    visit(3, "warn_permille", self.warn_permille);
    visit(4, "rate_per_second", self.rate_per_second);
    visit(5, "deleted", self.deleted);
    visit(6, "partition", self.partition);
  }
};

struct QueueConfigured {
  std::string queue;
  QueueSettings settings;
  bool paused_before = false;
  bool copied = false;  // from another partition, whose journal tells it to clients

  static void fields(auto& self, auto&& visit) {
    visit(1, "queue", self.queue);
    visit(2, "settings", self.settings);
    visit(3, "paused_before", self.paused_before);
    visit(4, "copied", self.copied);
  }
};

// A concurrency key shared by jobs of any queue.
struct LimitSettings {
  uint32_t concurrency = 0;  // 0 = no bound
  uint32_t rate = 0;         // leases per period, 0 = no bound
  int64_t period_ms = 0;

  bool operator==(const LimitSettings&) const = default;
  static void fields(auto& self, auto&& visit) {
    visit(1, "concurrency", self.concurrency);
    visit(2, "rate", self.rate);
    visit(3, "period_ms", self.period_ms);
  }
};

struct LimitConfigured {
  std::string key;
  LimitSettings settings;

  static void fields(auto& self, auto&& visit) {
    visit(1, "key", self.key);
    visit(2, "settings", self.settings);
  }
};

// Small records that are put, read and deleted as a whole; the API defines their contents.
enum class DocKind : uint8_t {
  None = 0,
  ApiKey = 1,
  Schema = 2,
  Webhook = 3,
  Idempotency = 4,
  Pool = 5,
  Definition = 6,    // name, unit separator, version → the definition
  Decision = 7,      // id → a question of a run, and its answer
  Secret = 8,        // name → sealed value
  Breaker = 9,       // action and place → how often it failed in a row
  RunCount = 10,     // a gate → how many of its runs are active; updated by ScriptMoved
  RunGate = 11,      // a gate → how many runs wait there, see kernel/scripts/admission.h
  RunTurn = 12,      // gate, rank → a run that waits there
  Maintenance = 13,  // "" → start and reason of a maintenance
  Skipped = 14,  // a run or job → its events that every fold skips, see engine/skipped_events.h
  PlannedRun = 15,  // id of a nested run that has not started → JobParent: its place in its parent
  World = 16,       // name → id of a world
  WorldItem = 17,   // id of a world, key → one of its items: see worlds/items.h
  Outbox = 18,      // receiver, number → a message that is owed, see kernel/messages/outbox.h
  Mail = 19,        // numbers of the last messages sent and taken, see kernel/messages/
  Elsewhere = 20,   // a job that a step has at another partition: see kernel/messages/placing.h
  Unwanted = 21,    // id of a job whose run, at another partition, has ended: it is not tried again
  Claim = 22,       // a name that is held elsewhere, or asked for: see kernel/messages/claims.h
};
constexpr DocKind kLastDocKind = DocKind::Claim;
// Kinds that may be very numerous: their documents leave memory once their row is durable.
constexpr bool is_numerous(DocKind kind) {
  return kind == DocKind::Idempotency || kind == DocKind::Decision || kind == DocKind::RunTurn ||
         kind == DocKind::PlannedRun || kind == DocKind::WorldItem || kind == DocKind::Outbox ||
         kind == DocKind::Elsewhere || kind == DocKind::Claim;
}

// Kinds whose documents are all in memory: a document that is not in memory does not exist.
constexpr bool is_kept_whole(DocKind kind) {
  return kind == DocKind::RunCount || kind == DocKind::RunGate || kind == DocKind::Mail;
}

struct DocPut {
  DocKind kind = DocKind::None;
  std::string key;
  std::string value;
  int64_t expires_ms = 0;  // 0 = kept until deleted

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
    visit(3, "value", self.value);
    visit(4, "expires_ms", self.expires_ms);
  }
};

struct DocDeleted {
  DocKind kind = DocKind::None;
  std::string key;

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "key", self.key);
  }
};

// Queue: at most one firing waits for the end of the previous one.
enum class CronOverlap : uint8_t {
  Skip = 0,
  Allow = 1,
  CancelPrevious = 2,
  Enqueue = 3,
  Queue = 4
};

// The origin of the entry, which decides the API that shows and changes it.
enum class CronSource : uint8_t {
  Cron = 0,      // an entry of the Open Job Spec
  Schedule = 1,  // a schedule made by a client
  Trigger = 2,   // a schedule from a definition's triggers
};

struct CronSpec {
  std::string name;
  std::string expression;
  std::string timezone;
  CronOverlap overlap = CronOverlap::Skip;
  bool paused = false;
  std::string job;          // NewJob, encoded: see plan/ojs/job_spec.h
  std::string description;  // JSON text of further data from the caller, or empty
  int64_t created_ms = 0;
  CronSource source = CronSource::Cron;
  std::string definition = {};  // the definition to run, instead of a job
  std::string version = {};     // "" = the newest at the time
  std::string inputs = {};      // JSON object or ""
  int64_t every_ms = 0;         // instead of the expression
  int64_t at_ms = 0;            // likewise: once
  int64_t jitter_ms = 0;        // it fires up to this much late

  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "expression", self.expression);
    visit(3, "timezone", self.timezone);
    visit(4, "overlap", self.overlap);
    visit(5, "paused", self.paused);
    visit(6, "job", self.job);
    visit(7, "description", self.description);
    visit(8, "created_ms", self.created_ms);
    visit(9, "source", self.source);
    visit(10, "definition", self.definition);
    visit(11, "version", self.version);
    visit(12, "inputs", self.inputs);
    visit(13, "every_ms", self.every_ms);
    visit(14, "at_ms", self.at_ms);
    visit(15, "jitter_ms", self.jitter_ms);
  }
};

struct CronPut {
  CronSpec cron;
  int64_t next_ms = 0;
  int64_t planned_ms = 0;  // the same without jitter; 0 = no jitter

  static void fields(auto& self, auto&& visit) {
    visit(1, "cron", self.cron);
    visit(2, "next_ms", self.next_ms);
    visit(3, "planned_ms", self.planned_ms);
  }
};

struct CronDeleted {
  std::string name;

  static void fields(auto& self, auto&& visit) { visit(1, "name", self.name); }
};

struct CronFired {
  std::string name;
  JobId job;  // nil if it is a run
  int64_t due_ms = 0;
  int64_t next_ms = 0;
  RunId run = {};          // nil if it is a job
  int64_t planned_ms = 0;  // of next_ms, as in CronPut
  bool waited = false;     // this firing waited for the end of the previous one

  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "job", self.job);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
    visit(5, "run", self.run);
    visit(6, "planned_ms", self.planned_ms);
    visit(7, "waited", self.waited);
  }
};

// Why a firing started nothing.
enum class CronMiss : uint8_t {
  Skipped = 0,  // the previous one is still active
  Waits = 1,    // likewise, but it starts when that one ends
  Failed = 2,   // it could not be started
};

struct CronSkipped {
  std::string name;
  std::string reason;
  int64_t due_ms = 0;
  int64_t next_ms = 0;
  CronMiss miss = CronMiss::Skipped;
  int64_t planned_ms = 0;  // of next_ms, as in CronPut
  bool waited = false;     // as in CronFired

  static void fields(auto& self, auto&& visit) {
    visit(1, "name", self.name);
    visit(2, "reason", self.reason);
    visit(3, "due_ms", self.due_ms);
    visit(4, "next_ms", self.next_ms);
    visit(5, "miss", self.miss);
    visit(6, "planned_ms", self.planned_ms);
    visit(7, "waited", self.waited);
  }
};

}  // namespace pawl
