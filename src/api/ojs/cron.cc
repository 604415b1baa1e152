// Cron entries: jobs pushed by the clock.
#include <utility>
#include <vector>

#include "api/app.h"
#include "api/body.h"
#include "api/keyed_list.h"
#include "api/merge_patch.h"
#include "api/ojs/parse_cron.h"
#include "api/routes.h"
#include "base/quote.h"
#include "kernel/frame.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"
#include "wire/render_job.h"

namespace pawl::api {
namespace {

constexpr size_t kCronsMax = 10'000;
constexpr size_t kCronsListedUsual = 100;

// Schedules of /v1 are not visible here.
const Cron* find_entry(const State& state, const std::string& scoped) {
  const Cron* cron = state.find_cron(scoped);
  return cron != nullptr && cron->spec.source == CronSource::Cron ? cron : nullptr;
}

std::string no_such_cron(std::string_view scoped) {
  return "cron '" + std::string(queue_of_scoped(scoped)) + "' not found";
}

// "cron": {…} and, for clients of the other spelling, the same under "cron_job".
void write_both(json::Writer& w, const Cron& cron) {
  for (std::string_view name : {"cron", "cron_job"}) {
    w.key(name);
    render_cron(w, cron);
  }
}

std::string body_of(const Cron& cron) {
  json::ObjectWriter w;
  write_both(w, cron);
  render_cron_members(w, cron);
  return w.close();
}

Status has_room(const State& state, const std::string& scoped) {
  if (state.find_cron(scoped) != nullptr) return ok_status();
  size_t count = 0;
  state.each_cron([&](const Cron&) { return ++count < kCronsMax; });
  if (count < kCronsMax) return ok_status();
  return Error{ErrorCode::Overloaded, "the server has as many cron entries as it may hold"};
}

void put_cron(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  std::string name = call.params.empty() ? "" : call.params[0];
  PAWL_TRY_CALL(call, auto cron, parse_cron(doc, name, call.tenant));
  app.decide(std::move(call), [cron](Frame& frame) -> Reply {
    PAWL_TRY_DO(has_room(frame.state(), cron.name));
    PAWL_TRY(bool created, put_cron(frame, cron));
    return json_response(Surface::Ojs, created ? 201 : 200,
                         body_of(*frame.state().find_cron(cron.name)));
  });
}

void list_as(App& app, Call&& call, std::vector<std::string_view> names) {
  std::string enabled = call.query("enabled");
  if (!enabled.empty() && enabled != "true" && enabled != "false")
    return call.fail({ErrorCode::InvalidRequest, "enabled must be true or false"});
  answer_keyed_list(
      app, std::move(call), std::move(names), kCronsListedUsual,
      [enabled](const Frame& frame, KeyedList& list_crons) {
        frame.state().each_cron([&](const Cron& cron) {
          bool wanted = enabled.empty() || (enabled == "true") == !cron.spec.paused;
          if (cron.spec.source == CronSource::Cron && wanted && list_crons.takes(cron.spec.name))
            render_cron(list_crons.writer(), cron);
          return true;
        });
      });
}
void list_crons(App& app, Call&& call) { list_as(app, std::move(call), {"crons", "cron_jobs"}); }
void list_crons_for_admin(App& app, Call&& call) { list_as(app, std::move(call), {"items"}); }

// The members of a cron's job, at any place in the request.
bool is_of_job(std::string_view name) {
  for (std::string_view known : {"type", "args", "meta", "options"})
    if (name == known) return true;
  return is_job_option(name);
}

// Members of one object, each once: of two under one name the later one counts.
class Members {
 public:
  void set(const std::string& name, std::string_view raw) {
    for (auto& [known, value] : members_)
      if (known == name) return value = raw, void();
    members_.emplace_back(name, raw);
  }
  bool empty() const { return members_.empty(); }
  std::string text() const {
    json::ObjectWriter w;
    for (const auto& [name, raw] : members_) w.field_raw(name, raw);
    return w.close();
  }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// Normalizes a patch: {"job_template": {…, "options": {…}}, …}. Members beside the template
// override those in it; options are moved into `options`.
class NormalPatch {
 public:
  Result<std::string> of(json::View patch_cron) {
    auto job_template = patch_cron.find("job_template");
    if (job_template && !job_template->is_object())
      return Error{ErrorCode::InvalidRequest,
                   "job_template must be an object",
                   {{"$.job_template", "must be an object"}}};
    if (job_template) take_job(*job_template);
    take_job(patch_cron, true);
    patch_cron.each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      if (is_of_job(name) || name == "job_template" || name == "name" || name == "id") return;
      bool is_expression = name == "cron" || name == "schedule";
      entry_.set(is_expression ? "expression" : name, value.raw());
    });
    if (!options_.empty() && no_object_)
      return Error{ErrorCode::InvalidRequest,
                   "options must be an object where other members of the patch belong into it; set "
                   "those options to null that shall go",
                   {{"$.options", "must be an object"}}};
    if (!options_.empty()) job_.set("options", options_.text());
    if (!job_.empty()) entry_.set("job_template", job_.text());
    return entry_.text();
  }

