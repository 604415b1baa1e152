// CallTask: a request inside the engine. A function decides it, at once or after waiting, and the
// answer leaves when the decision is durable.
//
// Idempotency-Key: the answer of a call that writes is stored in the same frame as its changes, and
// returned again to the same call with the same key and body. A failure is not stored: it changed
// nothing, so the call may be tried again. For a call that waits, the first answer is stored, and
// later each answer whose decision changed something: leased jobs must not be lost with the reply
// that names them. A repeated call gets the answer stored so far.
//
// Threads: decide() on the engine's, durable() and refuse() on any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/app.h"
#include "api/claimed_names.h"
#include "api/kept_answer.h"
#include "engine/task.h"

namespace pawl {
struct Doc;
}

namespace pawl::api {

class CallTask : public Task {
 public:
  struct Order {
    App::DecideAndWait decide;
    bool kept = true;                     // for its Idempotency-Key
    std::function<void()> on_done = {};   // it succeeded and is durable; before the answer
    std::function<void()> on_ended = {};  // answered or refused
    // Instead of decide: of a call that uses names, which claims_of tells.
    App::DecideClaiming decide_claiming = {};
    ClaimsOf claims_of = {};
  };

  CallTask(App& app, Call&& call, Order order);

  std::optional<Parking> decide(Frame& frame, bool last_call) override;
  void durable(Wakes& wakes) override;
  void refuse(const Error& error) override;
  size_t weight() const override { return call_.request.body.size(); }
  bool only_reads() const override;

  void turn_away(const Error& error) { call_.fail(error); }  // instead of submitting it
  Call& call() { return call_; }

 private:
  void answer(Reply result);
  void decide_now(Frame& frame, const std::string& key, Waiting& waiting);

  App& app_;
  Call call_;
  Order order_;
  bool waited_ = false;
  bool failed_ = false;
  http::Response response_;
  std::optional<KeptAnswers> kept_;
  ClaimedNames names_;
  std::optional<uint16_t> pass_to_;  // the partition that answers it
};

}  // namespace pawl::api
