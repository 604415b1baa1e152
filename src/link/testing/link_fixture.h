// Shared by the tests of links: a node that serves, a node that passes requests on, and what came
// of a request.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/testing/server_fixture.h"
#include "link/link_door.h"
#include "link/links.h"

namespace pawl::link {

inline constexpr char kTestKey[] = "a key of thirty-two bytes, or so";

// The sink of one call, told as text: "answer 200 BODY|", "stream 200 FIRST|", "CHUNK|", "end|",
// "failed NotMine|".
class Outcome : public http::AnswerSink, public std::enable_shared_from_this<Outcome> {
 public:
  void answer(http::Response&& response) override;
  void begin_stream(http::Response&& head) override;
  bool write(std::string_view chunk) override;
  void end_stream() override;
  size_t unsent() const override;
  bool disconnected() const override;
  void on_disconnect(std::function<void()> callback) override;
  std::function<void(LinkFailure)> failed();

  std::string wait();                           // for its end: all that was told
  std::string wait_for(std::string_view part);  // for a part of it
  std::string told() const;
  http::Response response() const;  // the answer, or the head of the stream
  size_t bytes() const;             // of all chunks
  void leave();                     // the client goes away
  void stop_reading();              // chunks count as unsent
  void read_on();

 private:
  void tell(const std::string& text, bool last);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string told_;
  http::Response response_;
  size_t bytes_ = 0;
  size_t unsent_ = 0;
  bool reading_ = true;
  bool over_ = false;
  bool gone_ = false;
  std::function<void()> watch_;
};

// A server whose door hands the requests for partition 1 to `handler`; the others are not its.
class ServingNode {
 public:
  explicit ServingNode(http::Handler handler, DoorConfig config = {},
                       http::ServerConfig server = {});

  Peer peer() const;
  LinkDoor& door() { return door_; }
  http::Server& server() { return *server_; }
  std::vector<std::string> batch_headers() const;  // the values of kLinkHeader so far
  std::string last_batch() const;                  // as an HTTP request
  void stop() { server_->stop(); }

 private:
  LinkDoor door_;
  mutable std::mutex mutex_;
  std::vector<std::string> headers_;
  std::string last_;
  std::unique_ptr<http::Server> server_;
};

LinksConfig links_config(LinksConfig config = {});
std::unique_ptr<Links> links(LinksConfig config = {});

Passed passed(std::string method, std::string target, std::string body = {});
Passed waiting(Passed call);

std::shared_ptr<Outcome> call(Links& links, const Peer& peer, Passed passed);
// GETs of these paths, handed over at once.
std::vector<std::shared_ptr<Outcome>> call_many(Links& links, const Peer& peer,
                                                const std::vector<std::string>& paths);

}  // namespace pawl::link
