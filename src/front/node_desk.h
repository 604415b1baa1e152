// NodeDesk: answers about this node (api/node_pages.h), also while it serves no partition. Its
// figures (/metrics) are those of its partitions, joined. Thread: any.
#pragma once

#include <memory>

#include "api/node_pages.h"
#include "base/work_pool.h"
#include "front/merge_rules.h"
#include "front/passing.h"

namespace pawl::front {

class NodeDesk {
 public:
  NodeDesk(api::ServerParts& server, PartitionMap& map, Passing& passing, WorkPool& pool)
      : server_(server), map_(map), passing_(passing), pool_(pool) {}

  static bool answers(const api::Route& route);
  void answer(const api::Route& route, http::RequestParts request,
              std::shared_ptr<http::AnswerSink> sink);
  // What a merge needs to know of this node.
  void introduce(MergeAbout& about) const;

 private:
  void answer_metrics(const api::Route& route, http::RequestParts request,
                      std::shared_ptr<http::AnswerSink> sink);

  api::ServerParts& server_;
  PartitionMap& map_;
  Passing& passing_;
  WorkPool& pool_;
};

}  // namespace pawl::front
