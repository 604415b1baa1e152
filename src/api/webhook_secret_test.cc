// A subscription's secret and the values of its headers are readable nowhere but in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "api/testing/api_world.h"
#include "effects/webhook.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/doc.h"

namespace pawl::api {
namespace {

constexpr const char* kAll = "/ojs/v1/webhooks/subscriptions";

class KeyFile {
 public:
  explicit KeyFile(const char* name)
      : path_(testing::TempDir() + "pawl_vault_" + name + std::to_string(::getpid())) {}
  ~KeyFile() { std::remove(path_.c_str()); }
  actions::Vault open() const { return std::move(actions::Vault::open(path_)).value(); }

 private:
  std::string path_;
};

// Everything that is stored under this kind, one after the other.
std::string stored(ApiWorld& world, DocKind kind) {
  std::string all;
  auto task =
      std::make_shared<TestTask>([&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
        frame.state().each_doc(kind, "", SIZE_MAX,
                               [&](const Doc& doc) { return all += doc.value, true; });
        return std::nullopt;
      });
  PAWL_CHECK(world.engine->submit(task).ok());
  task->wait();
  return all;
}

Webhook found(ApiWorld& world, const std::string& id) {
  std::optional<Webhook> webhook;
  auto task =
      std::make_shared<TestTask>([&](Frame& frame, bool, std::string&) -> std::optional<Parking> {
        webhook = find_webhook(frame.state(), id);
        return std::nullopt;
      });
  PAWL_CHECK(world.engine->submit(task).ok());
  task->wait();
  return *webhook;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(WebhookSecret, IsSealedAtRestAndOpensUnderItsVaultOnly) {
  KeyFile own_file("own");
  KeyFile other_file("other");
  actions::Vault vault = own_file.open();
  actions::Vault other = other_file.open();
  ApiWorld world;
  world.app->use_actions(nullptr, &vault);
  std::string reply = world.body(
      "POST", kAll,
      R"({"url":"https://e.com","events":["*"],"secret":"s3cret","headers":{"X-T":"t0ken"}})",
      "Idempotency-Key: k\r\n");
  std::string id = text_of(reply, "id");
  EXPECT_TRUE(holds(reply, R"("signed":true)")) << reply;
  std::string at_rest = stored(world, DocKind::Webhook) + stored(world, DocKind::Idempotency);
  EXPECT_TRUE(holds(at_rest, "https://e.com"));
  EXPECT_FALSE(holds(at_rest, "s3cret"));
  EXPECT_FALSE(holds(at_rest, "t0ken"));

  Webhook webhook = found(world, id);
  EXPECT_EQ(open_webhook(webhook, &other).error().code, ErrorCode::Corrupt);
  EXPECT_EQ(open_webhook(webhook, nullptr).error().code, ErrorCode::Corrupt);
  ASSERT_TRUE(open_webhook(webhook, &vault).ok());
  EXPECT_EQ(webhook.secret + " " + webhook.headers[0].value, "s3cret t0ken");
}

TEST(WebhookSecret, SurvivesAChangeOfSomethingElse) {
  KeyFile file("change");
  actions::Vault vault = file.open();
  ApiWorld world;
  world.app->use_actions(nullptr, &vault);
  std::string id = text_of(
      world.body("POST", kAll, R"({"url":"https://e.com","events":["*"],"secret":"s3cret"})"),
      "id");
  world.body("PATCH", std::string(kAll) + "/" + id, R"({"description":"d"})");
  Webhook webhook = found(world, id);
  ASSERT_TRUE(open_webhook(webhook, &vault).ok());
  EXPECT_EQ(webhook.description + " " + webhook.secret, "d s3cret");
}

// Otherwise a person who may change a subscription could have its secret sent to another server.
TEST(WebhookSecret, ANewOriginGetsNothingOfTheOld) {
  KeyFile file("origin");
  actions::Vault vault = file.open();
  for (const char* method : {"PATCH", "PUT"}) {
    ApiWorld world;
    world.app->use_actions(nullptr, &vault);
    std::string path = std::string(kAll) + "/" +
                       text_of(world.body("POST", kAll, R"({"url":"https://e.com/a","events":["*"],
                             "secret":"s3cret","headers":{"X-T":"t0ken"}})"),
                               "id");
    auto left = [&](const std::string& url, const std::string& more = "") {
      std::string reply =
          world.body(method, path, R"({"url":")" + url + R"(","events":["*"])" + more + "}");
      Webhook webhook = found(world, path.substr(path.rfind('/') + 1));
      EXPECT_TRUE(open_webhook(webhook, &vault).ok());
      return webhook.secret + "/" + std::to_string(webhook.headers.size()) +
             (holds(reply, R"("dropped":["headers","secret"])") ? " told" : "");
    };
    const std::string kept = R"(,"headers":{"X-T":"t0ken"})";
    EXPECT_EQ(left("https://e.com/b?x", kept), "s3cret/1") << method;
    EXPECT_EQ(left("https://e.com:443/c", kept), "s3cret/1") << method;
    EXPECT_EQ(left("http://e.com/b"), "/0 told") << method;
    EXPECT_EQ(left("https://evil.com/", R"(,"secret":"new","headers":{"A":"b"})"), "new/1");
  }
}

// A client that missed the reply repeats the call, and must get the valid secret.
TEST(WebhookSecret, ARepeatedRotationTellsItAgainAndKeepsItSealed) {
  KeyFile file("rotate");
  actions::Vault vault = file.open();
  ApiWorld world;
  world.app->use_actions(nullptr, &vault);
  std::string id =
      text_of(world.body("POST", kAll, R"({"url":"https://e.com","events":["*"]})"), "id");
  std::string path = std::string(kAll) + "/" + id + "/rotate-secret";
  std::string first = text_of(world.body("POST", path, "{}", "Idempotency-Key: r\r\n"), "secret");
  std::string again = text_of(world.body("POST", path, "{}", "Idempotency-Key: r\r\n"), "secret");
  ASSERT_EQ(first.size(), 64u);
  EXPECT_EQ(again, first);
  EXPECT_FALSE(holds(stored(world, DocKind::Idempotency) + stored(world, DocKind::Webhook), first));
}

}  // namespace
}  // namespace pawl::api
