#include "cli/demo_traffic.h"

#include <algorithm>
#include <optional>
#include <random>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/http_client.h"
#include "cli/session.h"

namespace pawl::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBetweenPushes{10};
constexpr milliseconds kBeforeAgain{30};
constexpr size_t kQueues = 4;
constexpr size_t kPushesPerWorkflow = 20;
constexpr size_t kMembers = 3;
// A short lease, so that a job whose worker never got it is given to another soon.
constexpr const char* kTrafficFetch =
    R"("queues":["demo-0","demo-1","demo-2","demo-3","demo-flows"],"count":5,"wait_ms":200,"visibility_timeout_ms":3000)";

std::string job_of(std::string_view type, std::string_view arg, std::string_view queue) {
  json::ObjectWriter w;
  w.field("type", type).key("args").begin_array();
  w.string(arg).end_array();
  w.key("options").begin_object().field("queue", queue).end_object();
  return w.close();
}

std::string workflow_of(const std::string& tag) {
  std::string jobs;
  for (size_t i = 0; i < kMembers; ++i)
    jobs += (i > 0 ? "," : "") + job_of("demo.member", tag, "demo-flows");
  return R"({"type":"batch","jobs":[)" + jobs + R"(],"callbacks":{"on_complete":)" +
         job_of("demo.callback", tag, "demo-flows") + "}}";
}

}  // namespace

// Calls nodes at random. One that is down or stands still is left after a while.
class DemoTraffic::Caller {
 public:
  Caller(const DemoNodes& nodes, size_t seed)
      : nodes_(nodes), clients_(nodes.size()), random_(static_cast<unsigned>(seed)) {}

  Result<HttpReply> post(std::string_view path, std::string_view body,
                         const Headers& headers = {}) {
    const size_t at = random_() % nodes_.size();
    const int port = nodes_[at]->port();
    if (port == 0) return Error{ErrorCode::Unavailable, "it is down"};
    std::optional<HttpClient>& client = clients_[at];
    if (!client) {
      Url url;
      url.host = "127.0.0.1";
      url.port = port;
      client.emplace(url, HttpOptions{.connect_ms = 1000, .silence_s = 2});
    }
    auto reply = client->call("POST", path, body, headers);
    if (!reply.ok()) client.reset();
    return reply;
  }

  // Until it is answered with something else than "later"; nothing if `going` ends before. `sent`:
  // how often.
  std::optional<HttpReply> insist(std::string_view path, std::string_view body,
                                  const Headers& headers, const std::atomic<bool>& going,
                                  size_t* sent = nullptr) {
    while (true) {
      if (sent != nullptr) ++*sent;
      auto reply = post(path, body, headers);
      if (reply.ok() && reply->status < 500) return std::move(*reply);
      if (!going) return std::nullopt;
      std::this_thread::sleep_for(kBeforeAgain);
    }
  }

 private:
  const DemoNodes& nodes_;
  std::vector<std::optional<HttpClient>> clients_;
  std::minstd_rand random_;
};

DemoTraffic::DemoTraffic(const DemoNodes& nodes, size_t pushers, size_t workers) : nodes_(nodes) {
  for (size_t i = 0; i < pushers; ++i) pushers_.emplace_back([this, i] { push(i); });
  for (size_t i = 0; i < workers; ++i) workers_.emplace_back([this, i] { work(i); });
}

DemoTraffic::~DemoTraffic() {
  stop_pushing();
  working_ = false;
  for (std::thread& thread : workers_) thread.join();
}

void DemoTraffic::stop_pushing() {
  pushing_ = false;
  for (std::thread& thread : pushers_) thread.join();
  pushers_.clear();
}

