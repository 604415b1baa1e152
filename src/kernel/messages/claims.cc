#include "kernel/messages/claims.h"

#include <algorithm>
#include <set>

#include "kernel/frame.h"
#include "kernel/jobs/finish_job.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_copy.h"
#include "kernel/jobs/push_jobs.h"
#include "kernel/jobs/queue.h"
#include "kernel/messages/message.h"
#include "kernel/messages/outbox.h"
#include "kernel/messages/placing.h"
#include "kernel/run.h"
#include "kernel/settings/doc.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr size_t kStalePerFrame = 100;

std::string asked_key(const Uuid& token) { return "p" + token.bytes(); }
std::string held_key(NameKind kind, std::string_view name) {
  return std::string("h").append(1, static_cast<char>(kind)).append(name);
}

// At its home: who holds an id or an Idempotency-Key.
struct HeldName {
  uint16_t holder = 0;
  Uuid token;

  static void fields(auto& self, auto&& visit) {
    visit(1, "holder", self.holder);
    visit(2, "token", self.token);
  }
};

std::optional<HeldName> held_name(const State& state, NameKind kind, std::string_view name) {
  if (state.partitions() == 1) return std::nullopt;
  const Doc* doc = state.find_doc(DocKind::Claim, held_key(kind, name));
  HeldName held;
  if (doc == nullptr || !codec::decode(doc->value, held)) return std::nullopt;
  return held;
}

// `holder`: where it will be used.
void claim_id(const State& state, const Uuid& id, uint16_t holder, std::vector<NameClaim>& claims) {
  if (id.is_nil()) return;
  const uint16_t home = partition_of(id, state.partitions());
  if (home != state.partition()) claims.push_back({NameKind::Id, id.bytes(), home, holder});
}

void answer(Frame& frame, const AskedClaim& asked, NameAnswer answer) {
  answer.claim.kind = asked.claim.kind;
  answer.claim.name = asked.claim.name;
  answer.answered = true;
  const MessageKind kind = answer.granted ? MessageKind::Granted : MessageKind::Refused;
  send_message(frame, asked.asker, message_of(kind, AnsweredClaim{asked.token, std::move(answer)}));
}

void claim_unique(Frame& frame, const AskedClaim& asked) {
  const NewJob& job = asked.claim.job;
  NameAnswer told;
  const Job* existing = unique_conflict(frame.state(), job.unique, frame.now_ms());
  const Job* same = frame.state().find_job(job.id);
  const bool same_is_live = same != nullptr && (!same->is_elsewhere() || !is_terminal(same->state));
  if (same_is_live) existing = same;
  const bool replaces =
      !same_is_live && (job.unique.on_conflict == OnConflict::Replace ||
                        job.unique.on_conflict == OnConflict::ReplaceExceptSchedule);
  if (existing != nullptr && !replaces) {
    told.holder =
        existing->is_elsewhere() ? partition_of_mark(existing->home) : frame.state().partition();
    told.existing = existing->id;
    told.row = encode_job(*existing);
    return answer(frame, asked, std::move(told));
  }
  if (existing != nullptr) {
    if (job.unique.on_conflict == OnConflict::ReplaceExceptSchedule &&
        existing->state == JobState::Scheduled)
      told.scheduled_ms = existing->scheduled_ms;
    replace_job(frame, JobId(existing->id));
  }
  forget_noted(frame, job.id);
  note_elsewhere(frame, job, asked.claim.holder, job.unique.key, job.spec);
  told.granted = true;
  answer(frame, asked, std::move(told));
}

// A job or run of this partition.
bool is_here(const State& state, const Uuid& id) {
  return state.find_job_here(JobId(id)) != nullptr || state.find_run(RunId(id)) != nullptr;
}

// What was handed over is at its holder by now, as far as this partition can know.
bool is_used(const State& state, const NameClaim& claim) {
  if (claim.kind == NameKind::IdempotencyKey)
    return state.find_doc(DocKind::Idempotency, claim.name) != nullptr;
  if (claim.holder != state.partition()) return true;
  return is_here(state, claim.kind == NameKind::UniqueKey ? Uuid(claim.job.id)
                                                          : *Uuid::from_bytes(claim.name));
}

// An id that is in use here, or that another claim holds; or a key whose answer is kept here.
std::optional<NameAnswer> refusal_of(const State& state, const NameClaim& claim) {
  NameAnswer told;
  told.holder = state.partition();
  if (claim.kind == NameKind::Id) {
    told.existing = *Uuid::from_bytes(claim.name);
    if (is_here(state, told.existing)) return told;
  } else if (state.find_doc(DocKind::Idempotency, claim.name) != nullptr) {
    return told;
  }
  auto held = held_name(state, claim.kind, claim.name);
  if (!held) return std::nullopt;
  told.holder = held->holder;
  return told;
}

}  // namespace

