// Events over HTTP: lists with cursors and filters, and streams that resume without gap or
// duplicate.
#include "api/event_stream.h"

#include <gtest/gtest.h>

#include "api/testing/api_world.h"
#include "base/json.h"
#include "base/value.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

using http::get;
using http::LoopbackClient;

// "type subject-of-interest …" of each event in a list.
std::vector<std::string> types_of(const std::string& body) {
  std::vector<std::string> types;
  auto doc = json::parse(body);
  if (!doc.ok()) return {"no json: " + body};
  auto events = doc->root().find("events");
  if (!events) return {"no events: " + body};
  events->each_element([&](json::View event) { types.push_back(event.find("type")->string()); });
  return types;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += (text.empty() ? "" : " ") + one;
  return text;
}

TEST(EventList, ListsOldestFirstWithFilters) {
  ApiWorld world;
  push(world, "a.b", "q1");
  push(world, "a.c", "q2");
  std::string id = push(world, "a.b", "q2");
  world.body("DELETE", "/ojs/v1/jobs/" + id);
  auto list = [&](const std::string& query) {
    return joined(types_of(world.body("GET", "/ojs/v1/events" + query)));
  };
  EXPECT_EQ(list(""), "job.enqueued job.enqueued job.enqueued job.cancelled");
  EXPECT_EQ(list("?types=job.cancelled"), "job.cancelled");
  EXPECT_EQ(list("?types=job.cancelled,job.enqueued&queues=q1"), "job.enqueued");
  EXPECT_EQ(list("?job_types=a.b"), "job.enqueued job.enqueued job.cancelled");
  EXPECT_EQ(list("?queues=none"), "");
  EXPECT_EQ(list("?latest=true&limit=2"), "job.enqueued job.cancelled");
}

TEST(EventList, TheCursorGoesOnWithoutGapOrDuplicate) {
  ApiWorld world;
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(push(world));
  std::vector<std::string> seen;
  std::string after;
  bool more = true;
  while (more) {
    auto body = world.body("GET", "/ojs/v1/events?limit=2" + after);
    auto doc = json::parse(body);
    ASSERT_TRUE(doc.ok()) << body;
    doc->root().find("events")->each_element(
        [&](json::View event) { seen.push_back(event.find("subject")->string()); });
    more = doc->root().find("has_more")->is_true();
    after = "&after=" + doc->root().find("cursor")->string();
  }
  EXPECT_EQ(seen, ids);
  push(world);
  EXPECT_EQ(types_of(world.body("GET", "/ojs/v1/events?x=y" + after)).size(), 1u);
}

TEST(EventList, AnEventIdIsACursorToo) {
  ApiWorld world;
  push(world);
  push(world);
  std::string first = world.body("GET", "/ojs/v1/events?limit=1");
  std::string id = "evt_" + text_of(first, "id").substr(4);
  EXPECT_EQ(types_of(world.body("GET", "/ojs/v1/events?after=" + id)).size(), 1u);
}

TEST(EventList, ATenantSeesOnlyItsOwn) {
  ApiWorld world;
  push(world, "a.b", "q", "X-OJS-Tenant: acme\r\n");
  push(world, "a.c", "q", "X-OJS-Tenant: other\r\n");
  push(world, "a.d", "q");
  std::string body = world.body("GET", "/ojs/v1/events", "", "X-OJS-Tenant: acme\r\n");
  EXPECT_EQ(types_of(body).size(), 1u);
  EXPECT_EQ(text_of(body, "job_type"), "a.b");
  EXPECT_EQ(text_of(body, "queue"), "q");
  EXPECT_EQ(types_of(world.body("GET", "/ojs/v1/events")).size(), 3u);
}

TEST(EventList, RefusesWhatItCannotRead) {
  ApiWorld world;
  for (const char* query : {"?limit=0", "?limit=1001", "?limit=x", "?after=x", "?after=1.9",
                            "?after=9999999999999", "?after=evt_1"})
    EXPECT_EQ(http::status_of(world.call("GET", std::string("/ojs/v1/events") + query)), "400")
        << query;
}

// One stream from the start, read event by event.
class Reader {
 public:
  Reader(ApiWorld& world, const std::string& path, const std::string& headers = "")
      : client_(world.server->port()) {
    client_.send(get(path, "Accept: text/event-stream\r\n" + headers));
    head = client_.read_until(": pawl events\n\n");
  }
  // "cursor type subject", without chunk framing.
  std::string next() {
    block = client_.read_until("\n\n");
    size_t id = block.find("id: ");
    size_t event = block.find("\nevent: ");
    size_t data = block.find("\ndata: ");
    if (id == std::string::npos || event == std::string::npos) return "odd: " + block;
    cursor = block.substr(id + 4, event - id - 4);
    return block.substr(event + 8, data - event - 8) + " " + text_of(block, "subject");
  }
  std::string head;
  std::string block;  // of the last one
  std::string cursor;

 private:
  LoopbackClient client_;
};

