#include "engine/testing/scenario_runner.h"

#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "base/time.h"
#include "engine/testing/core_world.h"
#include "engine/testing/script_line.h"
#include "engine/verify.h"
#include "kernel/scripts/run.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/settings.h"

namespace pawl {
namespace {

class ScenarioRunner {
 public:
  explicit ScenarioRunner(std::unique_ptr<Backing> backing) : backing_(std::move(backing)) {
    open();
  }

  std::string run(const std::string& text) {
    std::istringstream lines(text);
    std::string one;
    for (int number = 1; std::getline(lines, one); ++number) {
      ScriptLine line = ScriptLine::parse(one);
      if (line.words.empty() && !line.malformed) continue;
      std::string complaint = line.malformed ? "a quote is not closed" : step(line);
      if (!complaint.empty()) return "line " + std::to_string(number) + ": " + complaint;
    }
    return replay();
  }

 private:
  using Verb = std::string (ScenarioRunner::*)(const ScriptLine&);

  std::string step(const ScriptLine& line) {
    static const std::map<std::string, Verb> kVerbs = {{"push", &ScenarioRunner::push},
                                                       {"fetch", &ScenarioRunner::fetch},
                                                       {"ack", &ScenarioRunner::ack},
                                                       {"nack", &ScenarioRunner::nack},
                                                       {"heartbeat", &ScenarioRunner::heartbeat},
                                                       {"cancel", &ScenarioRunner::cancel},
                                                       {"revive", &ScenarioRunner::revive},
                                                       {"pause", &ScenarioRunner::pause},
                                                       {"resume", &ScenarioRunner::pause},
                                                       {"cron", &ScenarioRunner::cron},
                                                       {"advance", &ScenarioRunner::advance},
                                                       {"clock", &ScenarioRunner::set_clock},
                                                       {"hold", &ScenarioRunner::hold},
                                                       {"commit", &ScenarioRunner::commit},
                                                       {"flush", &ScenarioRunner::flush},
                                                       {"disk", &ScenarioRunner::disk},
                                                       {"restart", &ScenarioRunner::restart},
                                                       {"expect", &ScenarioRunner::expect}};
    auto verb = kVerbs.find(line.words[0]);
    if (verb == kVerbs.end()) return "no such verb: " + line.words[0];
    if (line.words[0] != "expect") last_ = nullptr;
    return (this->*verb->second)(line);
  }

  // --- the world

  void open() {
    store_ = std::move(backing_->open()).value();
    auto core = Core::open(*store_, config_, clock_, random_);
    PAWL_CHECK(core.ok());
    core_ = std::move(core).value();
  }
  static int64_t ms(const std::string& text, int64_t otherwise = 0) {
    if (text.empty()) return otherwise;
    auto parsed = parse_duration_ms(text);
    PAWL_CHECK(parsed.ok());
    return *parsed;
  }
  void commit_batch(bool idle) {
    ClosedBatch closed = core_->close_batch(idle);
    Status status = store_->commit(closed.batch);
    if (status.ok()) {
      core_->committed(closed);
      Core::release(closed);
    } else {
      Core::refuse(closed, status.error());
      failure_ = status.error();
    }
  }
  void settle() {
    if (failure_) return;
    while (core_->tick()) {
    }
    if (!holding_) commit_batch(false);
  }
  std::string submit(TestTask::Decide decide) {
    last_ = std::make_shared<TestTask>(std::move(decide));
    if (failure_) return last_->refuse(*failure_), "";
    core_->decide(last_);
    if (!holding_) commit_batch(false);
    return "";
  }
  std::string submit_status(auto act) {
    return submit([=](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
      Status status = frame.attempt(act);
      found = status.ok() ? "done" : std::string(wire_code(status.error().code));
      return std::nullopt;
    });
  }

  // --- verbs