// --- what is needed

std::vector<NameClaim> claims_of_jobs(Frame& frame, std::vector<NewJob>& jobs) {
  const State& state = frame.state();
  std::vector<NameClaim> claims;
  if (state.partitions() == 1) return claims;
  std::set<std::string> unique_keys;
  for (NewJob& job : jobs) {
    const uint16_t holder = home_of_job(state, job);
    claim_id(state, job.id, holder, claims);
    if (job.unique.key.empty() || !unique_keys.insert(job.unique.key).second) continue;
    const uint16_t home = home_of(NameKind::UniqueKey, "", job.unique.key, state.partitions());
    if (home == state.partition()) continue;
    if (job.id.is_nil()) job.id = JobId(at_partition(frame.fresh_id(), holder));
    claims.push_back({NameKind::UniqueKey, job.unique.key, home, holder, 0, job});
  }
  return claims;
}

std::vector<NameClaim> claims_of_run(const State& state, const PlanNode& plan) {
  std::vector<NameClaim> claims;
  if (state.partitions() == 1) return claims;
  claim_id(state, plan.id, state.partition(), claims);
  auto add_job = [&](const std::string& bytes) {
    NewJob job;
    if (codec::decode(bytes, job)) claim_id(state, job.id, home_of_member(state, job), claims);
  };
  for (const std::string& child : plan.children) {
    PlanNode node;
    if (!codec::decode(child, node)) continue;
    if (node.kind != NodeKind::Run) {
      add_job(node.job);
      continue;
    }
    for (NameClaim& claim : claims_of_run(state, node)) claims.push_back(std::move(claim));
  }
  for (const std::string& callback : plan.callbacks)
    if (!callback.empty()) add_job(callback);
  return claims;
}

std::vector<NameClaim> claims_of_id(const State& state, const Uuid& id) {
  std::vector<NameClaim> claims;
  if (state.partitions() > 1) claim_id(state, id, state.partition(), claims);
  return claims;
}

// --- asking

bool NameAnswers::all_answered() const {
  return std::all_of(answers.begin(), answers.end(),
                     [](const NameAnswer& each) { return each.answered; });
}

const NameAnswer* NameAnswers::find(NameKind kind, std::string_view name) const {
  for (const NameAnswer& each : answers)
    if (each.claim.kind == kind && each.claim.name == name) return &each;
  return nullptr;
}

Uuid begin_claims(Frame& frame, const std::vector<NameClaim>& claims) {
  const Uuid token = frame.fresh_id();
  const uint16_t own = frame.state().partition();
  NameAnswers waiting;
  waiting.since_ms = frame.now_ms();
  for (const NameClaim& claim : claims) {
    NameAnswer& open = waiting.answers.emplace_back();
    open.claim = claim;
    open.claim.job = {};
    open.claim.job.id = claim.job.id;
    send_message(frame, claim.home, message_of(MessageKind::Claim, AskedClaim{token, own, claim}));
  }
  put_doc(frame, DocKind::Claim, asked_key(token), codec::encoded(waiting));
  return token;
}

std::optional<NameAnswers> claim_answers(const State& state, const Uuid& token) {
  const Doc* doc = state.find_doc(DocKind::Claim, asked_key(token));
  NameAnswers answers;
  if (doc == nullptr || !codec::decode(doc->value, answers)) return std::nullopt;
  return answers;
}

// One that has not been answered is released too: the home takes both in order.
void end_claims(Frame& frame, const Uuid& token, bool good) {
  auto answers = claim_answers(frame.state(), token);
  if (!answers) return;
  frame.emit(DocDeleted{DocKind::Claim, asked_key(token)});
  for (const NameAnswer& each : answers->answers) {
    const NameClaim& claim = each.claim;
    if ((each.answered && !each.granted) || (good && is_used(frame.state(), claim))) continue;
    ReleasedClaim released{claim.kind, claim.name, claim.holder, token, claim.job.id};
    send_message(frame, claim.home, message_of(MessageKind::Release, released));
  }
}

const NameAnswer* first_refused(const NameAnswers* answers) {
  if (answers == nullptr) return nullptr;
  for (const NameAnswer& each : answers->answers)
    if (!each.granted && each.claim.kind != NameKind::IdempotencyKey) return &each;
  return nullptr;
}

bool is_asked_by_another(const State& state, const Uuid& token, NameKind kind,
                         std::string_view name) {
  bool asked = false;
  state.each_doc_under(DocKind::Claim, "p", "", SIZE_MAX,
                       [&](std::string_view key, std::string_view value) {
                         NameAnswers answers;
                         asked = key != asked_key(token) && codec::decode(value, answers) &&
                                 answers.find(kind, name) != nullptr;
                         return !asked;
                       });
  return asked;
}

