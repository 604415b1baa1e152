// The parts of governance's commands that a replay repeats. It decides their frames again; the
// nodes of a proposal and the report of a shadow run are on disk already and are not made again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "worlds/commands.h"

namespace pawl::worlds {

// Refuses a verb that a rule with origin_kind governance denies: policy.denied.
Status allow_governance(const Program& program, std::string_view verb);
// The proposal that a client names: gov.unknown_proposal.
Result<Proposal> named_proposal(World& world, std::string_view proposal_id);
// Whether a shadow may run: gov.state, policy.denied.
Result<Proposal> shadowable_proposal(World& world, const Program& program,
                                     std::string_view proposal_id);

Result<Proposal> write_proposed(Deciding& deciding, std::string_view manifest_hash,
                                std::string_view base, std::string_view description);
Proposal write_shadowed(Deciding& deciding, Proposal proposal, std::string_view report_hash);

}  // namespace pawl::worlds
