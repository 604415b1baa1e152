// Entities → rows: when they are written, and what may leave memory.
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/keys.h"
#include "kernel/mutable_state.h"
#include "kernel/run_family.h"
#include "kernel/scripts/run_parts.h"
#include "kernel/settings/doc.h"
#include "kernel/state_memory.h"

namespace pawl {
namespace {

ReadyKey ready_key(const JobPlaces& places, const JobId& id) {
  return {-places.priority, places.order, id};
}

}  // namespace

void MutableState::collect_job(Job& job, std::vector<Row>& out) {
  JobPlaces before = job.has_row ? job.places : JobPlaces{};
  JobPlaces now = job.current_places();
  auto move_row = [&](Space space, bool had, std::string old_key, bool has, std::string new_key) {
    if (had && (!has || old_key != new_key))
      out.push_back({space, std::move(old_key), std::nullopt});
    if (has && (!had || old_key != new_key)) out.push_back({space, std::move(new_key), ""});
  };
  if (before.ready || now.ready)
    move_row(Space::Ready, before.ready, ready_row_key(job.queue->name, ready_key(before, job.id)),
             now.ready, ready_row_key(job.queue->name, ready_key(now, job.id)));
  if (before.due_ms != 0 || now.due_ms != 0)
    move_row(Space::Due, before.due_ms != 0, due_row_key({before.due_ms, TimerKind::Job, job.id}),
             now.due_ms != 0, due_row_key({now.due_ms, TimerKind::Job, job.id}));
  if (before.dead != now.dead)
    move_row(Space::Dead, before.dead, job.id.bytes(), now.dead, job.id.bytes());
  if (before.unique != now.unique)
    move_row(Space::Unique, before.unique, unique_row_key(job.unique_key, job.id), now.unique,
             unique_row_key(job.unique_key, job.id));
  if (!job.forgotten) {
    out.push_back({Space::Job, job.id.bytes(), encode_job(job)});
  } else if (job.has_row) {
    out.push_back({Space::Job, job.id.bytes(), std::nullopt});
  }
  job.places = now;
  job.has_row = !job.forgotten;
}

void MutableState::collect_entity(Resident& entity, std::vector<Row>& out) {
  switch (entity.kind) {
    case EntityKind::Job:
      return collect_job(static_cast<Job&>(entity), out);
    case EntityKind::Queue: {
      auto& queue = static_cast<Queue&>(entity);
      out.push_back({Space::Queue, queue.name, encode_queue(queue)});
      return;
    }
    case EntityKind::Limit: {
      auto& limit = static_cast<Limit&>(entity);
      out.push_back({Space::Limit, limit.key, codec::encoded(limit)});
      return;
    }
    case EntityKind::Doc: {
      auto& doc = static_cast<Doc&>(entity);
      Row row{Space::Doc, doc_key(doc.doc_kind, doc.key), std::nullopt};
      if (!doc.deleted) row.value = codec::encoded(doc);
      out.push_back(std::move(row));
      return;
    }
    case EntityKind::Cron: {
      auto& cron = static_cast<Cron&>(entity);
      Row row{Space::Cron, cron.spec.name, std::nullopt};
      if (!cron.deleted) row.value = codec::encoded(cron);
      out.push_back(std::move(row));
      return;
    }
    case EntityKind::Run:
      return collect_run(static_cast<Run&>(entity), out);
  }
}

// Approximate bytes to write for it.
size_t MutableState::text_bytes(Resident& entity) const {
  if (entity.kind == EntityKind::Job) return static_cast<Job&>(entity).weight_bytes();
  if (entity.kind == EntityKind::Doc) return static_cast<Doc&>(entity).value.size();
  if (entity.kind != EntityKind::Run) return 0;
  Run& run = static_cast<Run&>(entity);
  return family_of(run).bytes_without_row(run, config_.part_bytes_min);
}

// If the large texts of a run are too large for one batch, they are written ahead, and the run
// keeps its place among the dirty entities.
bool MutableState::write_ahead(Resident& entity, std::vector<Row>& out, size_t bytes_max) {
  if (entity.kind != EntityKind::Run) return false;
  Run& run = static_cast<Run&>(entity);
  const RunFamily& family = family_of(run);
  if (run.forgotten || family.bytes_without_row(run, config_.part_bytes_min) <= bytes_max)
    return false;
  family.write_ahead(run_rows(), run, out, bytes_max);
  return true;
}

// Whether the rows of an earlier run of this id are still to be removed.
bool MutableState::is_buried(const RunId& id) const {
  return std::any_of(memory_->buried_runs.begin(), memory_->buried_runs.end(),
                     [&](const auto& buried) { return buried.first->id == id; });
}

// A run with many new lists comes first, before they are too many for one batch; then the entity
// that changed longest ago. No run comes before the deletion of an earlier run with its id.
Resident* MutableState::next_for_row() {
  while (!memory_->crowded_runs.empty()) {
    Run* run = memory_->runs.find(memory_->crowded_runs.front());
    bool waits = run != nullptr && run->dirty_since != 0 &&
                 family_of(*run).is_crowded(*run, config_.new_scopes_max);
    if (waits) return is_buried(run->id) ? memory_->dirty.oldest() : run;
    memory_->crowded_runs.pop_front();
  }
  return memory_->dirty.empty() ? nullptr : memory_->dirty.oldest();
}

bool MutableState::collect_rows(size_t max, std::vector<Row>& out, size_t bytes_max,
                                size_t entity_bytes_max) {
  std::vector<Resident*> set;
  size_t bytes = 0;
  size_t counted = 0;
  bool stopped = false;
  while (set.size() < max && bytes < bytes_max) {
    Resident* next = next_for_row();
    if (next == nullptr) break;
    Resident& entity = *next;
    stopped = entity_bytes_max != SIZE_MAX && text_bytes(entity) > entity_bytes_max;
    if (stopped) break;
    if (write_ahead(entity, out, bytes_max - bytes)) break;
    memory_->dirty.remove(entity);
    entity.dirty_since = 0;
    ++entity.in_flight;
    collect_entity(entity, out);
    set.push_back(&entity);
    for (; counted < out.size(); ++counted) bytes += out[counted].size();
  }
  for (const Row& row : out)
    if (row.space == Space::Part && row.text != nullptr)
      memory_->texts_in_memory.note(run_of_part(row.key), row.size());
  memory_->in_flight.push_back(std::move(set));
  return !stopped;
}

void MutableState::rows_durable() {
  PAWL_CHECK(!memory_->in_flight.empty());
  std::vector<Resident*> set = std::move(memory_->in_flight.front());
  memory_->in_flight.pop_front();
  for (Resident* entity : set) {
    --entity->in_flight;
    if (entity->kind == EntityKind::Job)
      static_cast<Job*>(entity)->row_durable = static_cast<Job*>(entity)->has_row;
    if (entity->kind == EntityKind::Run) {
      auto* run = static_cast<Run*>(entity);
      run->row_durable = run->has_row;
      family_of(*run).rows_durable(*run);
      if (run->row_durable)
        run->held.clear();  // written with the first row: read from disk from now on
    }
    if (entity->in_flight == 0 && entity->dirty_since == 0) settle(*entity);
  }
}

// The entity in memory equals its durable row: its index entries need no memory, and it may be
// evicted.
void MutableState::settle(Resident& entity) {
  if (entity.kind == EntityKind::Job) return settle_job(static_cast<Job&>(entity));
  if (entity.kind == EntityKind::Run) return settle_run(static_cast<Run&>(entity));
  if (entity.kind == EntityKind::Doc) {
    auto& doc = static_cast<Doc&>(entity);
    if (doc.deleted || is_numerous(doc.doc_kind)) {
      memory_->docs.erase(doc_key(doc.doc_kind, doc.key));
    } else {
      note_large(doc);
    }
  } else if (entity.kind == EntityKind::Cron && static_cast<Cron&>(entity).deleted) {
    memory_->crons.erase(static_cast<Cron&>(entity).spec.name);
  }
}

void MutableState::settle_job(Job& job) {
  if (job.forgotten) {
    if (memory_->buried.erase(&job) == 0) memory_->jobs.erase(job.id);
    return;
  }
  JobPlaces places = job.current_places();
  if (places.ready) job.queue->ready->settled(ready_key(places, job.id));
  if (places.due_ms != 0) memory_->timers.settled({places.due_ms, TimerKind::Job, job.id});
  auto [from, to] = memory_->unique_in_memory.equal_range(job.unique_key);
  for (auto at = from; at != to; ++at) {
    if (at->second != &job) continue;
    memory_->unique_in_memory.erase(at);
    break;
  }
  memory_->clean_jobs.push_newest(job, job.weight_bytes());
}

uint64_t State::tail_start(uint64_t next_sequence) const {
  return memory_->dirty.empty() ? next_sequence : memory_->dirty.oldest()->dirty_since;
}

void MutableState::evict() {
  auto is_on_disk = [&](const Uuid& id) {
    const Resident* entity = memory_->jobs.find(id);
    if (entity == nullptr) entity = memory_->runs.find(id);
    return entity == nullptr || (entity->dirty_since == 0 && entity->in_flight == 0);
  };
  for (Queue* queue : std::exchange(memory_->oversized_queues, {})) {
    queue->oversized = false;
    if (queue->ready->too_large())
      queue->ready->shrink([&](const ReadyKey& key) { return is_on_disk(key.job); });
  }
  if (memory_->timers.too_large())
    memory_->timers.shrink([&](const TimerKey& key) { return is_on_disk(key.id); });
  while (memory_->clean_jobs.size() > config_.resident_jobs_max ||
         memory_->clean_jobs.weight() > config_.resident_job_bytes_max) {
    Job* job = static_cast<Job*>(memory_->clean_jobs.oldest());
    memory_->clean_jobs.remove(*job);
    memory_->jobs.erase(job->id);
  }
  while (memory_->clean_runs.size() > config_.resident_runs_max ||
         memory_->clean_runs.weight() > config_.resident_run_bytes_max) {
    Run* run = static_cast<Run*>(memory_->clean_runs.oldest());
    memory_->clean_runs.remove(*run);
    memory_->runs.erase(run->id);
  }
  if (memory_->docs.size() > config_.docs_max)
    std::erase_if(memory_->docs, [](const auto& entry) {
      const Doc& doc = *entry.second;
      return is_numerous(doc.doc_kind) && doc.dirty_since == 0 && doc.in_flight == 0;
    });
  evict_large_docs();
  release_plans();
}

void MutableState::release_texts() {
  if (memory_->texts_in_memory.bytes() <= config_.resident_text_bytes_max) return;
  for (const RunId& id : memory_->texts_in_memory.take()) {
    if (Run* run = memory_->runs.find(id)) family_of(*run).release_texts(run_rows(), *run);
  }
}

StateCounts State::counts() const {
  return {.jobs_resident = memory_->jobs.size(),
          .runs_resident = memory_->runs.size(),
          .dirty = memory_->dirty.size(),
          .queues = memory_->queues.size()};
}

}  // namespace pawl
