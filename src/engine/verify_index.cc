#include "engine/verify_index.h"

#include "base/hash.h"
#include "base/result.h"
#include "journal/events.h"
#include "kernel/cold.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/keys.h"
#include "kernel/run.h"
#include "kernel/run_family.h"

namespace pawl {
namespace {

struct StoredJob {
  Job job;
  std::string queue;
};

Result<StoredJob> read_job(std::string_view key, std::string_view value) {
  StoredJob stored;
  auto id = Uuid::from_bytes(key);
  if (!id) return Error{ErrorCode::Corrupt, "the key " + to_hex(key) + " among the jobs is no id"};
  if (!decode_job(value, stored.job, stored.queue) || !(stored.job.id == JobId(*id)))
    return Error{ErrorCode::Corrupt, "the row of job " + id->text() + " cannot be read"};
  return stored;
}

Result<Run> read_run(std::string_view key, std::string_view value) {
  Run run;
  auto id = Uuid::from_bytes(key);
  if (!id) return Error{ErrorCode::Corrupt, "the key " + to_hex(key) + " among the runs is no id"};
  if (!decode_run(value, run) || !(run.id == RunId(*id)))
    return Error{ErrorCode::Corrupt, "the row of run " + id->text() + " cannot be read"};
  return run;
}

struct IndexRow {
  Space space;
  const char* kind;
  std::string key;
};

// The index rows that belong to a job's row.
std::vector<IndexRow> rows_of(const StoredJob& stored) {
  std::vector<IndexRow> rows;
  const JobId& id = stored.job.id;
  JobPlaces places = stored.job.current_places();
  if (places.ready)
    rows.push_back({Space::Ready, "ready entry",
                    ready_row_key(stored.queue, {-places.priority, places.order, id})});
  if (places.due_ms != 0)
    rows.push_back({Space::Due, "timer entry", due_row_key({places.due_ms, TimerKind::Job, id})});
  if (places.unique)
    rows.push_back({Space::Unique, "unique entry", unique_row_key(stored.job.unique_key, id)});
  if (places.dead) rows.push_back({Space::Dead, "dead letter entry", id.bytes()});
  return rows;
}

// The rows that belong to a run's row: its timer, and the plans of steps that start one by one; for
// a run of a definition its open lists, and its entry in the index of open effects.
std::vector<IndexRow> rows_of(const Run& run) {
  std::vector<IndexRow> rows;
  if (run.due_ms() != 0)
    rows.push_back(
        {Space::Due, "timer entry", due_row_key({run.due_ms(), TimerKind::Run, run.id})});
  family_of(run).each_open_part(run, [&](const std::string& path) {
    rows.push_back({Space::Scope, "list of steps", run.id.bytes() + path});
  });
  if (family_of(run).is_busy(run)) rows.push_back({Space::Busy, "busy entry", run.id.bytes()});
  if (run.kind == RunKind::Group || run.kind == RunKind::Batch) return rows;
  for (uint32_t i = 0; i < run.total; ++i) {
    std::string key = run.id.bytes();
    put_big_endian(key, i, 4);
    rows.push_back({Space::RunChild, "plan", std::move(key)});
  }
  return rows;
}

void differ(VerifyReport& report, const char* kind, const std::string& key, uint64_t live,
            uint64_t expected) {
  ++report.differences;
  if (report.first_differences.size() < kDifferencesShown)
    report.first_differences.push_back({kind, key, live, expected});
}

Status each_row(Store& store, Space space,
                FunctionRef<Status(std::string_view key, std::string_view value)> visit) {
  std::optional<Error> bad;
  PAWL_TRY_DO(store.scan(static_cast<uint8_t>(space), "", "", false, SIZE_MAX,
                         [&](std::string_view key, std::string_view value) {
                           Status status = visit(key, value);
                           if (!status.ok()) bad = status.error();
                           return status.ok();
                         }));
  if (bad) return *bad;
  return ok_status();
}

// A timer of a run must match its row.
Status check_run_timer(Store& store, const TimerKey& timer, VerifyReport& report) {
  ++report.index_entries;
  PAWL_TRY(auto row, store.get(static_cast<uint8_t>(Space::Run), timer.id.bytes()));
  if (row) {
    PAWL_TRY(Run run, read_run(timer.id.bytes(), *row));
    if (run.due_ms() == timer.due_ms) return ok_status();
  }
  differ(report, "timer entry", "of run " + timer.id.text(), 1, 0);
  return ok_status();
}

// Every other index row ends with the id of its job, or is that id.
Status check_owner(Store& store, Space space, const char* kind, std::string_view key,
                   VerifyReport& report) {
  auto timer = space == Space::Due ? parse_due_row_key(key) : std::nullopt;
  if (timer && timer->kind == TimerKind::Run) return check_run_timer(store, *timer, report);
  ++report.index_entries;
  auto id = key.size() < 16 ? std::nullopt : Uuid::from_bytes(key.substr(key.size() - 16));
  if (!id) return differ(report, kind, to_hex(key), 1, 0), ok_status();
  PAWL_TRY(auto row, store.get(static_cast<uint8_t>(Space::Job), id->bytes()));
  if (row) {
    PAWL_TRY(StoredJob stored, read_job(id->bytes(), *row));
    for (const IndexRow& expected : rows_of(stored))
      if (expected.space == space && expected.key == key) return ok_status();
  }
  differ(report, kind, "of job " + id->text(), 1, 0);
  return ok_status();
}

// A row whose key begins with a run's id must belong to an existing run.
Status check_belongs(Store& store, const char* kind, std::string_view key, VerifyReport& report) {
  ++report.index_entries;
  auto id = key.size() >= 16 ? Uuid::from_bytes(key.substr(0, 16)) : std::nullopt;
  if (!id) return differ(report, kind, to_hex(key), 1, 0), ok_status();
  PAWL_TRY(auto row, store.get(static_cast<uint8_t>(Space::Run), id->bytes()));
  if (!row) differ(report, kind, "of run " + id->text(), 1, 0);
  return ok_status();
}

Status check_runs(Store& store, VerifyReport& report) {
  PAWL_TRY_DO(
      each_row(store, Space::Run, [&](std::string_view key, std::string_view value) -> Status {
        PAWL_TRY(Run run, read_run(key, value));
        for (const IndexRow& expected : rows_of(run)) {
          PAWL_TRY(auto found, store.get(static_cast<uint8_t>(expected.space), expected.key));
          if (!found) differ(report, expected.kind, "of run " + run.id.text(), 0, run.version);
        }
        return ok_status();
      }));
  for (auto [space, kind] : {std::pair{Space::RunChild, "plan"},
                             {Space::Scope, "list of steps"},
                             {Space::Part, "text"},
                             {Space::Busy, "busy entry"}})
    PAWL_TRY_DO(each_row(store, space, [&, kind = kind](std::string_view key, std::string_view) {
      return check_belongs(store, kind, key, report);
    }));
  return ok_status();
}

}  // namespace

Status verify_index(Store& store, VerifyReport& report) {
  PAWL_TRY_DO(check_runs(store, report));
  PAWL_TRY_DO(
      each_row(store, Space::Job, [&](std::string_view key, std::string_view value) -> Status {
        PAWL_TRY(StoredJob stored, read_job(key, value));
        for (const IndexRow& expected : rows_of(stored)) {
          PAWL_TRY(auto found, store.get(static_cast<uint8_t>(expected.space), expected.key));
          if (!found)
            differ(report, expected.kind, "of job " + stored.job.id.text(), 0, stored.job.version);
        }
        return ok_status();
      }));
  for (auto [space, kind] : {std::pair{Space::Ready, "ready entry"},
                             {Space::Due, "timer entry"},
                             {Space::Unique, "unique entry"},
                             {Space::Dead, "dead letter entry"}})
    PAWL_TRY_DO(each_row(store, space,
                         [&, space = space, kind = kind](std::string_view key, std::string_view) {
                           return check_owner(store, space, kind, key, report);
                         }));
  return ok_status();
}

}  // namespace pawl
