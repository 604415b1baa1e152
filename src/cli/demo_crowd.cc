#include "cli/demo_crowd.h"

#include <optional>

#include "base/json.h"
#include "cli/http_client.h"
#include "cli/session.h"

namespace pawl::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{20};  // before a server that is down is tried again
// A short lease, so that a lease whose reply was lost expires soon.
constexpr const char* kFetchOptions =
    R"("queues":["demo"],"count":1,"wait_ms":200,"visibility_timeout_ms":2000)";

// The connection to whichever server is up.
class Line {
 public:
  explicit Line(const DemoServer& server) : server_(server) {}

  Result<HttpReply> post(std::string_view path, std::string_view body) {
    int port = server_.port();
    if (port == 0) return Error{ErrorCode::Unavailable, "it is down"};
    if (!client_ || client_->url().port != port) {
      Url url;
      url.host = "127.0.0.1";
      url.port = port;
      client_.emplace(url);
    }
    auto reply = client_->call("POST", path, body);
    if (!reply.ok()) client_.reset();
    return reply;
  }

 private:
  const DemoServer& server_;
  std::optional<HttpClient> client_;
};

}  // namespace

DemoCrowd::DemoCrowd(const DemoServer& server, size_t workers, milliseconds work)
    : server_(server), work_(work) {
  for (size_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { run(i); });
}

DemoCrowd::~DemoCrowd() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void DemoCrowd::run(size_t number) {
  Line line(server_);
  std::string worker = "\"worker_id\":\"demo-" + std::to_string(number) + "\"";
  std::string fetch = "{" + worker + "," + kFetchOptions + "}";
  while (!stopping_) {
    auto reply = line.post("/ojs/v1/workers/fetch", fetch);
    if (!reply.ok() || reply->status / 100 != 2) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    auto doc = json::parse(reply->body);
    auto jobs = doc.ok() ? doc->root().find("jobs") : std::nullopt;
    if (!jobs) continue;
    jobs->each_element([&](json::View job) {
      ++at_work_;
      std::this_thread::sleep_for(work_);
      ++executed_;
      std::string ack =
          R"({"job_id":")" + member(job, "id") + R"(","result":{"by":"demo"},)" + worker + "}";
      auto taken = line.post("/ojs/v1/workers/ack", ack);
      while (!stopping_ && (!taken.ok() || taken->status >= 500)) {
        std::this_thread::sleep_for(kPause);
        taken = line.post("/ojs/v1/workers/ack", ack);
      }
      if (taken.ok() && taken->status / 100 == 2) ++accepted_;
      --at_work_;
    });
  }
}

}  // namespace pawl::cli
