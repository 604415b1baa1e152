#include "kernel/testing/world.h"

#include "kernel/cold.h"
#include "kernel/fire_timers.h"
#include "kernel/jobs/queue.h"
#include "kernel/mutable_state.h"
#include "kernel/settings/settings.h"
#include "kernel/state_config.h"

namespace pawl {

std::optional<std::string> MapCold::get(Space space, std::string_view key) {
  check();
  ++gets[space];
  auto at = rows[space].find(key);
  return at == rows[space].end() ? std::nullopt : std::optional(at->second);
}

void MapCold::scan(Space space, std::string_view from, std::string_view to, bool reverse,
                   size_t limit, FunctionRef<bool(std::string_view, std::string_view)> visit) {
  check();
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [key, value] : rows[space])
    if (key >= from && (to.empty() || key < to)) found.emplace_back(key, value);
  if (reverse) found.assign(found.rbegin(), std::vector(found).rend());
  for (size_t i = 0; i < found.size() && i < limit; ++i)
    if (!visit(found[i].first, found[i].second)) return;
}

void MapCold::write(const std::vector<Row>& written) {
  for (const Row& row : written) {
    if (row.text || row.value) {
      rows[row.space][row.key] = row.text ? *row.text : *row.value;
    } else {
      rows[row.space].erase(row.key);
    }
  }
}

void MapCold::check() const {
  if (broken) throw Unreadable{Error{ErrorCode::StoreFailed, "the disk failed"}};
}

NewJob new_job(NewJob base, const TestSpec& wanted) {
  JobSpec spec;
  spec.type = base.type.empty() ? "t" : base.type;
  spec.args = "[]";
  spec.retry = codec::encoded(wanted.retry);
  spec.timeout_ms = wanted.timeout_ms;
  spec.visibility_ms = wanted.visibility_ms;
  base.type = spec.type;
  base.spec = codec::encoded(spec);
  base.max_attempts = wanted.retry.max_attempts;
  if (base.queue.empty()) base.queue = "q";
  return base;
}

World::World(const StateConfig& config)
    : config_(config), state_(std::make_unique<MutableState>(cold, config)) {}

std::string World::frame(FunctionRef<std::string(Frame&)> decide) {
  std::string refusal;
  {
    Frame opened(*state_, record_, now_ms, mix64(++inputs_));
    refusal = decide(opened);
  }
  std::string line = close_record();
  if (refusal.empty()) return line;
  return line == "nothing" ? refusal : line + " | " + refusal;
}

std::string World::push(const std::vector<NewJob>& jobs) {
  return frame([&](Frame& frame) -> std::string {
    auto pushed = push_jobs(frame, jobs);
    if (!pushed.ok()) return refused(pushed.error());
    std::string line;
    for (const Pushed& one : *pushed)
      if (!one.created) line += (line.empty() ? "" : " ") + names.of(one.id) + " is there";
    return line;
  });
}

std::string World::fetch(FetchJobs command) {
  if (command.queues.empty()) command.queues = {"q"};
  if (command.worker.empty()) command.worker = "w1";
  command.visibility_default_ms = kTestLeaseMs;
  return frame([&](Frame& frame) -> std::string {
    Fetched fetched = fetch_jobs(frame, command);
    return fetched.retry_at_ms == 0 ? "" : "again +" + std::to_string(fetched.retry_at_ms - now_ms);
  });
}

std::string World::ack(const std::string& job, const std::string& worker, uint32_t attempt,
                       const std::string& result) {
  return frame([&](Frame& f) {
    return refused(ack_job(f, {names.id(job), worker, attempt}, result));
  });
}

std::string World::nack(const std::string& job, JobError error) {
  return nack(NackJob{{names.id(job), "", 0}, std::move(error), false});
}

std::string World::nack(const NackJob& command) {
  return frame([&](Frame& f) { return refused(nack_job(f, command)); });
}

std::string World::give_back(const std::string& job) {
  return nack(NackJob{{names.id(job), "", 0}, {}, true});
}

std::string World::extend(const std::string& job, const std::string& worker, int64_t asked_ms) {
  return frame([&](Frame& f) -> std::string {
    bool renewed = extend_lease(f, {names.id(job), worker, 0}, asked_ms, kTestLeaseMs);
    return renewed ? "" : "not renewed";
  });
}

std::string World::cancel(const std::string& job) {
  return frame([&](Frame& f) { return refused(cancel_job(f, names.id(job), "asked")); });
}

std::string World::activate(const std::string& job) {
  return frame([&](Frame& f) { return refused(activate_job(f, names.id(job))); });
}

std::string World::revive(const std::string& job) {
  return frame([&](Frame& f) { return refused(revive_job(f, names.id(job))); });
}

std::string World::drop_dead(const std::string& job) {
  return frame([&](Frame& f) { return refused(delete_dead(f, names.id(job))); });
}

std::string World::configure(const std::string& queue, FunctionRef<void(QueueSettings&)> edit) {
  return frame([&](Frame& f) { return refused(configure_queue(f, queue, edit)); });
}

std::string World::advance(int64_t ms) {
  now_ms += ms;
  return frame([&](Frame& f) -> std::string {
    while (fire_timers(f, 7)) {
    }
    return "";
  });
}

const Job& World::job(const std::string& name) const {
  const Job* found = state_->find_job(names.id(name));
  PAWL_CHECK(found != nullptr);
  return *found;
}

std::string_view World::state_of(const std::string& name) const {
  const Job* found = state_->find_job(names.id(name));
  return found == nullptr ? "gone" : state_name(found->state);
}

std::string World::take_ready() {
  std::string line;
  for (const Queue* queue : state_->take_ready_queues())
    line += (line.empty() ? "" : " ") + queue->name;
  return line;
}

void World::collect(size_t max) {
  std::vector<Row> rows;
  state_->collect_rows(max, rows);
  written_.emplace_back(std::move(rows), state_->tail_start(record_.next_sequence()));
}

void World::commit_rows() {
  if (written_.empty()) return;
  cold.write(written_.front().first);
  tail_ = written_.front().second;
  written_.pop_front();
  state_->rows_durable();
}

std::unique_ptr<MutableState> World::recovered(Cold& rows) const {
  auto state = std::make_unique<MutableState>(rows, config_);
  PAWL_CHECK(state->load().ok());
  PAWL_CHECK(fold(*state, journal::record_of(tail_)).ok());
  return state;
}

void World::restart() {
  state_ = nullptr;
  written_.clear();
  state_ = recovered(cold);
  state_->take_ready_queues();
}

Status World::fold(MutableState& state, uint64_t from) const {
  for (uint64_t number = std::max<uint64_t>(from, 1); number <= journal_.size(); ++number) {
    PAWL_TRY(auto events, journal::read_record(number, journal_[number - 1]));
    for (const auto& event : events) PAWL_TRY_DO(state.fold(event));
  }
  return ok_status();
}

std::string World::refused(const Error& error) {
  return "rejected " + std::string(wire_code(error.code)) + ": " + names.rename(error.message);
}

std::string World::close_record() {
  if (record_.empty()) return "nothing";
  uint64_t number = record_.number();
  journal_.push_back(record_.finish());
  record_.reset(number + 1);
  return EventStory(names).tell(number, journal_.back());
}

}  // namespace pawl
