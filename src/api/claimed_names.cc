#include "api/claimed_names.h"

#include <utility>

#include "kernel/frame.h"
#include "kernel/state.h"
#include "plan/ojs/parse_workflow.h"

namespace pawl::api {
namespace {

constexpr int64_t kAnswersMs = 5'000;
// A home holds a key for longer than its answer is kept, so that no second call comes between.
constexpr int64_t kHeldLongerMs = 60'000;

}  // namespace

ClaimedNames::ClaimedNames(const Call& call, ClaimsOf claims_of, std::string kept_key,
                           int64_t kept_ms)
    : creates_(call.route != nullptr && call.route->routing == Routing::Create),
      tenant_(call.tenant),
      given_key_(call.request.header("idempotency-key")),
      claims_of_(std::move(claims_of)),
      kept_key_(std::move(kept_key)),
      kept_ms_(kept_ms) {}

ClaimedNames::Next ClaimedNames::next(Frame& frame, bool last_call) {
  if (!creates_ || frame.state().partitions() == 1) return {};
  if (!asked_) return begin(frame, last_call);
  if (token_.is_nil()) return {};
  answers_ = claim_answers(frame.state(), token_);
  if (answers_ && answers_->all_answered()) return judge_key(frame);
  if (answers_ && !last_call && frame.now_ms() < until_ms_)
    return {.parking = Parking{{parking_of(RunId(token_))}, until_ms_, 0}};
  end_claims(frame, token_, false);
  return {.refusal = Error{ErrorCode::NoOwner,
                           "a partition that must agree to the names used does not answer"}};
}

ClaimedNames::Next ClaimedNames::begin(Frame& frame, bool last_call) {
  asked_ = true;
  const State& state = frame.state();
  std::vector<NameClaim> claims;
  if (!kept_key_.empty()) {
    const uint16_t home =
        home_of(NameKind::IdempotencyKey, tenant_, given_key_, state.partitions());
    if (home != state.partition()) {
      claims.push_back({NameKind::IdempotencyKey, kept_key_, home, state.partition(),
                        frame.now_ms() + kept_ms_ + kHeldLongerMs});
    } else if (auto holder = claimed_by(state, NameKind::IdempotencyKey, kept_key_)) {
      return {.pass_to = holder};
    }
  }
  if (claims_of_)
    for (NameClaim& claim : claims_of_(frame)) claims.push_back(std::move(claim));
  if (claims.empty()) return {};
  if (last_call)
    return {.refusal = Error{ErrorCode::Overloaded, "too many calls wait; try again shortly"}};
  token_ = begin_claims(frame, claims);
  until_ms_ = frame.now_ms() + kAnswersMs;
  return {.parking = Parking{{parking_of(RunId(token_))}, until_ms_, 0}};
}

ClaimedNames::Next ClaimedNames::judge_key(Frame& frame) {
  const NameAnswer* key = answers_->find(NameKind::IdempotencyKey, kept_key_);
  if (key == nullptr || key->granted) return {};
  if (key->holder != frame.state().partition()) {
    end_claims(frame, token_, false);
    return {.pass_to = key->holder};
  }
  // It is this partition's already: another call decides it now, or its answer was forgotten.
  if (!is_asked_by_another(frame.state(), token_, NameKind::IdempotencyKey, kept_key_)) return {};
  end_claims(frame, token_, false);
  return {.refusal =
              Error{ErrorCode::Conflict, "a call with this Idempotency-Key is being decided"}};
}

std::optional<uint16_t> holder_of_missing(const State& state, const Call& call,
                                          const Error& error) {
  if (state.partitions() == 1 || error.code != ErrorCode::NotFound) return std::nullopt;
  auto holder = [&](std::string_view text) {
    return claimed_by(state, NameKind::Id, workflow_id(text, state.partitions()).bytes());
  };
  for (const auto& [name, value] : error.details)
    if (name == "resource_id") return holder(value);
  const bool by_id = call.route != nullptr && call.route->routing == Routing::ById;
  return by_id && !call.params.empty() ? holder(call.params[0]) : std::nullopt;
}

void ClaimedNames::decided(Frame& frame, bool good) {
  if (!token_.is_nil()) end_claims(frame, std::exchange(token_, {}), good);
}

}  // namespace pawl::api
