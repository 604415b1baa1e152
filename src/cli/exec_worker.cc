#include "cli/exec_worker.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/json_writer.h"
#include "cli/child.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

// A fetch waits this long: short, because a stop waits for it; an interrupted fetch might already
// have leased a job.
constexpr int kFetchWaitMs = 2000;
constexpr auto kReconnectAfter = std::chrono::seconds(1);

std::string default_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return "pawl-worker-" + std::string(host) + "-" + std::to_string(::getpid());
}

struct RunningJob {
  std::string id;
  std::string attempt;
  std::string envelope;
  std::vector<std::pair<std::string, std::string>> environment;
  std::atomic<int> pid{0};
  std::atomic<bool> lost{false};        // the lease was lost
  std::atomic<bool> given_back{false};  // the worker must stop at once
  std::atomic<bool> over{false};
  std::thread thread;
};

class ExecWorker {
 public:
  ExecWorker(const Invocation& given, const ExecWorkerOptions& options)
      : given_(given), options_(options), session_(given) {
    if (options_.worker_id.empty()) options_.worker_id = default_name();
  }

  int run() {
    if (session_.exit_code() != kDone) return session_.exit_code();
    std::thread signals([this] { watch_signals(); });
    std::thread heart([this] { beat(); });
    int code = fetch_loop();
    for (auto& job : jobs_) job->thread.join();
    {
      std::lock_guard lock(mutex_);
      jobs_.clear();
      ended_ = true;
    }
    changed_.notify_all();
    heart.join();
    ::pthread_kill(signals.native_handle(), SIGTERM);  // it waits for one
    signals.join();
    return code != kDone ? code : failures_ > 0 && options_.once ? kRefused : kDone;
  }

