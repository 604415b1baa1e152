// What a world remembers, as items of its table: the records below under the keys below, and
// nothing else.
//
//   h                         Head
//   f seq(8)                  FrameRecords: the world's journal, one item a frame; seq big-endian
//   c module 0x00 key         Instance with its cell; key: canonical bytes, empty if not keyed
//   i hash(32)                Intent
//   o seq(8) n(4)             hash(32) of an open intent, in emission order; n: its record's place
//   z seq(8) n(4)             hash(32) of a settled intent, likewise
//   k client_id               ClientNote
//   p seq(8)                  Proposal
//   b hash(32)                a blob: code, snapshots, reports, and what blob.put keeps
//   n hash(32)                a node or manifest, canonical CBOR
//   a adapter_id              Adapter
//   e ended_ms(8) module 0x00 key
//                             nothing: a terminal keyed instance without state or open intents,
//                             for retention
//   s seq(8) n(4)             BaselineChunk (worlds/snapshot.h): what a replay may begin with
//   w hash(32)                a note that the server made a job or run for this open intent
//                             (worldhost/own_work.h)
//   x                         the private seed of the server's own key (worldhost/own_adapter.h),
//                             sealed where there is a vault
//
// Items are a cache of the frames, except b, n, a, w and x. Fields are in the form of base/codec.h;
// numbers are never used again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "base/uuid.h"

namespace pawl::worlds {

enum class InstanceStatus : uint8_t { Running = 0, Waiting = 1, Completed = 2, Failed = 3 };
std::string_view status_name(InstanceStatus status);

// Counters of GET trace-summary; kept, so that reading them costs nothing.
struct Totals {
  uint64_t steps = 0, step_failures = 0;
  uint64_t intents = 0, receipts_ok = 0, receipts_error = 0, receipts_timeout = 0, faults = 0;
  uint64_t policy_allow = 0, policy_deny = 0, cap_allow = 0, cap_deny = 0;
  uint64_t instances = 0, running = 0, waiting = 0, completed = 0, failed = 0;
  uint64_t workflow_intents = 0;  // open ones of modules
  uint64_t open_intents = 0;      // of any origin
  uint64_t proposed = 0, shadowed = 0, approved = 0, rejected = 0, applied = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "steps", self.steps);
    visit(2, "step_failures", self.step_failures);
    visit(3, "intents", self.intents);
    visit(4, "receipts_ok", self.receipts_ok);
    visit(5, "receipts_error", self.receipts_error);
    visit(6, "receipts_timeout", self.receipts_timeout);
    visit(7, "faults", self.faults);
    visit(8, "policy_allow", self.policy_allow);
    visit(9, "policy_deny", self.policy_deny);
    visit(10, "cap_allow", self.cap_allow);
    visit(11, "cap_deny", self.cap_deny);
    visit(12, "instances", self.instances);
    visit(13, "running", self.running);
    visit(14, "waiting", self.waiting);
    visit(15, "completed", self.completed);
    visit(16, "failed", self.failed);
    visit(17, "workflow_intents", self.workflow_intents);
    visit(18, "open_intents", self.open_intents);
    visit(19, "proposed", self.proposed);
    visit(20, "shadowed", self.shadowed);
    visit(21, "approved", self.approved);
    visit(22, "rejected", self.rejected);
    visit(23, "applied", self.applied);
  }
};

struct Head {
  Uuid id;
  std::string name;
  int64_t created_ms = 0;
  std::string manifest_hash;
  uint64_t height = 0;         // seq of the last frame
  int64_t logical_now_ns = 0;  // of the last frame
  bool test = false;
  std::string seed;             // of a test world
  int64_t test_now_ns = 0;      // its clock
  uint64_t first_kept = 1;      // frames before it were removed by retention
  uint64_t last_snapshot = 0;   // seq of the frame with the last snapshot record; 0 = none
  std::string quarantine_code;  // "" = open
  std::string quarantine_message;
  uint64_t quarantine_seq = 0;
  Totals totals;

