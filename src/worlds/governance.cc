#include "worlds/governance.h"

#include <charconv>

#include "base/check.h"
#include "base/plant.h"
#include "worlds/frame.h"
#include "worlds/gate.h"
#include "worlds/reading.h"
#include "worlds/written.h"

namespace pawl::worlds {
namespace {

constexpr size_t kBlockersMax = 1'000;

void put_proposal(Deciding& deciding, const Proposal& proposal) {
  deciding.writes().put(proposal_key(proposal.seq), codec::encoded(proposal));
}

Error wrong_state(const Proposal& proposal, std::string_view verb) {
  return refusal(ErrorCode::Conflict, "gov.state",
                 "proposal " + proposal_id(proposal.seq) + " is " +
                     std::string(proposal_state_name(proposal.state)) + ": it cannot be " +
                     std::string(verb))
      .with("state", std::string(proposal_state_name(proposal.state)));
}

Status on_live_base(std::string_view base, const Head& head) {
  if (base == head.manifest_hash) return ok_status();
  return refusal(ErrorCode::Conflict, "gov.stale_base",
                 "it is based on manifest " + std::string(base) + ", but the world runs " +
                     head.manifest_hash + ": propose it again")
      .with("manifest_hash", head.manifest_hash);
}

// A verb is one frame: its intent, then its record.
void append_verb(Frame& frame, std::string_view verb, const GovernanceRecord& record) {
  add_governance_intent(frame, verb, record.proposal_id, record.manifest_hash);
  frame.append(RecordKind::Governance, governance_record(record));
}

// Moves a proposal on, in a frame of its own.
Proposal write_verb(Deciding& deciding, Proposal proposal, std::string_view verb,
                    std::string_view action, uint64_t Totals::*count) {
  Frame frame(deciding, Frame::Clock::Stays);
  const std::string id = proposal_id(proposal.seq);
  append_verb(frame, verb,
              {.action = action,
               .proposal_id = id,
               .manifest_hash = proposal.manifest_hash,
               .base = proposal.base,
               .report = action == "shadow_report" ? std::string_view(proposal.report)
                                                   : std::string_view()});
  frame.totals().*count += 1;
  put_proposal(deciding, proposal);
  frame.finish();
  return proposal;
}

Status quiescent(Deciding& deciding, const Head& head, QueuedWork queued) {
  if (has_bug(Bug::ApplyAmidWork)) return ok_status();
  const Totals& totals = head.totals;
  if (totals.running == 0 && totals.waiting == 0 && totals.workflow_intents == 0 &&
      queued.queued == 0)
    return ok_status();
  Error error = refusal(ErrorCode::Conflict, "apply.blocked",
                        "a manifest is applied only when nothing is under way; open instances: " +
                            std::to_string(totals.running + totals.waiting) +
                            ", open intents: " + std::to_string(totals.workflow_intents) +
                            ", neither leased nor fired: " + std::to_string(queued.queued));
  error.json_details.emplace_back("blockers", blockers_json(deciding.world(), queued.queued,
                                                            deciding.stamp().now_ns, kBlockersMax));
  return error;
}

}  // namespace

std::string proposal_id(uint64_t seq) { return "p" + std::to_string(seq); }

std::optional<uint64_t> parse_proposal_id(std::string_view id) {
  if (id.size() < 2 || id.size() > 21 || id[0] != 'p' || id[1] == '0') return std::nullopt;
  uint64_t seq = 0;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), seq);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return seq;
}

Status allow_governance(const Program& program, std::string_view verb) {
  const std::string kind = "governance." + std::string(verb);
  // Verbs have neither a cap nor a cap's type.
  const PolicyDecision decision =
      judge_policy(program, kind, "", "", {.kind = OriginKind::Governance, .name = verb});
  if (decision.allow) return ok_status();
  return refusal(ErrorCode::Forbidden, "policy.denied",
                 "policy " + std::string(decision.policy_name) + " denies " + kind);
}

Result<Proposal> named_proposal(World& world, std::string_view id) {
  if (const auto seq = parse_proposal_id(id)) {
    if (auto proposal = world.proposal(*seq)) return *std::move(proposal);
  }
  return refusal(ErrorCode::NotFound, "gov.unknown_proposal",
                 "no proposal '" + std::string(id.substr(0, 100)) + "'");
}