 private:
  void watch_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
    int received = 0;
    while (true) {
      sigwait(&set, &received);
      std::lock_guard lock(mutex_);
      if (ended_) return;
      if (stopping_) {
        for (auto& job : jobs_) {
          job->given_back = true;
          end_child(job->pid);
        }
      }
      stopping_ = true;
      changed_.notify_all();
    }
  }

  // Returns when stopped, when no job is left (once), or when the server refuses.
  int fetch_loop() {
    bool reached = false;
    while (!stopping()) {
      size_t room = wait_for_room();
      if (room == 0) continue;
      auto reply = session_.call("POST", "/ojs/v1/workers/fetch", fetch_body(room));
      if (!reply.ok()) {
        if (!reached) return session_.fail(reply.error());
        complain(reply.error().message + "; trying again");
        pause(kReconnectAfter);
        continue;
      }
      if (reply->status / 100 == 5 || reply->status == 429) {
        pause(kReconnectAfter);
        continue;
      }
      if (reply->status / 100 != 2) return session_.refuse(*reply);
      reached = true;
      size_t taken = start_jobs(reply->body);
      if (options_.once && taken == 0 && wait_for_an_end()) return kDone;
    }
    return kDone;
  }

  std::string fetch_body(size_t room) {
    json::ObjectWriter w;
    w.key("queues").begin_array();
    for (const std::string& queue : options_.queues) w.string(queue);
    w.end_array().field_int("count", room).field("worker_id", options_.worker_id);
    w.field_int("visibility_timeout_ms", options_.lease_ms);
    w.field_int("wait_ms", options_.once ? 0 : kFetchWaitMs);
    return w.close();
  }

  size_t start_jobs(const std::string& body) {
    auto doc = json::parse(body);
    auto list = doc.ok() ? doc->root().find("jobs") : std::nullopt;
    if (!list) return 0;
    size_t taken = 0;
    list->each_element([&](json::View envelope) {
      auto job = std::make_shared<RunningJob>();
      job->id = member(envelope, "id");
      job->attempt = member(envelope, "attempt");
      job->envelope = envelope.raw();
      job->environment = {{"PAWL_JOB_ID", job->id},
                          {"PAWL_JOB_TYPE", member(envelope, "type")},
                          {"PAWL_JOB_QUEUE", member(envelope, "queue")},
                          {"PAWL_JOB_ATTEMPT", job->attempt}};
      ++taken;
      std::lock_guard lock(mutex_);
      job->thread = std::thread([this, job] { run_job(*job); });
      jobs_.push_back(std::move(job));
    });
    return taken;
  }

  void run_job(RunningJob& job) {
    Session session(given_);  // a connection of its own
    ChildOrder order{options_.command, job.envelope + "\n", job.environment};
    auto end = run_child(order, job.pid);
    if (!job.lost) settle(session, job, end);
    std::lock_guard lock(mutex_);
    job.over = true;
    changed_.notify_all();
  }

  void settle(Session& session, RunningJob& job, const Result<ChildEnd>& end) {
    bool good = end.ok() && end->exit_code == 0 && end->signal == 0 && !end->output_cut;
    bool back = job.given_back && !good;
    json::ObjectWriter w;
    w.field("job_id", job.id).field("worker_id", options_.worker_id);
    if (!job.attempt.empty()) w.field_raw("attempt", job.attempt);
    good ? write_result(w, end->output) : write_failure(w, end, back);
    std::string body = w.close();
    // Retries the report: the command has run and should not run twice.
    for (int tries = 0; tries < 10; ++tries) {
      auto reply =
          session.call("POST", good ? "/ojs/v1/workers/ack" : "/ojs/v1/workers/nack", body);
      if (reply.ok() && reply->status / 100 == 4) session.refuse(*reply);
      if (reply.ok() && reply->status / 100 != 5) break;
      std::this_thread::sleep_for(kReconnectAfter);
    }
    if (!good && !back) failures_ += 1;
    std::string what = good ? "completed" : back ? "given back" : "failed";
    std::string line = printable(job.id) + "  " +
                       painted(what, good ? Colour::Green : Colour::Yellow, colours_on(stdout)) +
                       "\n";
    print_text(line);
    std::fflush(stdout);
  }

  static void write_result(json::Writer& w, std::string_view output) {
    while (!output.empty() && (output.back() == '\n' || output.back() == '\r'))
      output.remove_suffix(1);
    if (output.empty()) return;
    if (auto doc = json::parse(output); doc.ok()) {
      w.field_raw("result", doc->root().raw());
    } else {
      w.field("result", printable_lines(output));
    }
  }
  // Valid UTF-8 at least: it goes into a JSON string.
  static std::string printable_lines(std::string_view text) {
    std::string out;
    while (true) {
      size_t end = text.find('\n');
      out += printable(text.substr(0, end));
      if (end == std::string_view::npos) return out;
      out += '\n';
      text.remove_prefix(end + 1);
    }
  }
  static void write_failure(json::Writer& w, const Result<ChildEnd>& end, bool back) {
    std::string code = "not_started", message = end.ok() ? "" : end.error().message;
    if (end.ok() && end->output_cut) {
      code = "output_too_large";
      message = "the command printed more than a result may hold";
    } else if (end.ok() && end->signal != 0) {
      code = "signal_" + std::to_string(end->signal);
      message = "the command was ended by signal " + std::to_string(end->signal);
    } else if (end.ok()) {
      code = "exit_" + std::to_string(end->exit_code);
      message = "the command ended with " + std::to_string(end->exit_code);
    }
    if (end.ok() && !end->last_words.empty()) {
      std::string words = printable_lines(end->last_words);
      while (!words.empty() && words.back() == '\n') words.pop_back();
      message += ": " + words;
    }
    if (back) w.field_bool("requeue", true);
    w.key("error").begin_object().field("code", code).field("message", message).end_object();
  }

  // Renews each lease three times before it expires; ends the command of a job whose lease was
  // lost.
  void beat() {
    Session session(given_);
    auto every = std::chrono::milliseconds(options_.lease_ms / 3);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, every, [this] { return ended_; })) {
      std::vector<std::shared_ptr<RunningJob>> now(jobs_.begin(), jobs_.end());
      lock.unlock();
      beat_once(session, now);
      lock.lock();
    }
  }
  void beat_once(Session& session, const std::vector<std::shared_ptr<RunningJob>>& now) {
    json::ObjectWriter w;
    w.field("worker_id", options_.worker_id);
    w.field_int("visibility_timeout_ms", options_.lease_ms);
    w.key("active_jobs").begin_array();
    for (const auto& job : now)
      if (!job->over) w.string(job->id);
    w.end_array();
    auto reply = session.call("POST", "/ojs/v1/workers/heartbeat", w.close());
    if (!reply.ok() || reply->status != 200) return;
    auto doc = json::parse(reply->body);
    auto extended = doc.ok() ? doc->root().find("jobs_extended") : std::nullopt;
    if (!extended) return;
    std::set<std::string> ours;
    extended->each_element([&](json::View id) { ours.insert(id.string()); });
    for (const auto& job : now) {
      if (job->over || ours.count(job->id) != 0 || job->pid == 0) continue;
      job->lost = true;
      end_child(job->pid);
      complain(printable(job->id) + " is no longer this worker's; its command is ended");
    }
    std::string state = member(doc->root(), "state");
    if (state == "terminate" || state == "quiet") request_stop();
  }

  void request_stop() {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  bool stopping() {
    std::lock_guard lock(mutex_);
    return stopping_;
  }
  // True at once when nothing runs; else false, after a running command has ended.
  bool wait_for_an_end() {
    std::unique_lock lock(mutex_);
    reap(lock);
    if (jobs_.empty()) return true;
    changed_.wait(lock, [this] {
      return stopping_ || std::any_of(jobs_.begin(), jobs_.end(),
                                      [](const auto& job) { return job->over.load(); });
    });
    return false;
  }
  void pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return stopping_; });
  }
  // How many more may run, once there is room; 0 when it stops.
  size_t wait_for_room() {
    std::unique_lock lock(mutex_);
    while (true) {
      reap(lock);
      if (stopping_) return 0;
      if (jobs_.size() < options_.concurrency) return options_.concurrency - jobs_.size();
      changed_.wait(lock);
    }
  }
  void reap(std::unique_lock<std::mutex>& lock) {
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      if (!(*at)->over) {
        ++at;
        continue;
      }
      std::shared_ptr<RunningJob> job = *at;
      at = jobs_.erase(at);
      lock.unlock();  // the ending thread needs the mutex
      job->thread.join();
      lock.lock();
      at = jobs_.begin();
    }
  }

  const Invocation& given_;
  ExecWorkerOptions options_;
  Session session_;
  std::atomic<uint64_t> failures_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<RunningJob>>
      jobs_;               // guarded by mutex_; changed by the fetching thread alone
  bool stopping_ = false;  // guarded by mutex_
  bool ended_ = false;     // guarded by mutex_
};

}  // namespace

int run_exec_worker(const Invocation& given, const ExecWorkerOptions& options) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return ExecWorker(given, options).run();
}

}  // namespace pawl::cli