  static void fields(auto& self, auto&& visit) {
    visit(1, "id", self.id);
    visit(2, "name", self.name);
    visit(3, "created_ms", self.created_ms);
    visit(4, "manifest_hash", self.manifest_hash);
    visit(5, "height", self.height);
    visit(6, "logical_now_ns", self.logical_now_ns);
    visit(7, "test", self.test);
    visit(8, "seed", self.seed);
    visit(9, "test_now_ns", self.test_now_ns);
    visit(10, "first_kept", self.first_kept);
    visit(11, "last_snapshot", self.last_snapshot);
    visit(12, "quarantine_code", self.quarantine_code);
    visit(13, "quarantine_message", self.quarantine_message);
    visit(14, "quarantine_seq", self.quarantine_seq);
    visit(15, "totals", self.totals);
  }
};

// An open intent, as its instance knows it.
struct Inflight {
  std::string hash;  // text
  std::string kind;
  std::string params_hash;
  uint64_t seq = 0;  // emitted_at_seq
  uint32_t n = 0;    // its record in that frame

  static void fields(auto& self, auto&& visit) {
    visit(1, "hash", self.hash);
    visit(2, "kind", self.kind);
    visit(3, "params_hash", self.params_hash);
    visit(4, "seq", self.seq);
    visit(5, "n", self.n);
  }
};

struct Instance {
  Uuid run_id;
  InstanceStatus status = InstanceStatus::Running;
  bool has_state = false;
  std::string state;
  std::string state_hash;  // text; "" without state
  uint64_t last_seq = 0;
  std::string module_version;
  std::string error_code, error_detail;
  uint64_t error_seq = 0;
  // What failed it, for retry: the record it was handling, as [seq, n]; seq 0 = nothing to retry.
  uint64_t failed_cause_seq = 0;
  uint32_t failed_cause_n = 0;
  bool failed_route_continuation = false;
  bool has_said = false;  // its last step said a status of its own (failed or completed), which
                          // outlives open intents
  std::vector<Inflight> inflight;  // in emission order
  int64_t created_ms = 0;
  int64_t ended_ms = 0;  // 0 while it is not terminal

  static void fields(auto& self, auto&& visit) {
    visit(1, "run_id", self.run_id);
    visit(2, "status", self.status);
    visit(3, "has_state", self.has_state);
    visit(4, "state", self.state);
    visit(5, "state_hash", self.state_hash);
    visit(6, "last_seq", self.last_seq);
    visit(7, "module_version", self.module_version);
    visit(8, "error_code", self.error_code);
    visit(9, "error_detail", self.error_detail);
    visit(10, "error_seq", self.error_seq);
    visit(11, "failed_cause_seq", self.failed_cause_seq);
    visit(12, "failed_cause_n", self.failed_cause_n);
    visit(13, "failed_route_continuation", self.failed_route_continuation);
    visit(14, "has_said", self.has_said);
    visit(15, "inflight", self.inflight);
    visit(16, "created_ms", self.created_ms);
    visit(17, "ended_ms", self.ended_ms);
  }
};

enum class Settlement : uint8_t { Open = 0, Receipt = 1, Dropped = 2 };

struct Intent {
  std::string record;  // effect_intent, canonical CBOR
  std::string kind, cap_name, params_hash;
  std::string params;
  uint8_t origin = 0;        // OriginKind
  std::string origin_name;   // module, or "system"
  std::string instance_key;  // canonical bytes
  bool keyed = false;
  uint64_t seq = 0;  // emitted_at_seq
  uint32_t n = 0;    // of its record
  int64_t emitted_ns = 0;
  int64_t deliver_at_ns = 0;  // of timer.set; else 0
  Settlement settlement = Settlement::Open;
  uint64_t settled_seq = 0;
  std::string receipt_status, adapter_id;
  int64_t settled_ms = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "record", self.record);
    visit(2, "kind", self.kind);
    visit(3, "cap_name", self.cap_name);
    visit(4, "params_hash", self.params_hash);
    visit(5, "params", self.params);
    visit(6, "origin", self.origin);
    visit(7, "origin_name", self.origin_name);
    visit(8, "instance_key", self.instance_key);
    visit(9, "keyed", self.keyed);
    visit(10, "seq", self.seq);
    visit(11, "n", self.n);
    visit(12, "emitted_ns", self.emitted_ns);
    visit(13, "deliver_at_ns", self.deliver_at_ns);
    visit(14, "settlement", self.settlement);
    visit(15, "settled_seq", self.settled_seq);
    visit(16, "receipt_status", self.receipt_status);
    visit(17, "adapter_id", self.adapter_id);
    visit(18, "settled_ms", self.settled_ms);
  }
};