Result<Proposal> shadowable_proposal(World& world, const Program& program, std::string_view id) {
  PAWL_TRY_DO(writable(world.head()));
  PAWL_TRY(Proposal proposal, named_proposal(world, id));
  if (proposal.state != ProposalState::Submitted && proposal.state != ProposalState::Shadowed)
    return wrong_state(proposal, "shadowed");
  PAWL_TRY_DO(allow_governance(program, "shadow"));
  return proposal;
}

Result<Proposal> write_proposed(Deciding& deciding, std::string_view manifest_hash,
                                std::string_view base, std::string_view description) {
  const Head head = deciding.world().head();
  PAWL_TRY_DO(writable(head));
  PAWL_TRY_DO(on_live_base(base, head));
  PAWL_TRY_DO(allow_governance(deciding.program(), "propose"));
  return write_verb(deciding,
                    {.seq = head.height + 1,
                     .manifest_hash = std::string(manifest_hash),
                     .base = std::string(base),
                     .description = std::string(description)},
                    "propose", "proposed", &Totals::proposed);
}

Proposal write_shadowed(Deciding& deciding, Proposal proposal, std::string_view report_hash) {
  proposal.state = ProposalState::Shadowed;
  proposal.report = report_hash;
  return write_verb(deciding, std::move(proposal), "shadow", "shadow_report", &Totals::shadowed);
}

Result<Proposal> propose(Deciding& deciding, const ProgramText& text,
                         std::optional<std::string> base, std::string_view description) {
  const std::string on = base ? *std::move(base) : deciding.world().head().manifest_hash;
  PAWL_TRY(Proposal proposal, write_proposed(deciding, text.manifest_hash, on, description));
  keep_program_text(deciding.world(), deciding.writes(), text);
  return proposal;
}

Result<Proposal> approve(Deciding& deciding, std::string_view id) {
  const Head head = deciding.world().head();
  PAWL_TRY_DO(writable(head));
  PAWL_TRY(Proposal proposal, named_proposal(deciding.world(), id));
  if (proposal.state != ProposalState::Shadowed) return wrong_state(proposal, "approved");
  PAWL_TRY_DO(on_live_base(proposal.base, head));
  PAWL_TRY_DO(allow_governance(deciding.program(), "approve"));
  proposal.state = ProposalState::Approved;
  return write_verb(deciding, std::move(proposal), "approve", "approved", &Totals::approved);
}

Result<Proposal> reject(Deciding& deciding, std::string_view id) {
  PAWL_TRY_DO(writable(deciding.world().head()));
  PAWL_TRY(Proposal proposal, named_proposal(deciding.world(), id));
  if (proposal.state == ProposalState::Applied) return wrong_state(proposal, "rejected");
  PAWL_TRY_DO(allow_governance(deciding.program(), "reject"));
  proposal.state = ProposalState::Rejected;
  return write_verb(deciding, std::move(proposal), "reject", "rejected", &Totals::rejected);
}

Result<Applied> apply_program(Deciding& deciding, std::string_view id,
                              std::shared_ptr<const Program> candidate, QueuedWork queued) {
  const Head head = deciding.world().head();
  PAWL_TRY_DO(writable(head));
  std::optional<Proposal> proposal;
  if (!id.empty()) {
    PAWL_TRY(proposal, named_proposal(deciding.world(), id));
    if (proposal->state != ProposalState::Approved) return wrong_state(*proposal, "applied");
    PAWL_TRY_DO(on_live_base(proposal->base, head));
    PAWL_CHECK(proposal->manifest_hash == candidate->manifest_hash);
  }
  PAWL_TRY_DO(allow_governance(deciding.program(), "apply"));
  PAWL_TRY_DO(quiescent(deciding, head, queued));

  Frame frame(deciding, Frame::Clock::Stays);
  append_verb(frame, "apply",
              {.action = "applied",
               .proposal_id = id,
               .manifest_hash = candidate->manifest_hash,
               .base = head.manifest_hash,
               .report = {}});
  frame.append(RecordKind::Manifest, manifest_record(candidate->manifest_hash));
  frame.head().manifest_hash = candidate->manifest_hash;
  frame.totals().applied += 1;
  if (proposal) {
    proposal->state = ProposalState::Applied;
    put_proposal(deciding, *proposal);
  }
  frame.finish();
  Applied applied{candidate->manifest_hash, frame.seq()};
  deciding.use(std::move(candidate));
  return applied;
}

}  // namespace pawl::worlds
