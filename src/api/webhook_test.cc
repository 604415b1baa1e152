// Webhooks from end to end: subscriptions, delivery jobs made exactly once, signed requests,
// retries.
#include "effects/webhook.h"

#include <gtest/gtest.h>

#include <deque>

#include "actions/http_client.h"
#include "api/testing/api_world.h"
#include "base/hash.h"
#include "effects/webhook_service.h"
#include "kernel/jobs/queue.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

constexpr const char* kSubscriptions = "/ojs/v1/webhooks/subscriptions";

std::string subscribe(ApiWorld& world, const std::string& url, const std::string& events,
                      const std::string& more = "") {
  std::string reply = world.body("POST", kSubscriptions,
                                 R"({"url":")" + url + R"(","events":)" + events + more + "}");
  return text_of(reply, "id");
}

// Delivery jobs in the journal's state, as "subscription event-type state", in order.
std::vector<std::string> deliveries(ApiWorld& world) {
  std::vector<std::string> list;
  auto task =
      std::make_shared<TestTask>([&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
        frame.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
          if (job.queue->name != kWebhookQueue) return true;
          JobSpecView spec = job.spec_view();
          list.push_back(text_of("{\"first\":" + std::string(spec.args.substr(1)), "first") + " " +
                         text_of(std::string(spec.meta), "event"));
          return true;
        });
        return std::nullopt;
      });
  PAWL_CHECK(world.engine->submit(task).ok());
  task->wait();
  std::sort(list.begin(), list.end());
  return list;
}

// Blocks until there are as many; a test that waits in vain is ended by its runner.
std::vector<std::string> wait_for_deliveries(ApiWorld& world, size_t count) {
  while (true) {
    std::vector<std::string> list = deliveries(world);
    if (list.size() >= count) return list;
    std::this_thread::yield();
  }
}

// Wired as in a server.
class WorldWebhooks {
 public:
  WorldWebhooks(ApiWorld& world, actions::HttpClient& client)
      : service_(*world.engine, *world.store, world.clock, client, world.app->metrics().webhooks,
                 {.allow_private = world.app->config().webhooks_allow_private}) {
    world.app->on_webhooks_change([this] { service_.ring(); });
  }

 private:
  WebhookService service_;
};

