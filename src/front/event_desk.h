// EventDesk: answers requests for events of all partitions (Routing::Stream), as a list or as a
// stream. Thread: any.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/work_pool.h"
#include "front/events_question.h"
#include "front/passing.h"
#include "front/stream_merge.h"

namespace pawl::front {

class EventDesk {
 public:
  // `pool`: where lists are joined.
  EventDesk(api::ServerParts& server, PartitionMap& map, Passing& passing, Alarm& alarm,
            WorkPool& pool);

  void answer(const api::Route& route, http::RequestParts request, std::vector<std::string> params,
              std::shared_ptr<http::AnswerSink> sink);
  // Ends all streams, and those that come.
  void stop();

 private:
  struct EventsCall;

  void answer_one(const std::shared_ptr<EventsCall>& call);
  void answer_list(const std::shared_ptr<EventsCall>& call);
  void answer_stream(const std::shared_ptr<EventsCall>& call);
  bool keep(const std::shared_ptr<StreamMerge>& stream);

  api::ServerParts& server_;
  PartitionMap& map_;
  Passing& passing_;
  Alarm& alarm_;
  WorkPool& pool_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<StreamMerge>> streams_;  // guarded by mutex_
  bool stopping_ = false;                            // guarded by mutex_
};

}  // namespace pawl::front