TEST(EventStream, StartsNowAndFollows) {
  ApiWorld world;
  push(world);
  Reader reader(world, "/ojs/v1/events");
  EXPECT_NE(reader.head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  std::string id = push(world);
  EXPECT_EQ(reader.next(), "job.enqueued " + id);
  world.body("DELETE", "/ojs/v1/jobs/" + id);
  EXPECT_EQ(reader.next(), "job.cancelled " + id);
}

TEST(EventStream, ResumesFromEveryPlaceWithoutGapOrDuplicate) {
  ApiWorld world;
  std::vector<std::string> expected;
  for (int i = 0; i < 4; ++i) {
    std::string id = push(world);
    expected.push_back("job.enqueued " + id);
    std::string fetched = world.body("POST", "/ojs/v1/workers/fetch", R"({"queues":["q"]})");
    EXPECT_EQ(text_of(fetched, "id"), id);
    expected.push_back("job.started " + id);
    world.body("POST", "/ojs/v1/workers/nack", R"({"job_id":")" + id + R"("})");
    expected.push_back("job.failed " + id);
    expected.push_back("job.retrying " + id);  // the same journal event, in two parts
  }
  std::vector<std::string> cursors{"0"};
  Reader all(world, "/ojs/v1/events?after=0");
  for (const std::string& one : expected) {
    EXPECT_EQ(all.next(), one);
    cursors.push_back(all.cursor);
  }
  std::string last = push(world, "a.b", "q2");
  for (size_t i = 0; i < cursors.size(); ++i) {
    Reader resumed(world, "/ojs/v1/events", "Last-Event-ID: " + cursors[i] + "\r\n");
    for (size_t at = i; at < expected.size(); ++at) EXPECT_EQ(resumed.next(), expected[at]) << i;
    EXPECT_EQ(resumed.next(), "job.enqueued " + last) << i;
  }
}

// A stream that is behind reads from the store, others from the engine; while jobs arrive, a stream
// switches from one to the other.
TEST(EventStream, CatchesUpWhileMoreHappens) {
  ApiWorld world;
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(push(world));
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(std::make_unique<Reader>(world, "/v1/events?after=0"));
    ids.push_back(push(world));
  }
  for (const auto& reader : readers)
    for (const std::string& id : ids) ASSERT_EQ(reader->next(), "job.enqueued " + id);
}

// Regression: an event larger than the stream's buffer cut each stream, and again whenever its
// client resumed.
TEST(EventStream, TellsEventsThatAreLargerThanItsBuffer) {
  ApiWorld world;
  const std::string part(600'000, 'x');
  auto begin = [&] {
    std::string body = R"({"definition":{"steps":[{"id":"e","action":"workflow.emit","params":)"
                       R"({"event_type":"t","payload":"${{ inputs.p + inputs.p }}"}}]},)"
                       R"("inputs":{"p":")" +
                       part + R"("}})";
    EXPECT_EQ(http::status_of(world.call("POST", "/v1/runs", body)), "201");
    world.advance(1);  // the run has yielded: it is large
    world.advance(1);
  };
  const std::string query = "/v1/events?types=workflow_event,workflow_completed&stream=true";
  begin();
  Reader live(world, query);
  Reader behind(world, query + "&after=0");
  begin();
  // The client reads nothing until all of it was sent.
  Reader other(world, query + "&after=0");
  auto told = [&](Reader& reader) {
    std::string text = reader.next();
    return text.substr(0, text.find(' ')) + (reader.block.size() > 2 * part.size() ? " large" : "");
  };
  EXPECT_EQ(told(live), "workflow_event large");
  EXPECT_EQ(told(live), "workflow_completed");
  for (Reader* reader : {&behind, &other})
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(told(*reader), "workflow_event large");
      EXPECT_EQ(told(*reader), "workflow_completed");
    }
}

TEST(EventStream, FiltersAndTenants) {
  ApiWorld world;
  Reader mail(world, "/ojs/v1/events?queues=mail&types=job.enqueued");
  Reader tenant(world, "/ojs/v1/events", "X-OJS-Tenant: acme\r\n");
  push(world, "a.b", "other");
  std::string id = push(world, "a.b", "mail");
  world.body("DELETE", "/ojs/v1/jobs/" + id);
  std::string theirs = push(world, "a.b", "mail", "X-OJS-Tenant: acme\r\n");
  EXPECT_EQ(mail.next(), "job.enqueued " + id);
  EXPECT_EQ(mail.next(), "job.enqueued " + theirs);
  EXPECT_EQ(tenant.next(), "job.enqueued " + theirs);
}

TEST(EventStream, NobodyListensWhenNobodyStreams) {
  ApiWorld world;
  EXPECT_EQ(world.app->events().streams(), 0u);
  auto reader = std::make_unique<Reader>(world, "/ojs/v1/events");
  EXPECT_EQ(world.app->events().streams(), 1u);
  reader = nullptr;
  while (world.app->events().streams() != 0) push(world);  // noticed with the next event
}

TEST(EventStream, StoppingEndsTheStreams) {
  ApiWorld world;
  LoopbackClient client(world.server->port());
  client.send(get("/v1/events"));
  client.read_until(": pawl events\n\n\r\n");
  world.app->begin_drain();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_EQ(http::status_of(world.call("GET", "/v1/events")), "503");
}

}  // namespace
}  // namespace pawl::api
