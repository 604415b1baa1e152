#include "engine/verify.h"

#include <stdlib.h>

#include <filesystem>

#include "engine/recovery.h"
#include "engine/verify_index.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/run.h"
#include "kernel/run_family.h"
#include "kernel/settings/doc.h"
#include "plan/ojs/plan_node.h"
#include "store/sqlite_store.h"

namespace pawl {
namespace {

constexpr size_t kReplayDirtyMax = 16'384;
constexpr size_t kReplayRowsPerCommit = 8'192;
constexpr uint64_t kComparedPerEviction = 1'024;

// One side's view of one entity.
struct Seen {
  uint64_t version = 0;
  std::string bytes;

  bool operator==(const Seen&) const = default;
};

class Comparison {
 public:
  Comparison(Store& live, Store& scratch, VerifyReport& report)
      : live_store_(live),
        scratch_store_(scratch),
        live_cold_(live),
        scratch_cold_(scratch),
        live_(live_cold_, StateConfig{}),
        replayed_(scratch_cold_, StateConfig{}),
        report_(report) {}

  Status run(VerifyProgress progress) {
    Recovery tail;
    PAWL_TRY_DO(recover(live_store_, live_, {}, tail, [](uint64_t, size_t, int64_t) {}));
    PAWL_TRY_DO(replay(progress));
    return reading([&] { compare(); });
  }

 private:
  bool whole() const { return report_.first_record <= 1; }
  uint64_t first_sequence() const { return journal::sequence(report_.first_record, 0); }
  // Entities created at the very start of a trimmed journal may have earlier events.
  bool born_before_journal(int64_t created_ms) const {
    return !whole() && created_ms <= journal_start_ms_;
  }

  void compare() {
    compare_jobs();
    compare_runs();
    compare_queues();
    compare_limits();
    compare_crons();
    for (int kind = 1; kind <= static_cast<int>(kLastDocKind); ++kind)
      compare_docs(static_cast<DocKind>(kind));
    report_.digest = live_.digest();
    if (whole()) report_.digest_replayed = replayed_.digest();
  }
  Status replay(VerifyProgress progress) {
    uint64_t first = live_store_.journal_first();
    uint64_t count = first == 0 ? 0 : live_store_.journal_last() - first + 1;
    report_.first_record = first;
    PAWL_TRY_DO(note_journal_start(first));
    std::optional<Error> bad;
    uint64_t done = 0;
    auto on_record = [&](uint64_t, size_t, int64_t) {
      if (!bad && replayed_.dirty_count() > kReplayDirtyMax) {
        Status spilled = spill();
        if (!spilled.ok()) bad = spilled.error();
      }
      progress(++done, count);
    };
    PAWL_TRY(SkippedEvents skipped, SkippedEvents::read(live_store_));
    PAWL_TRY(Recovery folded, fold_journal(live_store_, replayed_, first, skipped, on_record));
    if (bad) return *bad;
    report_.records = folded.records;
    report_.events = folded.events;
    return ok_status();
  }
  Status note_journal_start(uint64_t first) {
    return live_store_.read_journal(first, 1, [&](uint64_t number, std::string_view bytes) {
      auto events = journal::read_record(number, bytes);
      if (events.ok() && !events->empty()) journal_start_ms_ = events->front().time_ms;
      return false;
    });
  }
  // The oldest changes of the replay go to its own store, so that memory stays bounded.
  Status spill() {
    std::vector<Row> rows;
    replayed_.collect_rows(kReplayRowsPerCommit, rows);
    Batch batch;
    for (Row& row : rows) batch.writes.push_back(write_of(std::move(row)));
    PAWL_TRY_DO(scratch_store_.commit(batch));
    replayed_.rows_durable();
    replayed_.evict();
    return ok_status();
  }

  void differ(std::string kind, std::string key, const Seen& live, const Seen& replayed) {
    ++report_.differences;
    if (report_.first_differences.size() < kDifferencesShown)
      report_.first_differences.push_back(
          {std::move(kind), std::move(key), live.version, replayed.version});
  }
  void judge(const char* kind, const std::string& key, const Seen& live, const Seen& replayed) {
    ++report_.entities;
    if (!(live == replayed)) differ(kind, key, live, replayed);
  }
  void too_old() { ++report_.entities_old; }

  static Seen seen(const Job* job) {
    return job == nullptr ? Seen{} : Seen{job->version, encode_job(*job)};
  }
  static Seen seen(const Queue* queue) {
    return queue == nullptr ? Seen{} : Seen{queue->version, encode_queue(*queue)};
  }
  // A run, and the plans of children that it has yet to start.
  static Seen seen(const State& state, const Run* run) {
    if (run == nullptr) return {};
    Seen all{run->version, encode_run(*run)};
    PlanNode node;
    auto add = [&](uint32_t index) {
      if (state.held_plan(*run, index, node))
        all.bytes += std::to_string(index) + "=" + codec::encoded(node);
      node = {};
    };
    for (uint32_t i = 0; i < run->total; ++i) add(i);
    for (size_t role = 0; role < kCallbackRoles; ++role)
      add(held_callback(static_cast<CallbackRole>(role)));
    family_of(*run).each_part(state, *run, [&](std::string_view key, const std::string& bytes) {
      all.bytes.append(key).append("=").append(bytes);
    });
    return all;
  }
  template <class Entity>
  static Seen seen(const Entity* entity) {
    return entity == nullptr ? Seen{} : Seen{entity->version, codec::encoded(*entity)};
  }

