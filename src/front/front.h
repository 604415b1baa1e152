// Front: the way of a request on a server with several partitions: who decides it follows from its
// route (api::Routing), and is asked here or over a link.
//
// Key, scope and tenant are checked by the node that accepts the request, and again by the one that
// decides it.
//
// Threads: what round_handler() gives on the I/O thread it is for; the rest from any.
#pragma once

#include <memory>

#include "base/work_pool.h"
#include "front/event_desk.h"
#include "front/fetch_desk.h"
#include "front/merge.h"
#include "front/node_desk.h"
#include "front/passing.h"
#include "front/placement.h"
#include "front/queue_heat.h"
#include "front/splitting.h"
#include "front/worker_desk.h"

namespace pawl::front {

class Front {
 public:
  // `links`: null on a server that is alone. `look`: see Passing.
  Front(api::ServerParts& server, PartitionMap& map, link::Links* links, link::OwnPeer self,
        std::function<void()> look = {});
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  http::Verdict judge(http::Request& request) { return server_.judge(request); }
  http::RoundHandler round_handler();
  // A request that another node passed on; false: the partition is not served here in this epoch.
  bool deliver(uint16_t partition, uint64_t epoch, uint8_t hops, http::Request&& request,
               http::Responder&& responder);

  FetchDesk& desk() { return desk_; }
  Passing& passing() { return passing_; }
  Alarm& alarm() { return alarm_; }
  // A partition is free: the others need not wait for their next look to take it.
  void tell_peers_to_look();
  // Ends all waits; afterwards fetches do not wait.
  void begin_drain();

 private:
  // What one I/O thread's round leaves for the engines.
  struct Rounds;

  void handle(http::Request&& request, http::Responder responder, Rounds& rounds);
  void decide_at(uint16_t partition, const api::Route& route, http::Request&& request,
                 http::Responder responder, Rounds& rounds);
  void decide_anywhere(const api::Route& route, http::Request&& request, http::Responder responder,
                       Rounds& rounds);
  void create(Placed&& placed, http::Request&& request, http::Responder responder, Rounds& rounds);
  void about_node(const Placed& call, http::RequestParts request,
                  std::shared_ptr<http::AnswerSink> sink);
  void events_of_one(Placed&& call, http::RequestParts request,
                     std::shared_ptr<http::AnswerSink> sink);
  void ask_all(const api::Route& route, http::RequestParts request,
               std::shared_ptr<http::AnswerSink> sink);
  void merge_later(const api::Route& route, http::RequestParts request, Asked asked,
                   MergeAbout about, std::shared_ptr<http::AnswerSink> sink);
  void fetch(const api::Route& route, http::RequestParts request, std::string tenant,
             std::shared_ptr<http::AnswerSink> sink, bool here_only);
  bool deliver_to_node(http::Request&& request, http::Responder responder);
  Placed placed(const api::Route& route, const http::Request& request) const;

  api::ServerParts& server_;
  PartitionMap& map_;
  link::Links* const links_;
  Alarm alarm_;
  Passing passing_;
  FetchDesk desk_;
  Splitting splitting_;
  WorkerDesk workers_;
  QueueHeat heat_;
  const std::function<void()> look_;
  std::atomic<uint64_t> turn_{0};
  EventDesk events_{server_, map_, passing_, alarm_, merges_};
  NodeDesk node_{server_, map_, passing_, merges_};
  WorkPool merges_{{.threads = 2, .waiting_max = 4096, .name = "merged answers"}};
};

}  // namespace pawl::front