  std::string push(const ScriptLine& line) {
    TestSpec spec;
    spec.retry.max_attempts = static_cast<uint32_t>(std::stoul(line.option("attempts", "3")));
    spec.retry.initial_ms = ms(line.option("backoff"), 1000);
    spec.retry.on_exhaustion =
        line.option("dead") == "yes" ? OnExhaustion::DeadLetter : OnExhaustion::Discard;
    spec.timeout_ms = ms(line.option("timeout"));
    NewJob job;
    job.queue = line.option("queue", "q");
    job.priority = std::stoi(line.option("priority", "0"));
    if (line.has("unique"))
      job.unique = {.key = (line.option("unique") + std::string(16, '.')).substr(0, 16),
                    .states = 0x5e,
                    .on_conflict = OnConflict::Reject};
    if (line.has("limit")) {
      job.limit = line.option("limit");
      job.limit_settings.concurrency = 1;
    }
    job = new_job(job, spec);
    std::string name = line.word(1);
    int64_t delay_ms = ms(line.option("delay"));
    int64_t expires_in_ms = ms(line.option("expires"));
    return submit([=, this](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
      NewJob timed = job;
      if (delay_ms != 0) timed.scheduled_ms = frame.now_ms() + delay_ms;
      if (expires_in_ms != 0) timed.expires_ms = frame.now_ms() + expires_in_ms;
      auto pushed = push_jobs(frame, {timed});
      found = pushed.ok() ? "done" : std::string(wire_code(pushed.error().code));
      if (pushed.ok()) names_.give(pushed->front().id, name);
      return std::nullopt;
    });
  }
  std::string fetch(const ScriptLine& line) {
    FetchJobs command;
    std::istringstream queues(line.option("queue", "q"));
    for (std::string queue; std::getline(queues, queue, ',');) command.queues.push_back(queue);
    command.worker = line.word(1);
    command.count = static_cast<uint32_t>(std::stoul(line.option("count", "1")));
    command.visibility_ms = ms(line.option("lease"));
    command.visibility_default_ms = kTestLeaseMs;
    int64_t wait_ms = ms(line.option("wait"));
    submit([this, command, wait_ms, until_ms = int64_t{0}](
               Frame& frame, bool last_call, std::string& found) mutable -> std::optional<Parking> {
      if (until_ms == 0) until_ms = frame.now_ms() + wait_ms;
      Fetched fetched = fetch_jobs(frame, command);
      if (fetched.jobs.empty() && !last_call && until_ms > frame.now_ms())
        return Parking{command.queues, until_ms, fetched.retry_at_ms};
      for (const JobId& id : fetched.jobs) found += (found.empty() ? "" : " ") + names_.of(id);
      if (found.empty()) found = "nothing";
      return std::nullopt;
    });
    fetches_[command.worker] = last_;
    return "";
  }
  LeaseClaim claim(const ScriptLine& line) const {
    return {names_.id(line.word(1)), line.option("worker"),
            static_cast<uint32_t>(std::stoul(line.option("attempt", "0")))};
  }
  std::string ack(const ScriptLine& line) {
    return submit_status([c = claim(line)](Frame& frame) { return ack_job(frame, c, ""); });
  }
  std::string nack(const ScriptLine& line) {
    NackJob command{claim(line), {}, line.word(2) == "requeue"};
    command.error.code = command.error.type = line.option("error", "E");
    return submit_status([command](Frame& frame) { return nack_job(frame, command); });
  }
  std::string heartbeat(const ScriptLine& line) {
    int64_t lease = ms(line.option("lease"));
    return submit(
        [c = claim(line), lease](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
          found = extend_lease(frame, c, lease, kTestLeaseMs) ? "done" : "lost";
          return std::nullopt;
        });
  }
  std::string cancel(const ScriptLine& line) {
    JobId id = names_.id(line.word(1));
    return submit_status([id](Frame& frame) { return cancel_job(frame, id, "asked"); });
  }
  std::string revive(const ScriptLine& line) {
    JobId id = names_.id(line.word(1));
    return submit_status([id](Frame& frame) { return revive_job(frame, id); });
  }
  std::string pause(const ScriptLine& line) {
    bool paused = line.words[0] == "pause";
    return submit_status([queue = line.word(1), paused](Frame& frame) {
      return configure_queue(frame, queue, [&](QueueSettings& s) { s.paused = paused; });
    });
  }
  std::string cron(const ScriptLine& line) {
    CronSpec spec;
    spec.name = line.word(1);
    spec.expression = line.word(2);
    spec.timezone = "UTC";
    spec.overlap =
        line.option("overlap", "skip") == "skip" ? CronOverlap::Skip : CronOverlap::Allow;
    spec.job = codec::encoded(new_job({.queue = line.option("queue", "q")}));
    return submit_status([spec](Frame& frame) -> Status {
      PAWL_TRY_DO(put_cron(frame, spec));
      return ok_status();
    });
  }
  std::string advance(const ScriptLine& line) {
    clock_.now += ms(line.word(1));
    settle();
    return "";
  }
  std::string set_clock(const ScriptLine& line) {
    int64_t by_ms = ms(line.word(2));
    clock_.now += line.word(1) == "back" ? -by_ms : by_ms;
    return line.word(1) == "back" || line.word(1) == "forward" ? "" : "clock back or forward";
  }
  std::string hold(const ScriptLine&) {
    holding_ = true;
    return "";
  }
  std::string commit(const ScriptLine&) {
    holding_ = false;
    commit_batch(false);
    return "";
  }
  std::string flush(const ScriptLine&) {
    if (failure_) return "";
    do {
      commit_batch(true);
    } while (core_->has_dirty() && !failure_);
    return "";
  }
  std::string disk(const ScriptLine& line) {
    backing_->disk_fails = line.word(1) == "fails";
    return line.word(1) == "fails" || line.word(1) == "works" ? "" : "disk fails or works";
  }
  std::string restart(const ScriptLine& line) {
    bool soft = line.word(1) == "soft";
    if (!soft && line.word(1) != "hard") return "restart soft or hard";
    if (soft) {
      holding_ = false;
      flush(line);
    }
    bool nothing_lost = !holding_ && !failure_;
    std::string before = core_->state().digest();
    core_ = nullptr;
    store_ = nullptr;
    backing_->disk_fails = false;
    holding_ = false;
    failure_.reset();
    fetches_.clear();
    open();
    if (nothing_lost && core_->state().digest() != before)
      return "the state after the restart is not the one before it";
    settle();
    return "";
  }

