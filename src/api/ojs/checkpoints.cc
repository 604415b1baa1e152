// Checkpoints: data that a job needs to continue after a crash. Three spellings read and write the
// same data:
//   PUT/POST, GET, DELETE /jobs/{id}/checkpoint       {state}
//   POST, GET, DELETE     /checkpoints/{id}           {state, step_index, metadata}
//   GET                   /checkpoints/{id}/resume    {has_checkpoint, checkpoint?}
//
// The kernel keeps one text per job, which is rendered after "state":. Members beside the state are
// kept as further members in that text, so they are returned beside the state everywhere.
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/routes.h"
#include "kernel/frame.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/job_notes.h"
#include "kernel/state.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kCheckpointBytesMax = 1u << 20;

Result<std::string> parse_checkpoint(const json::Doc& doc) {
  auto state = doc.root().find("state");
  if (!state)
    return Error{ErrorCode::InvalidRequest, "state is required", {{"$.state", "is required"}}};
  std::string text(state->raw());
  for (std::string_view name : {"step_index", "metadata"}) {
    auto value = doc.root().find(name);
    if (value && !value->is_null()) json::Writer(text).field_raw(name, value->raw());
  }
  if (text.size() > kCheckpointBytesMax)
    return Error{ErrorCode::TooLarge,
                 "a checkpoint is at most " + std::to_string(kCheckpointBytesMax) + " bytes"};
  return text;
}

bool has_checkpoint(const Job& job) { return job.extras && job.extras->checkpoint_sequence != 0; }

void write_members(json::Writer& w, const Job& job) {
  const JobExtras& extras = *job.extras;
  w.key("job_id").uuid(job.id).field_raw("state", extras.checkpoint);
  w.field_int("sequence", extras.checkpoint_sequence);
  w.field_time("created_at", extras.checkpoint_ms).field_time("updated_at", extras.checkpoint_ms);
  w.field_int("attempt", job.attempt);
}

// Flat, and the same under "checkpoint".
std::string checkpoint_body(const Job& job) {
  json::ObjectWriter w;
  write_members(w, job);
  w.key("checkpoint").begin_object();
  write_members(w, job);
  w.end_object();
  return w.close();
}

void save(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto text, parse_checkpoint(doc));
  decide_on(app, std::move(call), visible_job,
            [text = std::move(text)](Frame& frame, const Job* job) -> Reply {
              JobId job_id = job->id;
              PAWL_TRY_DO(save_checkpoint(frame, {job_id, text}));
              return json_response(Surface::Ojs, 200,
                                   checkpoint_body(*frame.state().find_job(job_id)));
            });
}

void get_checkpoint(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame&, const Job* job) -> Reply {
    if (!has_checkpoint(*job))
      return Error{ErrorCode::NotFound, "job " + job->id.text() + " has no checkpoint"};
    return json_response(Surface::Ojs, 200, checkpoint_body(*job));
  });
}

void remove_checkpoint(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame& frame, const Job* job) -> Reply {
    JobId job_id = job->id;
    PAWL_TRY_DO(delete_checkpoint(frame, job_id));
    json::ObjectWriter w;
    w.field_bool("deleted", true).key("job_id").uuid(job_id);
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void resume_from_checkpoint(App& app, Call&& call) {
  decide_on(app, std::move(call), visible_job, [](Frame&, const Job* job) -> Reply {
    json::ObjectWriter w;
    w.key("job_id").uuid(job->id);
    w.field_bool("has_checkpoint", has_checkpoint(*job));
    if (has_checkpoint(*job)) {
      w.key("checkpoint").begin_object();
      write_members(w, *job);
      w.end_object();
    }
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_checkpoint_routes(Router& router) {
  router.add({"PUT", "/ojs/v1/jobs/{id}/checkpoint", Permission::Worker, Routing::ById, save});
  router.add({"POST", "/ojs/v1/jobs/{id}/checkpoint", Permission::Worker, Routing::ById, save});
  router.add(
      {"GET", "/ojs/v1/jobs/{id}/checkpoint", Permission::Worker, Routing::ById, get_checkpoint});
  router.add({"DELETE", "/ojs/v1/jobs/{id}/checkpoint", Permission::Worker, Routing::ById,
              remove_checkpoint});
  router.add({"PUT", "/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, save});
  router.add({"POST", "/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, save});
  router.add(
      {"GET", "/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, get_checkpoint});
  router.add(
      {"DELETE", "/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, remove_checkpoint});
  router.add({"GET", "/ojs/v1/checkpoints/{id}/resume", Permission::Worker, Routing::ById,
              resume_from_checkpoint});
  // Two clients add the prefix to a path that already has it.
  router.add({"PUT", "/ojs/v1/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, save});
  router.add({"POST", "/ojs/v1/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById, save});
  router.add({"GET", "/ojs/v1/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById,
              get_checkpoint});
  router.add({"DELETE", "/ojs/v1/ojs/v1/checkpoints/{id}", Permission::Worker, Routing::ById,
              remove_checkpoint});
  router.add({"GET", "/ojs/v1/ojs/v1/checkpoints/{id}/resume", Permission::Worker, Routing::ById,
              resume_from_checkpoint});
}

}  // namespace pawl::api
