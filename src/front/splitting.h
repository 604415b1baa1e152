// Splitting: calls whose body names jobs of several partitions (Routing::Split). Each partition
// gets the entries that are its own, and the answers are put together in the order of the request.
#pragma once

#include "front/fetch_desk.h"
#include "front/passing.h"

namespace pawl::front {

struct SplitCall {
  http::RequestParts request;
  const api::Route* route = nullptr;
  std::string tenant;
  std::shared_ptr<http::AnswerSink> sink;
};

class Splitting {
 public:
  Splitting(PartitionMap& map, Passing& passing, FetchDesk& desk)
      : map_(map), passing_(passing), desk_(desk) {}

  void answer(SplitCall call);

 private:
  void pass_whole(SplitCall&& call, uint16_t partition);
  void ack(SplitCall&& call, json::View body);
  void ack_many(SplitCall&& call, json::View body, json::View acks);
  void ack_strays(SplitCall&& call, std::optional<FetchOrder> order,
                  const std::vector<std::string>& entries, std::vector<std::string> results);
  void heartbeat(SplitCall&& call, json::View body);
  void results(SplitCall&& call, json::View body);
  void fetch_after(SplitCall&& call, std::optional<FetchOrder> order, std::string acked);

  PartitionMap& map_;
  Passing& passing_;
  FetchDesk& desk_;
};

}  // namespace pawl::front