struct ClientNote {
  uint64_t seq = 0;
  std::string event_hash;
  std::string schema;  // to tell other content apart before it is canonical
  static void fields(auto& self, auto&& visit) {
    visit(1, "seq", self.seq);
    visit(2, "event_hash", self.event_hash);
    visit(3, "schema", self.schema);
  }
};

enum class ProposalState : uint8_t {
  Submitted = 0,
  Shadowed = 1,
  Approved = 2,
  Rejected = 3,
  Applied = 4
};
std::string_view proposal_state_name(ProposalState state);

struct Proposal {
  uint64_t seq = 0;  // its id is "p<seq>"
  ProposalState state = ProposalState::Submitted;
  std::string manifest_hash, base, description;
  std::string report;  // hash of the last shadow report's blob; "" = none
  static void fields(auto& self, auto&& visit) {
    visit(1, "seq", self.seq);
    visit(2, "state", self.state);
    visit(3, "manifest_hash", self.manifest_hash);
    visit(4, "base", self.base);
    visit(5, "description", self.description);
    visit(6, "report", self.report);
  }
};

struct Adapter {
  bool hmac = false;
  std::string key;  // public key, or the secret (sealed where the server has a vault)
  bool sealed = false;
  bool only_kinds = false;  // else it has all but the built-in ones
  std::vector<std::string> kinds;
  static void fields(auto& self, auto&& visit) {
    visit(1, "hmac", self.hmac);
    visit(2, "key", self.key);
    visit(3, "sealed", self.sealed);
    visit(4, "only_kinds", self.only_kinds);
    visit(5, "kinds", self.kinds);
  }
};

struct JournalRecord {
  uint8_t kind = 0;   // RecordKind (worlds/records.h)
  std::string bytes;  // canonical CBOR
  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "bytes", self.bytes);
  }
};

struct FrameRecords {
  std::vector<JournalRecord> records;
  int64_t written_ms = 0;  // of the stamp: for retention by age
  uint32_t checksum = 0;   // so that a flipped byte is journal.corrupt
  static void fields(auto& self, auto&& visit) {
    visit(1, "records", self.records);
    visit(2, "written_ms", self.written_ms);
    visit(3, "checksum", self.checksum);
  }
};

// What FrameRecords::checksum holds: crc32c over all the rest. The frame's own number is in it, so
// that a frame in another's place is found.
uint32_t frame_checksum(uint64_t seq, const FrameRecords& frame);

std::string head_key();
std::string frame_key(uint64_t seq);
std::string instance_key(std::string_view module, std::string_view key);
std::string instance_prefix(
    std::string_view module);                   // all instances of a module; "" = of the world
std::string intent_key(std::string_view hash);  // text
std::string open_key(uint64_t seq, uint32_t n);
std::string settled_key(uint64_t seq, uint32_t n);
std::string client_key(std::string_view client_id);
std::string proposal_key(uint64_t seq);
std::string blob_key(std::string_view hash);
std::string node_key(std::string_view hash);
std::string adapter_key(std::string_view id);
// An open intent for which the server has made a job or run.
std::string work_key(std::string_view hash);
std::string ended_key(int64_t ended_ms, std::string_view module, std::string_view key);
// Module and key of an instance's item.
bool split_instance_key(std::string_view item_key, std::string& module, std::string& key);
// The same of an ended_key().
bool split_ended_key(std::string_view item_key, int64_t& ended_ms, std::string& module,
                     std::string& key);

}  // namespace pawl::worlds