TEST(Webhooks, LifeOfASubscription) {
  ApiWorld world;
  std::string made =
      world.call("POST", kSubscriptions,
                 R"({"url":"https://example.com/h","events":["job.completed"],"secret":"s3cret",)"
                 R"("headers":{"X-Token":"t0ken"},"description":"d"})");
  EXPECT_EQ(http::status_of(made), "201");
  std::string id = text_of(made, "id");
  std::string one = std::string(kSubscriptions) + "/" + id;
  std::string expected =
      R"({"id":")" + id + R"(","url":"https://example.com/h","events":["job.completed"],)" +
      R"("active":true,"signed":true,"header_names":["X-Token"],"description":"d",)";
  EXPECT_NE(made.find(expected), std::string::npos) << made;
  EXPECT_NE(world.body("GET", one).find(expected), std::string::npos);
  EXPECT_NE(world.body("GET", kSubscriptions).find(expected), std::string::npos);

  std::string patched = world.body("PATCH", one, R"({"active":false,"events":["job.*"]})");
  EXPECT_NE(patched.find(R"("events":["job.*"],"active":false,"signed":true)"), std::string::npos)
      << patched;
  std::string put = world.body("PUT", one, R"({"url":"https://example.com/i","events":["*"]})");
  EXPECT_NE(put.find(R"("url":"https://example.com/i","events":["*"],"active":true,"signed":true,)"
                     R"("header_names":[])"),
            std::string::npos)
      << put;
  for (const std::string& reply : {made, patched, put, world.body("GET", one)})
    for (const char* secret : {"s3cret", "t0ken"}) EXPECT_EQ(reply.find(secret), std::string::npos);

  std::string rotated = world.body("POST", one + "/rotate-secret");
  EXPECT_EQ(text_of(rotated, "secret").size(), 64u) << rotated;
  std::string given = world.body("POST", one + "/rotate-secret", R"({"secret":"mine"})");
  EXPECT_EQ(given.find("mine"), std::string::npos);

  EXPECT_EQ(http::status_of(world.call("DELETE", one)), "200");
  EXPECT_EQ(http::status_of(world.call("GET", one)), "404");
  EXPECT_EQ(http::status_of(world.call("DELETE", one)), "404");
}

TEST(Webhooks, RefusesWhatCannotWork) {
  ApiWorld world;
  for (const char* body :
       {R"({})", R"({"url":"https://a/"})", R"({"url":"https://a/","events":[]})",
        R"({"url":"https://a/","events":["job.done"]})", R"({"url":"https://a/","events":"*"})",
        R"({"url":"a","events":["*"]})", R"({"url":"file:///x","events":["*"]})",
        R"({"url":"http://u:p@a/","events":["*"]})", R"({"url":1,"events":["*"]})",
        R"({"url":"https://a/","events":["*"],"secret":1})",
        R"({"url":"https://a/","events":["*"],"headers":{"Host":"x"}})",
        R"({"url":"https://a/","events":["*"],"headers":{"X-OJS-Signature":"x"}})",
        R"({"url":"https://a/","events":["*"],"headers":{"X_OJS_Timestamp":"1"}})",
        R"({"url":"https://a/","events":["*"],"headers":{"X":"a\r\nY: b"}})",
        R"({"url":"https://a/","events":["*"],"active":"yes"})"})
    EXPECT_EQ(http::status_of(world.call("POST", kSubscriptions, body)), "400") << body;
  EXPECT_EQ(world.body("GET", kSubscriptions).find("\"id\""), std::string::npos);
}

TEST(Webhooks, ATenantSeesOnlyItsOwn) {
  ApiWorld world;
  std::string id = subscribe(world, "https://a/", R"(["*"])");
  std::string one = std::string(kSubscriptions) + "/" + id;
  EXPECT_EQ(http::status_of(world.call("GET", one, "", "X-OJS-Tenant: acme\r\n")), "404");
  EXPECT_EQ(http::status_of(world.call("DELETE", one, "", "X-OJS-Tenant: acme\r\n")), "404");
  EXPECT_EQ(http::status_of(world.call("GET", one)), "200");
}

TEST(Webhooks, TheServersOwnQueuesAreClosedToClients) {
  ApiWorld world;
  EXPECT_EQ(http::status_of(
                world.call("POST", "/ojs/v1/jobs",
                           R"({"type":"a.b","args":[],"options":{"queue":"pawl.webhooks"}})")),
            "400");
  EXPECT_EQ(http::status_of(
                world.call("POST", "/ojs/v1/workers/fetch", R"({"queues":["pawl.webhooks"]})")),
            "400");
}

TEST(WebhookDispatcher, MakesOneDeliveryForEachEventAndSubscription) {
  ApiWorld world;
  WebhookDispatcher dispatcher(*world.engine, *world.store);
  world.app->on_webhooks_change([&] { dispatcher.ring(); });
  push(world);  // before there is a subscription
  std::string all = subscribe(world, "https://a/", R"(["job.enqueued","job.cancelled"])");
  std::string some = subscribe(world, "https://b/", R"(["job.cancelled"])");
  std::string idle = subscribe(world, "https://c/", R"(["*"],"active":false)");
  std::string id = push(world);
  world.body("DELETE", "/ojs/v1/jobs/" + id);
  std::vector<std::string> expected = {all + " job.cancelled", all + " job.enqueued",
                                       some + " job.cancelled"};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(wait_for_deliveries(world, 3), expected);
}

// The process dies at every commit in turn; in the end each event has exactly one delivery.
TEST(WebhookDispatcher, ARestartNeitherLosesNorRepeatsDeliveries) {
  constexpr int kRestarts = 6;
  auto disk = std::make_shared<MemoryDisk>();
  std::string hook;
  std::vector<std::string> expected;
  for (int life = 0; life < kRestarts; ++life) {
    ApiWorld world(disk);
    if (life == 0) hook = subscribe(world, "https://a/", R"(["job.enqueued"])");
    // Some processes end before the dispatcher did anything, others while it works.
    for (int i = 0; i < 10; ++i) push(world);
    for (int i = 0; i < 10; ++i) expected.push_back(hook + " job.enqueued");
    if (life % 2 == 1) {
      WebhookDispatcher dispatcher(*world.engine, *world.store, {.deliveries_per_frame_max = 3});
      if (life == 3) wait_for_deliveries(world, expected.size() / 2);
    }
  }
  ApiWorld world(disk);
  WebhookDispatcher dispatcher(*world.engine, *world.store, {.deliveries_per_frame_max = 7});
  EXPECT_EQ(wait_for_deliveries(world, expected.size()), expected);
  push(world);
  EXPECT_EQ(wait_for_deliveries(world, expected.size() + 1).size(), expected.size() + 1);
}

// Receives webhooks; answers with the statuses it was given, then with 200.
class Receiver {
 public:
  explicit Receiver(std::deque<int> statuses) : statuses_(std::move(statuses)) {
    server_ = std::move(http::Server::start({}, [this](http::Request&& request,
                                                       http::Responder responder) {
                std::lock_guard lock(mutex_);
                Received& got = received_.emplace_back();
                for (const http::Header& header : request.headers)
                  got.headers[std::string(header.name)] = header.value;
                got.body = request.body;
                int status = statuses_.empty() ? 200 : statuses_.front();
                if (!statuses_.empty()) statuses_.pop_front();
                responder.respond({.status = status});
                changed_.notify_all();
              })).value();
  }
  struct Received {
    std::map<std::string, std::string> headers;
    std::string body;
  };
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()) + "/h"; }
  Received wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return received_.size() >= count; });
    return received_[count - 1];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> statuses_;
  std::deque<Received> received_;
  std::unique_ptr<http::Server> server_;
};