 private:
  // `options` takes precedence over members beside it, as in a push.
  void take_job(json::View object, bool known_only = false) {
    object.each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      if (name == "options") return;
      if (is_job_option(name)) return options_.set(name, value.raw());
      if (!known_only || is_of_job(name)) job_.set(name, value.raw());
    });
    auto options = object.find("options");
    if (!options) return;
    if (options->is_object())
      return options->each_member(
          [&](json::View key, json::View value) { options_.set(key.string(), value.raw()); });
    no_object_ = true;
    job_.set("options", options->raw());
  }

  Members entry_;
  Members job_;
  Members options_;
  bool no_object_ = false;  // options is null, or nonsense
};

// The entry as a PUT would send it.
std::string as_request(const CronSpec& spec, std::string_view overlap) {
  json::ObjectWriter w;
  w.field("expression", spec.expression).field("timezone", spec.timezone);
  w.field("overlap_policy", overlap).field_bool("enabled", !spec.paused);
  if (!spec.description.empty()) w.field_raw("description", spec.description);
  json::ObjectWriter j;
  render_job_template(j, spec);
  std::string job = j.close();
  auto envelope = json::parse(job, {.depth_max = 128});
  w.field_raw("job_template", envelope.ok() ? with_options_gathered(envelope->root()) : job);
  return w.close();
}

Result<CronSpec> patched(const CronSpec& old, const std::string& patch_cron,
                         std::string_view tenant) {
  std::string before = as_request(old, overlap_name(old.overlap));
  PAWL_TRY(json::Doc target, json::parse(before, {.depth_max = 128}));
  PAWL_TRY(json::Doc changes, json::parse(patch_cron, {.depth_max = 128}));
  std::string after = merge_patch(target.root(), changes.root());
  PAWL_TRY(json::Doc doc, json::parse(after, {.depth_max = 128}));
  return parse_cron(doc, queue_of_scoped(old.name), tenant);
}

Status refuse_unknown(json::View patch_cron) {
  std::optional<Error> refusal;
  patch_cron.each_member([&](json::View key, json::View) {
    std::string name = key.string();
    bool known = is_of_job(name);
    for (std::string_view own :
         {"name", "id", "cron", "expression", "schedule", "timezone", "overlap_policy", "enabled",
          "paused", "description", "job_template"})
      known |= name == own;
    if (!known && !refusal)
      refusal = Error{ErrorCode::InvalidRequest,
                      in_quotes(name) + " is nothing that a cron entry has",
                      {{"$." + name, "is unknown"}}};
  });
  if (refusal) return *refusal;
  return ok_status();
}

void patch_cron(App& app, Call&& call) {
  PAWL_TRY_CALL(call, auto doc, parse_body(call));
  if (Status good = refuse_unknown(doc.root()); !good.ok()) return call.fail(good.error());
  if (doc.root().size() == 0) return call.fail({ErrorCode::InvalidRequest, "nothing to change"});
  PAWL_TRY_CALL(call, auto wish, NormalPatch().of(doc.root()));
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  std::string tenant = call.tenant;
  app.decide(std::move(call), [scoped, tenant, wish](Frame& frame) -> Reply {
    const Cron* cron = find_entry(frame.state(), scoped);
    if (cron == nullptr) return Error{ErrorCode::NotFound, no_such_cron(scoped)};
    PAWL_TRY(CronSpec spec, patched(cron->spec, wish, tenant));
    spec.created_ms = cron->spec.created_ms;
    PAWL_TRY_DO(put_cron(frame, std::move(spec)));
    return json_response(Surface::Ojs, 200, body_of(*frame.state().find_cron(scoped)));
  });
}