size_t release_stale_claims(Frame& frame, int64_t before_ms) {
  if (frame.state().partitions() == 1) return 0;
  std::vector<Uuid> stale;
  frame.state().each_doc_under(DocKind::Claim, "p", "", SIZE_MAX,
                               [&](std::string_view key, std::string_view value) {
                                 NameAnswers answers;
                                 if (codec::decode(value, answers) && answers.since_ms < before_ms)
                                   stale.push_back(*Uuid::from_bytes(key.substr(1)));
                                 return stale.size() < kStalePerFrame;
                               });
  for (const Uuid& token : stale) end_claims(frame, token, false);
  return stale.size();
}

void take_claim_answer(Frame& frame, const AnsweredClaim& answered) {
  auto waiting = claim_answers(frame.state(), answered.token);
  if (!waiting) return;  // released meanwhile
  for (NameAnswer& each : waiting->answers) {
    if (each.claim.kind != answered.answer.claim.kind ||
        each.claim.name != answered.answer.claim.name)
      continue;
    NameClaim claim = std::move(each.claim);
    each = answered.answer;
    each.claim = std::move(claim);
  }
  put_doc(frame, DocKind::Claim, asked_key(answered.token), codec::encoded(*waiting));
  if (waiting->all_answered()) frame.note_answered(answered.token);
}

// --- at home

std::optional<uint16_t> claimed_by(const State& state, NameKind kind, std::string_view name) {
  auto held = held_name(state, kind, name);
  if (!held || held->holder == state.partition()) return std::nullopt;
  return held->holder;
}

bool is_taken_elsewhere(const State& state, const Uuid& id) {
  return claimed_by(state, NameKind::Id, id.bytes()).has_value();
}

void take_claim(Frame& frame, const AskedClaim& asked) {
  const NameClaim& claim = asked.claim;
  if (claim.kind == NameKind::UniqueKey) return claim_unique(frame, asked);
  if (auto refusal = refusal_of(frame.state(), claim)) return answer(frame, asked, *refusal);
  put_doc(frame, DocKind::Claim, held_key(claim.kind, claim.name),
          codec::encoded(HeldName{claim.holder, asked.token}), claim.expires_ms);
  NameAnswer granted;
  granted.granted = true;
  answer(frame, asked, granted);
}

void take_release(Frame& frame, const ReleasedClaim& released) {
  const State& state = frame.state();
  if (released.kind == NameKind::UniqueKey) {
    const Job* job = state.find_job(released.job);
    if (job == nullptr || !job->is_elsewhere() || job->unique_key != released.name) return;
    return forget_noted(frame, released.job);
  }
  auto held = held_name(state, released.kind, released.name);
  if (!held || held->holder != released.holder) return;
  if (!released.token.is_nil() && held->token != released.token) return;
  frame.emit(DocDeleted{DocKind::Claim, held_key(released.kind, released.name)});
}

void hold_id(Frame& frame, const Uuid& id, uint16_t holder) {
  const State& state = frame.state();
  if (partition_of(id, state.partitions()) == state.partition() && holder != state.partition())
    put_doc(frame, DocKind::Claim, held_key(NameKind::Id, id.bytes()),
            codec::encoded(HeldName{holder, {}}));
}

void drop_id(Frame& frame, const Uuid& id) {
  if (held_name(frame.state(), NameKind::Id, id.bytes()))
    frame.emit(DocDeleted{DocKind::Claim, held_key(NameKind::Id, id.bytes())});
}

// --- for those who end or forget what holds a name

void tell_unique_home(Frame& frame, const Job& job) {
  const State& state = frame.state();
  if (state.partitions() == 1 || job.unique_key.empty() || job.is_elsewhere()) return;
  const uint16_t home = home_of(NameKind::UniqueKey, "", job.unique_key, state.partitions());
  if (home != state.partition()) tell_how_it_is(frame, job, home);
}

void release_forgotten(Frame& frame, const JobsForgotten& event) {
  const State& state = frame.state();
  if (event.elsewhere) return;
  for (const JobId& id : event.jobs) {
    const uint16_t home = partition_of(id, state.partitions());
    if (home == state.partition()) continue;
    ReleasedClaim released{NameKind::Id, id.bytes(), state.partition(), {}, {}};
    send_message(frame, home, message_of(MessageKind::Release, released));
  }
}

void release_forgotten(Frame& frame, const RunForgotten& event) {
  const State& state = frame.state();
  const uint16_t home = partition_of(event.run, state.partitions());
  if (home == state.partition()) return;
  ReleasedClaim released{NameKind::Id, event.run.bytes(), state.partition(), {}, {}};
  send_message(frame, home, message_of(MessageKind::Release, released));
}

}  // namespace pawl
