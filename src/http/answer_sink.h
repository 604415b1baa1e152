// AnswerSink: where the answer of a request goes that no client of a connection waits for: one that
// the server made itself, to join its answer with others, or that another node passed on.
//
// Calls come in the order of the functions below: answer() once, or begin_stream() once, then
// chunks, then end_stream(). A responder that is destroyed without an answer gives a 500. Any
// thread, one at a time; disconnected() and unsent() at any time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "http/request.h"
#include "http/responder.h"

namespace pawl::http {

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;

  virtual void answer(Response&& response) = 0;
  // The body of `head` is the first chunk, if it is not empty.
  virtual void begin_stream(Response&& head) = 0;
  // False: nobody reads it any more, or too slowly; end_stream() follows.
  virtual bool write(std::string_view chunk) = 0;
  virtual void end_stream() = 0;

  virtual size_t unsent() const { return 0; }  // bytes of chunks that were not passed on yet
  virtual bool disconnected() const { return false; }
  // Called back once if the reader goes away; the last callback counts.
  virtual void on_disconnect(std::function<void()> callback) = 0;
};

// What a handler gets for it.
Responder responder_for(std::shared_ptr<AnswerSink> sink);

// A request that came over no connection. Headers are name and value; the texts are copied.
struct RequestParts {
  std::string method;
  std::string target;  // path and query
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::string peer = {};
  std::string id = {};
};
Request make_request(RequestParts parts);
RequestParts parts_of(Request&& request);

// The other way round: answers the client of a connection. Destroyed without an answer, it gives a
// 500.
std::shared_ptr<AnswerSink> sink_for(Responder responder);

}  // namespace pawl::http