void DemoTraffic::push(size_t number) {
  Caller caller(nodes_, number + 1);
  for (size_t n = 0; pushing_; ++n) {
    const std::string tag = "demo-" + std::to_string(number) + "-" + std::to_string(n);
    const bool flow = n % kPushesPerWorkflow == kPushesPerWorkflow - 1;
    const std::string body =
        flow ? workflow_of(tag) : job_of("demo.job", tag, "demo-" + std::to_string(n % kQueues));
    const auto reply = caller.insist(flow ? "/ojs/v1/workflows" : "/ojs/v1/jobs", body,
                                     {{"Idempotency-Key", tag}}, pushing_);
    const auto doc = json::parse(reply ? reply->body : "");
    if (reply && reply->status / 100 == 2 && doc.ok())
      flow ? note_workflow(member(doc->root(), "id")) : note_pushed(member(doc->root(), "id"));
    std::this_thread::sleep_for(kBetweenPushes);
  }
}

void DemoTraffic::work(size_t number) {
  Caller caller(nodes_, 100 + number);
  const std::string worker = "\"worker_id\":\"demo-" + std::to_string(number) + "\"";
  const std::string fetch = "{" + worker + "," + kTrafficFetch + "}";
  while (working_) {
    auto reply = caller.post("/ojs/v1/workers/fetch", fetch);
    if (!reply.ok() || reply->status / 100 != 2) {
      std::this_thread::sleep_for(kBeforeAgain);
      continue;
    }
    auto doc = json::parse(reply->body);
    auto jobs = doc.ok() ? doc->root().find("jobs") : std::nullopt;
    if (!jobs) continue;
    jobs->each_element([&](json::View job) {
      const std::string id = member(job, "id");
      std::string tag;
      if (member(job, "type") == "demo.callback")
        if (auto args = job.find("args"))
          args->each_element([&](json::View arg) { tag = arg.string(); });
      const std::string ack = R"({"job_id":")" + id + R"(","result":{"by":"demo"},)" + worker + "}";
      size_t sent = 0;
      const auto taken = caller.insist("/ojs/v1/workers/ack", ack, {}, working_, &sent);
      if (taken && taken->status / 100 == 2) note_done(id, tag);
      // The answer to a former one may have been lost: then this one comes too late.
      if (taken && taken->status / 100 == 4 && sent > 1) note_perhaps_done(id, tag);
    });
  }
}

void DemoTraffic::note_pushed(std::string id) {
  std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  longest_pause_ =
      std::max(longest_pause_, std::chrono::duration_cast<milliseconds>(now - last_push_));
  last_push_ = now;
  pushed_.insert(std::move(id));
}

void DemoTraffic::note_workflow(std::string id) {
  std::lock_guard lock(mutex_);
  workflows_.insert(std::move(id));
}

void DemoTraffic::note_done(const std::string& id, const std::string& callback_of) {
  std::lock_guard lock(mutex_);
  ++done_[id];
  if (!callback_of.empty()) ++callbacks_[callback_of];
}

void DemoTraffic::note_perhaps_done(const std::string& id, const std::string& callback_of) {
  std::lock_guard lock(mutex_);
  done_.try_emplace(id, 0);
  if (!callback_of.empty()) callbacks_.try_emplace(callback_of, 0);
}

bool DemoTraffic::all_done() const {
  std::lock_guard lock(mutex_);
  return callbacks_.size() >= workflows_.size() &&
         std::all_of(pushed_.begin(), pushed_.end(),
                     [&](const std::string& id) { return done_.count(id) != 0; });
}

DemoCounts DemoTraffic::counts() const {
  std::lock_guard lock(mutex_);
  DemoCounts counts;
  counts.pushed = pushed_.size();
  counts.workflows = workflows_.size();
  for (const std::string& id : pushed_) counts.completed += done_.count(id);
  counts.callbacks = callbacks_.size();
  for (const auto& [id, times] : done_) counts.doubled += times > 1 ? 1 : 0;
  for (const auto& [tag, times] : callbacks_) counts.doubled += times > 1 ? 1 : 0;
  counts.longest_pause = longest_pause_;
  return counts;
}

std::vector<std::string> DemoTraffic::jobs() const {
  std::lock_guard lock(mutex_);
  return {pushed_.begin(), pushed_.end()};
}

std::vector<std::string> DemoTraffic::workflows() const {
  std::lock_guard lock(mutex_);
  return {workflows_.begin(), workflows_.end()};
}

}  // namespace pawl::cli