  void compare_jobs() {
    uint64_t looked_at = 0;
    live_.each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
      const Job* other = replayed_.find_job(job.id);
      if (other == nullptr &&
          (born_before_journal(job.created_ms) || (!whole() && job.version < first_sequence()))) {
        too_old();
      } else {
        judge("job", job.id.text(), seen(&job), seen(other));
      }
      if (++looked_at % kComparedPerEviction == 0) replayed_.evict();
      return true;
    });
    replayed_.each_job(JobId(), false, SIZE_MAX, [&](const Job& job) {
      if (live_.find_job(job.id) == nullptr) judge("job", job.id.text(), {}, seen(&job));
      if (++looked_at % kComparedPerEviction == 0) live_.evict();
      return true;
    });
  }
  void compare_runs() {
    uint64_t looked_at = 0;
    live_.each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
      const Run* other = replayed_.find_run(run.id);
      if (other == nullptr &&
          (born_before_journal(run.created_ms) || (!whole() && run.version < first_sequence()))) {
        too_old();
      } else {
        judge("run", run.id.text(), seen(live_, &run), seen(replayed_, other));
      }
      if (++looked_at % kComparedPerEviction == 0) replayed_.evict();
      return true;
    });
    replayed_.each_run(RunId(), false, SIZE_MAX, [&](const Run& run) {
      if (live_.find_run(run.id) == nullptr) judge("run", run.id.text(), {}, seen(replayed_, &run));
      if (++looked_at % kComparedPerEviction == 0) live_.evict();
      return true;
    });
  }
  void compare_queues() {
    live_.each_queue([&](const Queue& queue) {
      if (born_before_journal(queue.created_ms)) return too_old(), true;
      return judge("queue", queue.name, seen(&queue), seen(replayed_.find_queue(queue.name))), true;
    });
    replayed_.each_queue([&](const Queue& queue) {
      if (live_.find_queue(queue.name) == nullptr) judge("queue", queue.name, {}, seen(&queue));
      return true;
    });
  }
  // A limit has no creation time.
  void compare_limits() {
    live_.each_limit([&](const Limit& limit) {
      if (!whole()) return too_old(), true;
      return judge("limit", limit.key, seen(&limit), seen(replayed_.find_limit(limit.key))), true;
    });
    replayed_.each_limit([&](const Limit& limit) {
      if (live_.find_limit(limit.key) == nullptr) judge("limit", limit.key, {}, seen(&limit));
      return true;
    });
  }
  void compare_crons() {
    live_.each_cron([&](const Cron& cron) {
      const std::string& name = cron.spec.name;
      if (born_before_journal(cron.spec.created_ms)) return too_old(), true;
      return judge("cron", name, seen(&cron), seen(replayed_.find_cron(name))), true;
    });
    replayed_.each_cron([&](const Cron& cron) {
      if (live_.find_cron(cron.spec.name) == nullptr)
        judge("cron", cron.spec.name, {}, seen(&cron));
      return true;
    });
  }
  void compare_docs(DocKind kind) {
    std::string named = "document of kind " + std::to_string(static_cast<int>(kind));
    live_.each_doc(kind, "", SIZE_MAX, [&](const Doc& doc) {
      const Doc* other = replayed_.find_doc(kind, doc.key);
      if (other == nullptr && !whole() && doc.version < first_sequence()) return too_old(), true;
      return judge(named.c_str(), doc.key, seen(&doc), seen(other)), true;
    });
    replayed_.each_doc(kind, "", SIZE_MAX, [&](const Doc& doc) {
      if (live_.find_doc(kind, doc.key) == nullptr) judge(named.c_str(), doc.key, {}, seen(&doc));
      return true;
    });
  }

  Store& live_store_;
  Store& scratch_store_;
  StoreCold live_cold_;
  StoreCold scratch_cold_;
  MutableState live_;
  MutableState replayed_;
  VerifyReport& report_;
  int64_t journal_start_ms_ = 0;
};

// A temporary directory, removed with the object.
class Scratch {
 public:
  Result<std::unique_ptr<Store>> open() {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-verify-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      return Error{ErrorCode::StoreFailed, "no temporary directory can be made in " +
                                               std::filesystem::temp_directory_path().string()};
    path_ = name;
    return open_sqlite(path_);
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

std::string version_text(uint64_t version) {
  if (version == 0) return "not there";
  return "as of record " + std::to_string(journal::record_of(version)) + " event " +
         std::to_string(journal::index_of(version));
}

}  // namespace

std::string VerifyDifference::text() const {
  std::string line = kind + " " + key + ": stored " + version_text(live_version) + ", replayed " +
                     version_text(replayed_version);
  return live_version == replayed_version ? line + ", with other content" : line;
}

Result<VerifyReport> verify(Store& live, Store& scratch, VerifyProgress progress) {
  VerifyReport report;
  PAWL_TRY_DO(verify_index(live, report));
  Comparison comparison(live, scratch, report);
  PAWL_TRY_DO(comparison.run(progress));
  return report;
}

Result<VerifyReport> verify(Store& live, VerifyProgress progress) {
  Scratch directory;
  PAWL_TRY(std::unique_ptr<Store> scratch, directory.open());
  return verify(live, *scratch, progress);
}

}  // namespace pawl
