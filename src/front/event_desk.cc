#include "front/event_desk.h"

#include "front/gathering.h"
#include "front/merge.h"

namespace pawl::front {

struct EventDesk::EventsCall {
  http::RequestParts request;
  api::Call call;
  EventsQuestion question;
  std::shared_ptr<http::AnswerSink> sink;

  void fail(const Error& error) { sink->answer(call.failure(error)); }
};

EventDesk::EventDesk(api::ServerParts& server, PartitionMap& map, Passing& passing, Alarm& alarm,
                     WorkPool& pool)
    : server_(server), map_(map), passing_(passing), alarm_(alarm), pool_(pool) {}

void EventDesk::answer(const api::Route& route, http::RequestParts request,
                       std::vector<std::string> params, std::shared_ptr<http::AnswerSink> sink) {
  auto call = std::make_shared<EventsCall>();
  call->call = call_of(route, request, std::move(params));
  call->request = std::move(request);
  call->sink = std::move(sink);
  auto question = read_events_question(call->call, map_.partitions());
  if (!question.ok()) return call->fail(question.error());
  call->question = std::move(question).value();
  switch (call->question.kind) {
    case EventsQuestion::Kind::One:
      return answer_one(call);
    case EventsQuestion::Kind::List:
      return answer_list(call);
    case EventsQuestion::Kind::Stream:
      return answer_stream(call);
  }
}

void EventDesk::answer_one(const std::shared_ptr<EventsCall>& call) {
  Errand errand{.request = std::move(call->request), .route = call->call.route};
  errand.partition = call->question.partition;
  if (Status good = localize_cursor(errand.request, errand.partition, map_.partitions());
      !good.ok())
    return call->fail(good.error());
  errand.waits = true;
  errand.sink = call->sink;
  passing_.pass(std::move(errand));
}

void EventDesk::answer_list(const std::shared_ptr<EventsCall>& call) {
  const EventsQuestion& question = call->question;
  std::vector<Part> parts;
  for (uint16_t k = 0; k < map_.partitions(); ++k) {
    const auto after = question.after ? std::optional(question.after->positions[k]) : std::nullopt;
    parts.push_back({k, "", events_request(call->request, question, after).target});
  }
  http::RequestParts request = events_request(call->request, question, std::nullopt);
  if (question.after) drop_header(request, "last-event-id");
  gather(passing_, request, *call->call.route, std::move(parts),
         [this, call](std::vector<http::Response>&& answers) {
           auto kept = std::make_shared<std::vector<http::Response>>(std::move(answers));
           std::function<void()> merge = [call, kept] {
             if (const http::Response* failure = failure_among(*kept))
               return call->sink->answer(http::Response(*failure));
             std::vector<std::string_view> bodies;
             for (const http::Response& one : *kept)
               bodies.push_back(one.status < 400 ? std::string_view(one.body) : std::string_view());
             auto body = merge_events(call->question.wish, bodies);
             if (!body.ok()) return call->fail(body.error());
             call->sink->answer(
                 api::json_response(call->call.surface(), 200, std::move(body).value()));
           };
           if (Status taken = pool_.run(merge); !taken.ok()) call->fail(taken.error());
         });
}

void EventDesk::answer_stream(const std::shared_ptr<EventsCall>& call) {
  auto ask = [this, call](uint16_t partition, const std::optional<EventPosition>& after,
                          std::shared_ptr<http::AnswerSink> sink) {
    Errand errand{.request = events_request(call->request, call->question, after),
                  .route = call->call.route};
    errand.partition = partition;
    errand.waits = true;
    errand.sink = std::move(sink);
    passing_.pass(std::move(errand));
  };
  auto stream =
      std::make_shared<StreamMerge>(alarm_, call->sink, map_.partitions(), call->question.after,
                                    std::move(ask), [this] { return !server_.draining(); });
  if (!keep(stream)) return call->fail({ErrorCode::Unavailable, "the server is stopping"});
  stream->start();
}

bool EventDesk::keep(const std::shared_ptr<StreamMerge>& stream) {
  std::lock_guard lock(mutex_);
  if (stopping_) return false;
  std::erase_if(streams_, [](const auto& one) { return one.expired(); });
  streams_.push_back(stream);
  return true;
}

void EventDesk::stop() {
  std::vector<std::weak_ptr<StreamMerge>> streams;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    streams.swap(streams_);
  }
  for (const auto& one : streams)
    if (auto stream = one.lock()) stream->stop();
}

}  // namespace pawl::front
