#include "link/link_door.h"

#include <utility>

#include "base/hash.h"
#include "base/quote.h"
#include "link/answers.h"

namespace pawl::link {
namespace {

// "10.0.0.1:5432" → "10.0.0.1": the port of a client differs each time.
std::string host_of(std::string_view peer) { return std::string(peer.substr(0, peer.rfind(':'))); }

}  // namespace

LinkDoor::LinkDoor(DoorConfig config, Deliver deliver)
    : config_(std::move(config)), deliver_(std::move(deliver)), seal_(config_.key) {}

http::Verdict LinkDoor::judge(const http::Request& request) {
  http::Verdict verdict;
  verdict.wraps_requests = true;
  const auto header = read_sealed_header(request.header(kLinkHeader));
  const std::string ticket =
      header ? seal_.ticket_of(*header, request.header("content-length")) : std::string();
  if (!header || !equal_in_constant_time(header->ticket, ticket))
    verdict.answer = wrong_key(request);
  return verdict;
}

http::Response LinkDoor::wrong_key(const http::Request& request) {
  warnings_.add("a batch from " + host_of(request.peer) +
                " was refused: it was not made with this cluster's key");
  return refusal({401, "unauthenticated", "this is for nodes with the cluster's key"}, {});
}

void LinkDoor::serve(http::Request&& request, http::Responder responder) {
  const auto header = read_sealed_header(request.header(kLinkHeader));
  if (!header || !equal_in_constant_time(header->seal, seal_.mac_of(header->version, request.body)))
    return responder.respond(wrong_key(request));
  const std::string proof = sealed_header(config_.versions.highest,
                                          seal_.proof_of(config_.versions.highest, header->seal));
  const auto refuse_it = [&](const Refusal& reason) { responder.respond(refusal(reason, proof)); };
  if (!config_.versions.speak(header->version)) {
    return refuse_it({426, "link_version",
                      "this node speaks the link versions " +
                          std::to_string(config_.versions.lowest) + " to " +
                          std::to_string(config_.versions.highest) + ", not " +
                          std::to_string(header->version)});
  }
  const auto batch = read_batch(request.body);
  if (!batch) return refuse_it({400, "malformed", "the batch cannot be read"});
  if (!config_.incarnation.is(batch->head.receiver_incarnation)) {
    return refuse_it({412, "other_incarnation", "this node was started again since"});
  }
  if (!guard_.take(batch->head.sender_incarnation, batch->head.counter)) {
    warnings_.add("a batch of node " + in_quotes(batch->head.sender) + " from " +
                  host_of(request.peer) + " was refused: it came before");
    return refuse_it({409, "replayed", "this batch came before"});
  }
  take(*batch, std::move(responder), proof);
}

void LinkDoor::take(const Batch& batch, http::Responder responder, std::string proof) {
  batches_.fetch_add(1, std::memory_order_relaxed);
  calls_.fetch_add(batch.calls.size(), std::memory_order_relaxed);
  const auto answers = std::make_shared<Answers>(config_, std::move(responder), std::move(proof),
                                                 batch.calls.size());
  answers->watch();
  for (uint32_t number = 0; number < batch.calls.size(); ++number) {
    const BatchedCall& call = batch.calls[number];
    http::Responder one = http::responder_for(answers->sink(number));
    if (deliver_(call.head.partition, call.head.epoch, call.head.hops,
                 http::make_request(parts_of(call)), std::move(one))) {
      continue;
    }
    not_mine_.fetch_add(1, std::memory_order_relaxed);
    answers->not_mine(number);
  }
  answers->handed_over();
}

http::Response LinkDoor::refusal(const Refusal& reason, const std::string& proof) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  http::Response response;
  response.status = reason.status;
  response.content_type = "application/json";
  if (!proof.empty()) response.headers.emplace_back(kLinkHeader, proof);
  response.body.append(R"({"error":{"code":")")
      .append(reason.code)
      .append(R"(","message":")")
      .append(reason.message)
      .append(R"("}})");
  return response;
}

DoorStats LinkDoor::stats() const {
  return {batches_.load(), calls_.load(), not_mine_.load(), refused_.load()};
}

}  // namespace pawl::link
