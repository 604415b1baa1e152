// WorkerDesk: calls about workers. Each node knows those that it has answered (WorkerRegistry), so
// all nodes are asked, once each, and what they know is put together; what an operator tells a
// worker is told to all, since its next call may reach any of them.
//
// A node that serves partitions and does not answer fails the call: no list is shorter than it is.
//
// Thread: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "front/passing.h"
#include "front/worker_merge.h"

namespace pawl::front {

// Where a node is asked about its registry, over a link; the body is a WorkerOrder.
inline constexpr std::string_view kWorkersPath = "/v1/internal/workers";

class WorkerDesk {
 public:
  WorkerDesk(api::ServerParts& server, PartitionMap& map, Passing& passing, link::Links* links,
             Alarm& alarm, link::OwnPeer self);

  // Gives the order to all nodes; what they know then of all workers.
  using Known = std::function<void(Result<std::vector<api::WorkerInfo>>)>;
  void ask_nodes(const WorkerOrder& order, Known known);

  // Whether calls of this route are answered here.
  static bool answers(const api::Route& route);
  void answer(const api::Route& route, http::RequestParts request, std::vector<std::string> params,
              std::shared_ptr<http::AnswerSink> sink);

  // What another node asks of this one.
  http::Response answer_node(std::string_view order);

 private:
  struct Ask;
  struct WorkerCall;

  std::vector<link::Peer> other_nodes(std::vector<std::string>& serving) const;
  std::vector<api::WorkerInfo> obey(const WorkerOrder& order);
  void begin(const std::shared_ptr<Ask>& ask);
  void node_answered(const std::shared_ptr<Ask>& ask, bool must,
                     std::optional<std::vector<api::WorkerInfo>> workers);
  void answer_known(const std::shared_ptr<WorkerCall>& call,
                    const std::vector<api::WorkerInfo>& workers);
  void tell(const std::shared_ptr<WorkerCall>& call, WorkerOrder order,
            std::function<http::Response(const std::vector<api::WorkerInfo>&)> answer);
  void deregister(const std::shared_ptr<WorkerCall>& call, const api::WorkerInfo& worker);

  api::ServerParts& server_;
  PartitionMap& map_;
  Passing& passing_;
  link::Links* const links_;
  Alarm& alarm_;
  const link::OwnPeer self_;
};

}  // namespace pawl::front
