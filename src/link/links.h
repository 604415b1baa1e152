#pragma once
#include <functional>
#include <memory>
#include <string>
#include "http/answer_sink.h"
namespace pawl::link {
struct Peer { std::string name, incarnation, url; };
struct Passed { uint16_t partition = 0; uint64_t epoch = 0; uint8_t hops = 0; http::RequestParts request = {}; bool waits = false; };
enum class LinkFailure : uint8_t { NotSent, NotMine, Unknown, Refused };
class Links {
 public:
  virtual ~Links() = default;
  virtual void call(const Peer& peer, Passed passed, std::shared_ptr<http::AnswerSink> sink, std::function<void(LinkFailure)> failed) = 0;
};
}
