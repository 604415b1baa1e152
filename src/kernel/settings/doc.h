// Doc: a small record that is put, read and deleted as a whole. Cron: a schedule and its next
// firing.
#pragma once

#include <cstdint>
#include <string>

#include "journal/events.h"
#include "kernel/resident.h"

namespace pawl {

struct Doc : Resident {
  Doc() : Resident(EntityKind::Doc) {}

  DocKind doc_kind = DocKind::None;
  std::string key;
  std::string value;
  int64_t expires_ms = 0;
  int64_t put_ms = 0;
  bool deleted = false;  // in memory only, until the row is gone

  static void fields(auto& self, auto&& visit) {
    visit(1, "version", self.version);
    visit(2, "value", self.value);
    visit(3, "expires_ms", self.expires_ms);
    visit(4, "put_ms", self.put_ms);
  }
};

// kind byte, then the key: one kind's documents are adjacent, in key order.
std::string doc_key(DocKind kind, std::string_view key);

struct Cron : Resident {
  Cron() : Resident(EntityKind::Cron) {}

  CronSpec spec;
  int64_t next_ms = 0;  // 0 = never again
  int64_t last_ms = 0;
  JobId last_job;
  int64_t planned_ms = 0;  // next_ms without jitter; 0 = the same
  RunId last_run;
  int64_t waiting_ms = 0;  // a firing due then starts when the last one ends; 0 = none waits
  std::string last_error;  // why the last firing could not start; "" if it did
  int64_t last_error_ms = 0;
  bool deleted = false;

  static void fields(auto& self, auto&& visit) {
    visit(1, "version", self.version);
    visit(2, "spec", self.spec);
    visit(3, "next_ms", self.next_ms);
    visit(4, "last_ms", self.last_ms);
    visit(5, "last_job", self.last_job);
    visit(6, "planned_ms", self.planned_ms);
    visit(7, "last_run", self.last_run);
    visit(8, "waiting_ms", self.waiting_ms);
    visit(9, "last_error", self.last_error);
    visit(10, "last_error_ms", self.last_error_ms);
  }
};

}  // namespace pawl
