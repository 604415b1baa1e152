#include "link/testing/link_fixture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace pawl::link {
namespace {

constexpr size_t kToldBytesMax = 64;  // of a body; longer ones are told by their size

std::string brief(std::string_view body) {
  if (body.size() <= kToldBytesMax) return std::string(body);
  return std::to_string(body.size()) + " bytes";
}

std::string name_of_failure(LinkFailure failure) {
  switch (failure) {
    case LinkFailure::NotSent:
      return "NotSent";
    case LinkFailure::NotMine:
      return "NotMine";
    case LinkFailure::Unknown:
      return "Unknown";
    case LinkFailure::Refused:
      return "Refused";
  }
  return "?";
}

DoorConfig door_config(DoorConfig config) {
  if (config.key.empty()) config.key = kTestKey;
  if (config.incarnation.is("")) config.incarnation = "serving-1";
  return config;
}

}  // namespace

void Outcome::tell(const std::string& text, bool last) {
  EXPECT_FALSE(over_) << "after its end: " << text;
  told_ += text + "|";
  over_ = last;
  changed_.notify_all();
}

void Outcome::answer(http::Response&& response) {
  const std::lock_guard lock(mutex_);
  response_ = std::move(response);
  tell("answer " + std::to_string(response_.status) + " " + brief(response_.body), true);
}

// Drops the watch, as a connection does.
void Outcome::begin_stream(http::Response&& head) {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  std::swap(dropped, watch_);
  response_ = std::move(head);
  tell("stream " + std::to_string(response_.status) + " " + response_.body, false);
}

bool Outcome::write(std::string_view chunk) {
  const std::lock_guard lock(mutex_);
  if (gone_) return false;
  bytes_ += chunk.size();
  if (!reading_) unsent_ += chunk.size();
  tell(brief(chunk), false);
  return true;
}

void Outcome::end_stream() {
  const std::lock_guard lock(mutex_);
  tell("end", true);
}

size_t Outcome::unsent() const {
  const std::lock_guard lock(mutex_);
  return unsent_;
}

bool Outcome::disconnected() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void Outcome::on_disconnect(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  std::swap(watch_, callback);
}

std::function<void(LinkFailure)> Outcome::failed() {
  return [self = shared_from_this()](LinkFailure failure) {
    const std::lock_guard lock(self->mutex_);
    self->tell("failed " + name_of_failure(failure), true);
  };
}

std::string Outcome::wait() {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return over_; })) << told_;
  return told_;
}

std::string Outcome::wait_for(std::string_view part) {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] {
    return over_ || told_.find(part) != std::string::npos;
  })) << told_;
  return told_;
}

std::string Outcome::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

http::Response Outcome::response() const {
  const std::lock_guard lock(mutex_);
  return response_;
}

size_t Outcome::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Outcome::leave() {
  std::function<void()> watch;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    std::swap(watch, watch_);
  }
  if (watch) watch();
}

void Outcome::stop_reading() {
  const std::lock_guard lock(mutex_);
  reading_ = false;
}

void Outcome::read_on() {
  const std::lock_guard lock(mutex_);
  reading_ = true;
  unsent_ = 0;
}

ServingNode::ServingNode(http::Handler handler, DoorConfig config, http::ServerConfig server)
    : door_(door_config(std::move(config)),
            [handler = std::move(handler)](uint16_t partition, uint64_t, uint8_t,
                                           http::Request&& request, http::Responder&& responder) {
              if (partition != 1) return false;
              handler(std::move(request), std::move(responder));
              return true;
            }) {
  server.wrapping_bytes_max = kWrappingBytesMax;
  server.judge = [this](http::Request& request) {
    return request.path == kLinkPath ? door_.judge(request) : http::Verdict{};
  };
  server_ =
      http::serve(std::move(server), [this](http::Request&& request, http::Responder responder) {
        if (request.path != kLinkPath) return http::echo(std::move(request), std::move(responder));
        {
          const std::lock_guard lock(mutex_);
          headers_.emplace_back(request.header(kLinkHeader));
          last_ = "POST " + std::string(kLinkPath) +
                  " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(request.body.size()) +
                  "\r\n" + std::string(kLinkHeader) + ": " + headers_.back() + "\r\n\r\n" +
                  std::string(request.body);
        }
        door_.serve(std::move(request), std::move(responder));
      });
}

Peer ServingNode::peer() const {
  const std::string scheme = server_->tls() ? "https" : "http";
  return {"b", "serving-1", scheme + "://127.0.0.1:" + std::to_string(server_->port())};
}

std::vector<std::string> ServingNode::batch_headers() const {
  const std::lock_guard lock(mutex_);
  return headers_;
}

std::string ServingNode::last_batch() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

LinksConfig links_config(LinksConfig config) {
  if (config.key.empty()) config.key = kTestKey;
  config.name = "a";
  if (config.incarnation.is("")) config.incarnation = "passing-1";
  return config;
}

std::unique_ptr<Links> links(LinksConfig config) {
  auto started = Links::start(links_config(std::move(config)));
  EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
  return std::move(started).value();
}

Passed passed(std::string method, std::string target, std::string body) {
  return {.partition = 1,
          .epoch = 7,
          .request = {.method = std::move(method),
                      .target = std::move(target),
                      .body = std::move(body),
                      .id = "req_1"}};
}

Passed waiting(Passed call) {
  call.waits = true;
  return call;
}

std::shared_ptr<Outcome> call(Links& links, const Peer& peer, Passed passed) {
  auto outcome = std::make_shared<Outcome>();
  links.call({peer, std::move(passed), outcome, outcome->failed()});
  return outcome;
}

std::vector<std::shared_ptr<Outcome>> call_many(Links& links, const Peer& peer,
                                                const std::vector<std::string>& paths) {
  std::vector<std::shared_ptr<Outcome>> outcomes;
  std::vector<LinkCall> calls;
  for (const std::string& path : paths) {
    outcomes.push_back(std::make_shared<Outcome>());
    calls.push_back({peer, passed("GET", path), outcomes.back(), outcomes.back()->failed()});
  }
  links.call_many(std::move(calls));
  return outcomes;
}

}  // namespace pawl::link