// Blocks until the only delivery job is in this state.
std::string wait_for_state(ApiWorld& world, const std::string& wanted) {
  while (true) {
    std::string state;
    auto task =
        std::make_shared<TestTask>([&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
          frame.state().each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
            if (job.queue->name == kWebhookQueue) state = state_name(job.state);
            return true;
          });
          return std::nullopt;
        });
    PAWL_CHECK(world.engine->submit(task).ok());
    task->wait();
    if (state == wanted) return state;
    std::this_thread::yield();
  }
}

TEST(WebhookService, DeliversSignedAndTriesAgainAfterAFailure) {
  Receiver receiver({500});
  actions::HttpClient client;
  ApiWorld world({.webhooks_allow_private = true});
  WorldWebhooks service(world, client);
  subscribe(world, receiver.url(), R"(["job.enqueued"])",
            R"(,"secret":"s3cret","headers":{"X-Token":"t"})");
  std::string id = push(world);
  Receiver::Received first = receiver.wait_for(1);
  EXPECT_EQ(text_of(first.body, "type"), "job.enqueued");
  EXPECT_EQ(text_of(first.body, "subject"), id);
  EXPECT_EQ(
      first.headers["X-OJS-Signature"],
      "sha256=" + hmac_sha256_hex("s3cret", first.headers["X-OJS-Timestamp"] + "." + first.body));
  EXPECT_EQ(first.headers["X-OJS-Event"], "job.enqueued");
  EXPECT_EQ(first.headers["X-OJS-Attempt"], "1");
  EXPECT_EQ(first.headers["X-Token"], "t");
  EXPECT_EQ(first.headers["X-OJS-Timestamp"], std::to_string(world.clock.now_ms() / 1000));
  wait_for_state(world, "retryable");
  world.advance(60'000);
  Receiver::Received second = receiver.wait_for(2);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.headers["X-OJS-Delivery"], first.headers["X-OJS-Delivery"]);
  EXPECT_EQ(second.headers["X-OJS-Attempt"], "2");
  EXPECT_EQ(wait_for_state(world, "completed"), "completed");
  EXPECT_EQ(world.app->metrics().webhooks.delivered.load(), 1u);
  EXPECT_EQ(world.app->metrics().webhooks.failed.load(), 1u);
}

TEST(WebhookService, AReceiverThatIsGoneIsNotAskedAgain) {
  Receiver receiver({410});
  actions::HttpClient client;
  ApiWorld world({.webhooks_allow_private = true});
  WorldWebhooks service(world, client);
  subscribe(world, receiver.url(), R"(["job.enqueued"])");
  push(world);
  EXPECT_EQ(receiver.wait_for(1).headers.count("X-OJS-Signature"), 0u);
  EXPECT_EQ(wait_for_state(world, "discarded"), "discarded");
}

TEST(WebhookService, PrivateAddressesAreRefusedUnlessAllowed) {
  Receiver receiver({});
  actions::HttpClient client;
  ApiWorld world;
  WorldWebhooks service(world, client);
  subscribe(world, receiver.url(), R"(["job.enqueued"])");
  push(world);
  EXPECT_EQ(wait_for_state(world, "retryable"), "retryable");
  std::string events = world.body("GET", "/ojs/v1/events?queues=pawl.webhooks&types=job.failed");
  EXPECT_NE(events.find("private addresses are not allowed"), std::string::npos) << events;
}

TEST(WebhookService, TheTestCallDeliversAnEventThatNeverHappened) {
  Receiver receiver({});
  actions::HttpClient client;
  ApiWorld world({.webhooks_allow_private = true});
  WorldWebhooks service(world, client);
  std::string id = subscribe(world, receiver.url(), R"(["job.completed"])");
  std::string reply = world.call("POST", std::string(kSubscriptions) + "/" + id + "/test");
  EXPECT_EQ(http::status_of(reply), "202");
  Receiver::Received got = receiver.wait_for(1);
  EXPECT_EQ(text_of(got.body, "type"), "webhook.test");
  EXPECT_EQ(got.headers["X-OJS-Delivery"], text_of(reply, "delivery_id"));
}

}  // namespace
}  // namespace pawl::api
