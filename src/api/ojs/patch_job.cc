// PATCH /jobs/{id}: changes priority, scheduled_at, meta and tags of a waiting job. All other
// members are fixed.
#include "api/app.h"
#include "api/body.h"
#include "api/decide_on.h"
#include "api/merge_patch.h"
#include "api/routes.h"
#include "base/time.h"
#include "kernel/frame.h"
#include "kernel/jobs/change_job.h"
#include "kernel/jobs/job.h"
#include "kernel/state.h"
#include "plan/ojs/parse_job.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

struct Wish {
  std::optional<int32_t> priority;
  std::optional<int64_t> scheduled_ms;
  std::string scheduled_text;  // echoed unchanged
  std::string meta;            // a merge patch
  std::string tags;

  bool changes_spec() const { return scheduled_ms || priority || !meta.empty() || !tags.empty(); }
};

Error unsupported(std::string_view name, std::string_view reason) {
  return Error{ErrorCode::Unsupported,
               std::string(name) + " cannot be changed: " + std::string(reason),
               {{"$." + std::string(name), "cannot be changed"}}};
}

// The members that a PATCH may name, at the top or in `options`.
Status refuse_others(json::View object) {
  std::optional<Error> refusal;
  object.each_member([&](json::View key, json::View value) {
    std::string name = key.string();
    for (std::string_view known :
         {"priority", "scheduled_at", "delay_until", "meta", "tags", "options"})
      if (name == known) return;
    if (refusal || value.is_null()) return;
    refusal = unsupported(name, name == "queue"
                                    ? "a queue's order and counts are its own; cancel the job and "
                                      "push it to the other queue"
                                    : "it was settled when the job was pushed; cancel the job and "
                                      "push another");
  });
  if (refusal) return *refusal;
  return ok_status();
}

Status read_time(Fields& fields, int64_t now_ms, Wish& wish) {
  for (std::string_view name : {"scheduled_at", "delay_until"}) {
    auto value = fields.object().find(name);
    if (!value) continue;
    if (value->is_null()) {
      wish.scheduled_ms = 0;
      continue;
    }
    std::string text = value->is_string() ? value->string() : "";
    auto at = parse_when(text, now_ms);
    if (!at.ok()) {
      fields.complain(name, "must be an RFC 3339 time, '+' and an ISO 8601 duration, or null");
      continue;
    }
    wish.scheduled_ms = *at;
    wish.scheduled_text = text[0] == '+' ? "" : text;
  }
  return ok_status();
}

void read_tags(Fields& fields, Wish& wish) {
  auto value = fields.find("tags");
  if (!value) return;
  if (fields.texts("tags").size() > kTagsMax)
    fields.complain("tags", "must be at most " + std::to_string(kTagsMax) + " strings");
  wish.tags = value->raw();
}

Status read_members(json::View object, const std::string& path, int64_t now_ms, Wish& wish) {
  Fields fields(object, path);
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  PAWL_TRY_DO(refuse_others(object));
  if (fields.has("priority"))
    wish.priority =
        static_cast<int32_t>(fields.integer("priority", 0, kPriorityLeast, kPriorityMost));
  PAWL_TRY_DO(read_time(fields, now_ms, wish));
  read_tags(fields, wish);
  if (auto meta = fields.find("meta")) {
    if (!meta->is_object()) fields.complain("meta", "must be an object");
    for (std::string_view own : {"tenant_id", "cron_name"})
      if (meta->find(own)) fields.complain("meta." + std::string(own), "is the server's own");
    wish.meta = meta->raw();
  }
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  return ok_status();
}

Result<Wish> parse_wish(const json::Doc& doc, int64_t now_ms) {
  Wish wish;
  PAWL_TRY_DO(read_members(doc.root(), "$", now_ms, wish));
  if (auto options = doc.root().find("options"); options && !options->is_null())
    PAWL_TRY_DO(read_members(*options, "$.options", now_ms, wish));
  if (!wish.changes_spec())
    return Error{ErrorCode::InvalidRequest,
                 "nothing to change: priority, scheduled_at, meta or tags is needed"};
  return wish;
}

// The options of the push, updated by the changes.
Result<std::string> options_after(std::string_view options, const Wish& wish) {
  if (options.empty()) return std::string();
  json::ObjectWriter w;
  if (wish.priority) w.field_int("priority", *wish.priority);
  PAWL_TRY(json::Doc old, json::parse(options, {.depth_max = 128}));
  for (std::string_view name : {"scheduled_at", "delay_until"}) {
    if (!wish.scheduled_ms || !old.root().find(name)) continue;
    w.key(name);
    if (*wish.scheduled_ms == 0) {
      w.null();
    } else {
      w.time(*wish.scheduled_ms);
    }
  }
  if (!wish.tags.empty() && old.root().find("tags")) w.field_raw("tags", wish.tags);
  std::string patch_job = w.close();
  PAWL_TRY(json::Doc changes, json::parse(patch_job, {.depth_max = 128}));
  return merge_patch(old.root(), changes.root());
}

Result<std::string> spec_after(const Job& job, const Wish& wish) {
  JobSpec spec;
  if (!codec::decode(job.spec, spec))
    return Error{ErrorCode::Corrupt, "job " + job.id.text() + " cannot be read"};
  if (!wish.meta.empty()) {
    PAWL_TRY(json::Doc old, json::parse(spec.meta, {.depth_max = 128}));
    PAWL_TRY(json::Doc patch_job, json::parse(wish.meta, {.depth_max = 128}));
    std::string meta = merge_patch(old.root(), patch_job.root());
    if (meta.size() > kMetaBytesMax)
      return Error{ErrorCode::TooLarge, "meta must be at most 64 KiB"};
    spec.meta = std::move(meta);
  }
  if (!wish.tags.empty()) spec.tags = wish.tags;
  if (wish.scheduled_ms) spec.scheduled_text = wish.scheduled_text;
  PAWL_TRY(spec.options, options_after(spec.options, wish));
  return codec::encoded(spec);
}

std::string body_of(const State& state, const Job& job, int32_t priority_before) {
  json::ObjectWriter w;
  render_job_members(w, job);
  w.field_int("previous_priority", priority_before).key("job");
  render_job(w, state, job);
  return w.close();
}

void patch_job(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  PAWL_TRY_CALL(call, auto wish, parse_wish(doc, app.clock().now_ms()));
  decide_on(app, std::move(call), visible_job,
            [wish = std::move(wish)](Frame& frame, const Job* job) -> Reply {
              int32_t before = job->priority;
              ChangeJob command{job->id, wish.priority, wish.scheduled_ms};
              PAWL_TRY(command.spec, spec_after(*job, wish));
              PAWL_TRY_DO(change_job(frame, command));
              const State& state = frame.state();
              return json_response(Surface::Ojs, 200,
                                   body_of(state, *state.find_job(command.job), before));
            });
}

}  // namespace

void add_patch_job_routes(Router& router) {
  router.add({"PATCH", "/ojs/v1/jobs/{id}", Permission::Write, Routing::ById, patch_job});
  router.add({"PATCH", "/ojs/v1/admin/jobs/{id}", Permission::Operate, Routing::ById, patch_job});
}

}  // namespace pawl::api
