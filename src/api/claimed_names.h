// ClaimedNames: the names of a call that belong to other partitions (kernel/messages/claims.h):
// they are asked for before the call is decided, and its task waits for the answers.
//
// Idempotency-Key of a creating call: its answer is kept where the call was decided first. If that
// is another partition, the call is passed on to it, which repeats the answer.
//
// Thread: the engine's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/app.h"
#include "base/result.h"
#include "kernel/messages/claims.h"

namespace pawl::api {

using ClaimsOf = App::ClaimsOf;

class ClaimedNames {
 public:
  // `kept_key`: of the document with its kept answer; "" if it has no Idempotency-Key.
  ClaimedNames(const Call& call, ClaimsOf claims_of, std::string kept_key, int64_t kept_ms);

  // What to do next; nothing of these: decide now.
  struct Next {
    std::optional<Parking> parking = {};   // homes are asked
    std::optional<uint16_t> pass_to = {};  // another partition has the answer
    std::optional<Error> refusal = {};
  };
  Next next(Frame& frame, bool last_call);
  // The call was decided; its answer, if it is kept, is stored.
  void decided(Frame& frame, bool good);

  // For the decision; null if nothing was asked.
  const NameAnswers* answers() const { return answers_ ? &*answers_ : nullptr; }

 private:
  Next begin(Frame& frame, bool last_call);
  Next judge_key(Frame& frame);

  bool creates_;
  std::string tenant_;
  std::string given_key_;
  ClaimsOf claims_of_;
  std::string kept_key_;
  int64_t kept_ms_;
  bool asked_ = false;
  int64_t until_ms_ = 0;
  Uuid token_;
  std::optional<NameAnswers> answers_;
};

// The partition of a job or run that was not found here, its home, but is at another partition.
std::optional<uint16_t> holder_of_missing(const State& state, const Call& call, const Error& error);

}  // namespace pawl::api
