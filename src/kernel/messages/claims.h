// Claims: names that clients choose (ids, unique keys, Idempotency-Keys) have a home, where it is
// decided who may use them. Who creates something at another partition claims its names first:
//
//   Claim     the asking partition → home: may this name be used at `holder`?
//   Granted   home → the asking partition: it is held there from now on
//   Refused   likewise: it is in use, by whom
//   Release   the asking partition → home: it is not used after all, or its user is forgotten
//
// The asking partition keeps what it waits for under a token (DocKind::Claim); a task waits parked
// under that name. Once all homes have answered, it creates in one frame what uses the names, or
// releases all that were granted. What nobody finishes (a crash, an outage of the store) is
// released by retention.
//
// A home keeps who holds an id or an Idempotency-Key as a document, and for a unique key a job that
// is elsewhere (Job::is_elsewhere) with the key and the policy's states: the holder tells it when
// the job begins and ends, so a policy finds it as if it were there. It hears of an end a moment
// late, so it refuses a moment longer, and never accepts a second one.
//
// With one partition there is nothing to claim.
//
// Thread: that of the state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/partition.h"
#include "base/result.h"
#include "base/uuid.h"
#include "journal/job_events.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/plan_node.h"

namespace pawl {

class Frame;
class State;
struct Job;
struct JobsForgotten;
struct RunForgotten;

struct NameClaim {
  NameKind kind = NameKind::Id;
  std::string name;  // an id's 16 bytes, a unique key, a key of a kept answer
  uint16_t home = 0;
  uint16_t holder = 0;     // where it will be used
  int64_t expires_ms = 0;  // of an Idempotency-Key
  NewJob job = {};         // of a unique key: with its policy and an id

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "name", self.name);
    visit(3, "home", self.home);
    visit(4, "holder", self.holder);
    visit(5, "expires_ms", self.expires_ms);
    visit(6, "job", self.job);
  }
};

// --- what is needed
// Names of jobs that are to be pushed here; gives an id to each that has a unique key elsewhere.
std::vector<NameClaim> claims_of_jobs(Frame& frame, std::vector<NewJob>& jobs);
// The ids of a composition with all that is nested in it, and of the run of a definition.
std::vector<NameClaim> claims_of_run(const State& state, const PlanNode& plan);
std::vector<NameClaim> claims_of_id(const State& state, const Uuid& id);

// --- asking
struct NameAnswer {
  NameClaim claim;
  bool answered = false;
  bool granted = false;
  uint16_t holder = 0;       // of a refused one: the partition that has it
  Uuid existing;             // likewise: the job or run
  std::string row;           // likewise, of a unique key: encode_job()
  int64_t scheduled_ms = 0;  // of a granted one that replaced a job: when that was scheduled

  static void fields(auto& self, auto&& visit) {
    visit(1, "claim", self.claim);
    visit(2, "answered", self.answered);
    visit(3, "granted", self.granted);
    visit(4, "holder", self.holder);
    visit(5, "existing", self.existing);
    visit(6, "row", self.row);
    visit(7, "scheduled_ms", self.scheduled_ms);
  }
};

struct NameAnswers {
  std::vector<NameAnswer> answers;
  int64_t since_ms = 0;

  static void fields(auto& self, auto&& visit) {
    visit(1, "answers", self.answers);
    visit(2, "since_ms", self.since_ms);
  }
  bool all_answered() const;
  // Null if it was not asked for.
  const NameAnswer* find(NameKind kind, std::string_view name) const;
};

// Asks all homes. A task that is parked under parking_of(RunId(token)) wakes when all have
// answered.
Uuid begin_claims(Frame& frame, const std::vector<NameClaim>& claims);
// What was answered so far; nothing if the token is not known: it was released.
std::optional<NameAnswers> claim_answers(const State& state, const Uuid& token);
// Forgets the token, and releases what was granted and is not used now: all of it, if the decision
// has failed.
void end_claims(Frame& frame, const Uuid& token, bool good);
// The first that was refused, if any was, Idempotency-Keys apart.
const NameAnswer* first_refused(const NameAnswers* answers);
// Another request of this partition asks for the name now.
bool is_asked_by_another(const State& state, const Uuid& token, NameKind kind,
                         std::string_view name);
// Of those that nobody has ended. Returns how many.
size_t release_stale_claims(Frame& frame, int64_t before_ms);

// --- at home
// Who holds this id or Idempotency-Key, if another partition than its home does.
std::optional<uint16_t> claimed_by(const State& state, NameKind kind, std::string_view name);
// The same of an id, as a question.
bool is_taken_elsewhere(const State& state, const Uuid& id);
// An id of this home is used at another partition without being asked for: this one has decided it.
void hold_id(Frame& frame, const Uuid& id, uint16_t holder);
void drop_id(Frame& frame, const Uuid& id);  // it is used here

// --- for those who end or forget what holds a name
void tell_unique_home(Frame& frame, const Job& job);
void release_forgotten(Frame& frame, const JobsForgotten& event);
void release_forgotten(Frame& frame, const RunForgotten& event);

// --- messages, taken
struct AskedClaim {
  Uuid token;
  uint16_t asker = 0;
  NameClaim claim;

  static void fields(auto& self, auto&& visit) {
    visit(1, "token", self.token);
    visit(2, "asker", self.asker);
    visit(3, "claim", self.claim);
  }
};
struct AnsweredClaim {
  Uuid token;
  NameAnswer answer;

  static void fields(auto& self, auto&& visit) {
    visit(1, "token", self.token);
    visit(2, "answer", self.answer);
  }
};
struct ReleasedClaim {
  NameKind kind = NameKind::Id;
  std::string name;
  uint16_t holder = 0;
  Uuid token;  // the claim that it releases; nil: whichever the holder has
  JobId job;   // of a unique key

  static void fields(auto& self, auto&& visit) {
    visit(1, "kind", self.kind);
    visit(2, "name", self.name);
    visit(3, "holder", self.holder);
    visit(4, "token", self.token);
    visit(5, "job", self.job);
  }
};
void take_claim(Frame& frame, const AskedClaim& asked);
void take_claim_answer(Frame& frame, const AnsweredClaim& answered);
void take_release(Frame& frame, const ReleasedClaim& released);

}  // namespace pawl
