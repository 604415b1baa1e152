// Replies about a world for people and programs, as JSON texts (docs/reference/worlds-http.md). All
// of it only reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "worlds/commands.h"

namespace pawl::worlds {

// What only the server knows of an open intent.
struct IntentWork {
  bool inflight = false;  // leased, or at work; timers are queued
  std::string adapter_id;
  int64_t until_ms = 0;
};
using WorkOf = FunctionRef<IntentWork(const std::string& intent_hash)>;

void write_instance(json::Writer& w, const Program& program, const std::string& module,
                    const std::string& key, const Instance& instance);
// `lease_until_ms`: of a reply to a lease; 0 = none.
void write_effect(json::Writer& w, const Program& program, const std::string& hash,
                  const Intent& intent, const IntentWork& work, int64_t lease_until_ms = 0);
void write_proposal(json::Writer& w, const Proposal& proposal);
// One entry of GET B/journal.
void write_record(json::Writer& w, uint64_t seq, uint32_t n, const JournalRecord& record);
void write_digest(json::Writer& w, const Digest& digest);  // members, without braces
// GET B/state/{module}
// `type`: null = the program does not know the module any more.
std::string state_json(const Head& head, const Type* type, const Instance& instance);

std::string summary_json(World& world, uint64_t queued);  // GET B/trace-summary
struct TraceQuery {
  std::optional<uint64_t> seq;
  std::string schema, correlate_by, value;
};
Result<std::string> trace_json(World& world, const Program& program, const TraceQuery& query);
std::string diagnose_json(World& world, const std::string& module, const std::string& key,
                          const Instance& instance);

// POST B/step-test and its twin for pure modules; the body's members as the contract has them.
// Journals nothing.
Result<std::string> step_test(const Program& program, World& world, ModuleHost& host,
                              json::View body, bool lenient = false);

// The apply.blocked details: blockers{…}, as a JSON object. At most `limit` of each list, with
// totals if cut.
std::string blockers_json(World& world, uint64_t queued, int64_t now_ns, size_t limit);

}  // namespace pawl::worlds
