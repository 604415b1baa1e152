// Passing: brings a request to whoever serves its partition, and the answer back.
//
// While nobody serves the partition the request waits, kOwnerWait at most; then it fails with
// partition_unavailable. One that was sent and whose answer is lost is sent again only if that
// cannot do it twice; else it fails with outcome_unknown: it may have happened.
//
// Thread: any.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "front/alarm.h"
#include "front/partition_map.h"
#include "http/answer_sink.h"
#include "link/links.h"

namespace pawl::front {

inline constexpr std::chrono::milliseconds kOwnerWait{5000};
inline constexpr uint8_t kHopsMax = 2;
inline constexpr std::chrono::milliseconds kAskAgain{50};

// A request on its way.
struct Errand {
  http::RequestParts request = {};
  const api::Route* route = nullptr;
  uint16_t partition = 0;
  uint8_t hops = 0;    // that it has behind it
  bool waits = false;  // a long poll or a stream
  std::shared_ptr<http::AnswerSink> sink = {};
  Alarm::Time give_up = std::chrono::steady_clock::now() + kOwnerWait;
};

// Where a partition takes the messages of another one (courier/courier.h); the body is a batch.
inline constexpr std::string_view kMessagesPath = "/v1/internal/messages";

// Where a node has a request's key checked; the method and target are in the headers below.
inline constexpr std::string_view kKeyPath = "/v1/internal/key";
inline constexpr std::string_view kKeyMethodHeader = "pawl-key-method";
inline constexpr std::string_view kKeyTargetHeader = "pawl-key-target";

// Where a node tells another one that a partition may be free.
inline constexpr std::string_view kLookPath = "/v1/internal/look";

class Passing {
 public:
  // `links`: null on a server that is alone. `look`: reads anew who serves what, soon.
  Passing(api::ServerParts& server, PartitionMap& map, link::Links* links, Alarm& alarm,
          std::function<void()> look);

  void pass(Errand errand);
  // In a cluster: whether what this node remembers is still true. What was only read leaves while
  // it is; a change that was committed is true for ever. Before serving.
  void use_lease(std::function<bool()> holds) { lease_holds_ = std::move(holds); }
  // Carries messages to a partition: a Transport.
  void carry(uint16_t to, std::string batch, std::function<void(Result<std::string>)> done);
  // Whether the key of a request suffices for what this node answers by itself: a node that serves
  // no partition asks one that is served. `done` gets the refusal, or nothing.
  void check_key(const http::RequestParts& request,
                 std::function<void(std::optional<http::Response> refusal)> done);
  // Handles it in a partition that is served here.
  void handle_here(const Here& here, http::Request&& request, http::Responder responder,
                   api::Round& round);

 private:
  struct Trip;

  void go(const std::shared_ptr<Trip>& trip);
  void go_here(const std::shared_ptr<Trip>& trip, const Here& here);
  void go_there(const std::shared_ptr<Trip>& trip, const Server& to);
  void failed(const std::shared_ptr<Trip>& trip, link::LinkFailure failure);
  void wait_for_owner(const std::shared_ptr<Trip>& trip);
  void fail(Trip& trip, Error error) const;

  api::ServerParts& server_;
  PartitionMap& map_;
  link::Links* const links_;
  Alarm& alarm_;
  const std::function<void()> look_;
  std::function<bool()> lease_holds_;
};

}  // namespace pawl::front