  // --- expectations

  std::string expect(const ScriptLine& line) {
    if (line.word(1) == "last")
      return compare(line, last_ ? last_->outcome() : "nothing was asked");
    if (line.word(2) == "got") {
      auto fetch = fetches_.find(line.word(1));
      return compare(line, fetch == fetches_.end() ? "never asked" : fetch->second->outcome());
    }
    if (line.word(2) == "events") return compare(line, history(line.word(1)));
    const Job* job = core_->state().find_job(names_.id(line.word(1)));
    std::string found = job == nullptr ? "gone" : std::string(state_name(job->state));
    if (job != nullptr && line.has("attempt")) found += " attempt=" + std::to_string(job->attempt);
    std::string wanted = line.word(2);
    if (line.has("attempt")) wanted += " attempt=" + line.option("attempt");
    return found == wanted ? "" : "expected " + wanted + ", found " + found;
  }
  static std::string compare(const ScriptLine& line, std::string found) {
    if (found.substr(0, 3) == "ok ") found = found.substr(3);
    const std::string& wanted = line.words.back();
    return found == wanted ? "" : "expected \"" + wanted + "\", found \"" + found + "\"";
  }
  // The durable facts about one job, or one cron.
  std::string history(const std::string& name) {
    std::string line;
    EventStory story(names_);
    PAWL_CHECK(store_
                   ->read_journal(1, SIZE_MAX,
                                  [&](uint64_t number, std::string_view bytes) {
                                    auto events = journal::read_record(number, bytes);
                                    PAWL_CHECK(events.ok());
                                    for (const journal::EventBytes& event : *events) {
                                      std::string told = story.tell(event);
                                      size_t at = told.find('(');
                                      size_t end = told.find_first_of(" )", at);
                                      if (told.substr(at + 1, end - at - 1) != name) continue;
                                      std::string rest =
                                          told[end] == ' '
                                              ? told.substr(end + 1, told.size() - end - 2)
                                              : "";
                                      line += (line.empty() ? "" : " | ") + told.substr(0, at) +
                                              (rest.empty() ? "" : "(" + rest + ")");
                                    }
                                    return true;
                                  })
                   .ok());
    return line;
  }

  // The whole journal, folded again, must give what is stored and in memory.
  std::string replay() {
    holding_ = false;
    if (failure_) return "the script ends with a failed store";
    commit_batch(false);
    core_ = nullptr;
    auto report = verify(*store_, *std::move(open_memory(std::make_shared<MemoryDisk>())).value(),
                         [](uint64_t, uint64_t) {});
    if (!report.ok()) return "replay: " + report.error().message;
    if (report->good()) return "";
    return "replay: " + (report->first_differences.empty() ? "other digest"
                                                           : report->first_differences[0].text());
  }

  std::unique_ptr<Backing> backing_;
  CoreConfig config_;
  TestClock clock_;
  TestRandom random_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Core> core_;
  JobNames names_;
  std::optional<Error> failure_;  // the store's: everything is refused until a restart
  TestTaskPtr last_;
  std::map<std::string, TestTaskPtr> fetches_;  // by worker, the latest
  bool holding_ = false;                        // decisions are not committed
};

}  // namespace

std::string run_scenario(std::unique_ptr<Backing> backing, const std::string& text) {
  return ScenarioRunner(std::move(backing)).run(text);
}

}  // namespace pawl