// Changes one existing entry by `act`; the answer shows the changed entry.
void change_cron(App& app, Call&& call, Status (*act)(Frame&, const Cron&)) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped, act](Frame& frame) -> Reply {
    const Cron* cron = find_entry(frame.state(), scoped);
    if (cron == nullptr) return Error{ErrorCode::NotFound, no_such_cron(scoped)};
    if (act != nullptr) PAWL_TRY_DO(act(frame, *cron));
    return json_response(Surface::Ojs, 200, body_of(*frame.state().find_cron(scoped)));
  });
}

Status set_paused(Frame& frame, const Cron& cron, bool paused) {
  if (cron.spec.paused == paused) return ok_status();
  CronSpec spec = cron.spec;
  spec.paused = paused;
  PAWL_TRY_DO(put_cron(frame, std::move(spec)));
  return ok_status();
}

void get_cron(App& app, Call&& call) { change_cron(app, std::move(call), nullptr); }
void pause_cron(App& app, Call&& call) {
  change_cron(app, std::move(call),
              [](Frame& frame, const Cron& c) { return set_paused(frame, c, true); });
}
void resume_cron(App& app, Call&& call) {
  change_cron(app, std::move(call),
              [](Frame& frame, const Cron& c) { return set_paused(frame, c, false); });
}

void remove_cron(App& app, Call&& call) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped](Frame& frame) -> Reply {
    const Cron* cron = find_entry(frame.state(), scoped);
    if (cron == nullptr) return Error{ErrorCode::NotFound, no_such_cron(scoped)};
    json::ObjectWriter w;
    w.field_bool("deleted", true).field("name", queue_of_scoped(scoped));
    write_both(w, *cron);
    PAWL_TRY_DO(delete_cron(frame, scoped));
    return json_response(Surface::Ojs, 200, w.close());
  });
}

void trigger_cron(App& app, Call&& call) {
  std::string scoped = scoped_queue(call.tenant, call.params[0]);
  app.decide(std::move(call), [scoped](Frame& frame) -> Reply {
    if (find_entry(frame.state(), scoped) == nullptr)
      return Error{ErrorCode::NotFound, no_such_cron(scoped)};
    PAWL_TRY(JobId id, trigger_cron(frame, scoped));
    json::ObjectWriter w;
    w.field_bool("triggered", true).key("job_id").uuid(id).key("job");
    render_job(w, frame.state(), *frame.state().find_job(id));
    write_both(w, *frame.state().find_cron(scoped));
    return json_response(Surface::Ojs, 200, w.close());
  });
}

}  // namespace

void add_cron_routes(Router& router) {
  router.add({"GET", "/ojs/v1/cron", Permission::Read, Routing::Settings, list_crons});
  router.add({"POST", "/ojs/v1/cron", Permission::Write, Routing::Settings, put_cron});
  router.add({"GET", "/ojs/v1/cron/{name}", Permission::Read, Routing::Settings, get_cron});
  router.add({"PUT", "/ojs/v1/cron/{name}", Permission::Write, Routing::Settings, put_cron});
  router.add({"PATCH", "/ojs/v1/cron/{name}", Permission::Write, Routing::Settings, patch_cron});
  router.add({"DELETE", "/ojs/v1/cron/{name}", Permission::Write, Routing::Settings, remove_cron});
  // The admin UI's name for it.
  router.add({"GET", "/ojs/v1/crons", Permission::Read, Routing::Settings, list_crons_for_admin});
  router.add({"GET", "/ojs/v1/crons/{name}", Permission::Read, Routing::Settings, get_cron});
  router.add({"PATCH", "/ojs/v1/crons/{name}", Permission::Write, Routing::Settings, patch_cron});
  router.add({"DELETE", "/ojs/v1/crons/{name}", Permission::Write, Routing::Settings, remove_cron});
  router.add(
      {"POST", "/ojs/v1/cron/{name}/trigger", Permission::Write, Routing::Settings, trigger_cron});
  router.add(
      {"POST", "/ojs/v1/cron/{name}/pause", Permission::Operate, Routing::Settings, pause_cron});
  router.add(
      {"POST", "/ojs/v1/cron/{name}/resume", Permission::Operate, Routing::Settings, resume_cron});
  router.add(
      {"POST", "/ojs/v1/cron/{name}/disable", Permission::Operate, Routing::Settings, pause_cron});
  router.add(
      {"POST", "/ojs/v1/cron/{name}/enable", Permission::Operate, Routing::Settings, resume_cron});
}

}  // namespace pawl::api
