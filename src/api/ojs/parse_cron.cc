#include "api/ojs/parse_cron.h"

#include "api/body.h"
#include "base/ascii.h"
#include "base/cron.h"
#include "base/quote.h"
#include "base/tz.h"
#include "kernel/cold.h"
#include "kernel/jobs/queue.h"
#include "kernel/settings/doc.h"
#include "plan/ojs/parse_job.h"

namespace pawl::api {
namespace {

constexpr size_t kCronDescriptionBytesMax = 4096;

Status refuse_fixed_members(json::View envelope, const std::string& path) {
  auto options = envelope.find("options");
  for (std::string_view name : {"delay_until", "scheduled_at", "expires_at"}) {
    bool inside = options && options->find(name) && !options->find(name)->is_null();
    auto beside = envelope.find(name);
    if (inside || (beside && !beside->is_null()))
      return Error{ErrorCode::InvalidContent,
                   std::string(name) + " cannot stand in a cron's job: it is pushed when it is due",
                   {{path + ".options." + std::string(name), "is not allowed here"}}};
  }
  if (auto id = envelope.find("id"); id && !id->is_null())
    return Error{ErrorCode::InvalidContent,
                 "id cannot stand in a cron's job: every run is a job of its own",
                 {{path + ".id", "is not allowed here"}}};
  return ok_status();
}

}  // namespace

Result<std::string> parse_job_template(const std::string& text, const std::string& path,
                                       std::string_view cron_name, std::string_view tenant) {
  PAWL_TRY(json::Doc doc, json::parse(text));
  if (doc.root().is_object()) PAWL_TRY_DO(refuse_fixed_members(doc.root(), path));
  // Jobs of crons often have no args, and clients omit them.
  auto args = doc.root().find("args");
  if (doc.root().is_object() && (!args || args->is_null())) {
    std::string whole = text.substr(0, text.rfind('}'));
    json::Writer(whole).field_raw("args", "[]").end_object();
    return parse_job_template(whole, path, cron_name, tenant);
  }
  EnvelopeRules rules{.now_ms = 0, .tenant = tenant, .cron_name = cron_name};
  PAWL_TRY(NewJob job, parse_job(doc.root(), rules, path));
  return codec::encoded(job);
}

namespace {

constexpr std::pair<std::string_view, CronOverlap> kCronOverlaps[] = {
    {"skip", CronOverlap::Skip},
    {"allow", CronOverlap::Allow},
    {"cancel_previous", CronOverlap::CancelPrevious},
    {"enqueue", CronOverlap::Enqueue}};

}  // namespace

std::string_view overlap_name(CronOverlap overlap) {
  for (const auto& [name, value] : kCronOverlaps)
    if (value == overlap) return name;
  return "";
}

namespace {

bool is_own_member(std::string_view name) {
  for (std::string_view own :
       {"name", "cron", "expression", "schedule", "timezone", "overlap_policy", "enabled", "paused",
        "description", "job_template", "next_run_at", "last_run_at", "created_at", "updated_at"})
    if (own == name) return true;
  return false;
}

// The job's envelope from an entry that has the job's members beside its own.
std::string envelope_of(json::View entry) {
  json::ObjectWriter w;
  entry.each_member([&](json::View key, json::View value) {
    if (!is_own_member(key.string())) w.key(key.string()).raw(value.raw());
  });
  return w.close();
}

Result<std::string> parse_template(Fields& fields, const std::string& name,
                                   std::string_view tenant) {
  auto given = fields.find("job_template");
  std::string text = given ? std::string(given->raw()) : envelope_of(fields.object());
  PAWL_TRY(json::Doc envelope, json::parse(text, {.depth_max = 128}));
  if (envelope.root().is_object()) text = with_options_gathered(envelope.root());
  return parse_job_template(text, given ? "$.job_template" : "$", name, tenant);
}

Status check_schedule(const CronSpec& cron) {
  auto schedule = CronSchedule::parse(cron.expression);
  if (!schedule.ok())
    return Error{ErrorCode::InvalidContent,
                 "expression: " + schedule.error().message,
                 {{"$.expression", schedule.error().message}}};
  auto zone = TimeZone::find(cron.timezone);
  if (!zone.ok())
    return Error{ErrorCode::InvalidContent,
                 "timezone: " + zone.error().message,
                 {{"$.timezone", zone.error().message}}};
  return ok_status();
}

Result<CronOverlap> parse_overlap(Fields& fields) {
  std::string given = fields.text("overlap_policy", "skip");
  for (const auto& [name, value] : kCronOverlaps)
    if (name == given) return value;
  return Error{
      ErrorCode::InvalidContent,
      "overlap_policy must be skip, allow, cancel_previous or enqueue, not " + in_quotes(given),
      {{"$.overlap_policy", "is unknown"}}};
}

}  // namespace

Result<CronSpec> parse_cron(const json::Doc& doc, std::string_view name_of_path,
                            std::string_view tenant) {
  Fields fields(doc.root());
  CronSpec cron;
  std::string name =
      name_of_path.empty() ? fields.required_text("name") : std::string(name_of_path);
  if (name.size() > kCronNameBytesMax || !is_printable(name))
    fields.complain("name", "must be at most 255 bytes of printable text");
  std::string_view spelling = fields.has("expression") ? "expression"
                              : fields.has("cron")     ? "cron"
                              : fields.has("schedule") ? "schedule"
                                                       : "expression";
  cron.expression = fields.required_text(spelling);
  cron.timezone = fields.text("timezone", "UTC");
  cron.paused = !fields.boolean("enabled", true) || fields.boolean("paused", false);
  if (fields.text("description").size() > kCronDescriptionBytesMax)
    fields.complain("description", "must be at most 4096 bytes");
  cron.description = fields.raw("description");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  PAWL_TRY(cron.overlap, parse_overlap(fields));
  PAWL_TRY_DO(check_schedule(cron));
  PAWL_TRY(cron.job, parse_template(fields, name, tenant));
  cron.name = scoped_queue(tenant, name);
  return cron;
}

bool is_job_option(std::string_view name) {
  for (std::string_view option : {"queue", "priority", "retry", "timeout_ms", "tags", "unique",
                                  "visibility_timeout_ms", "rate_limit", "pending"})
    if (name == option) return true;
  return false;
}

std::string with_options_gathered(json::View envelope) {
  auto options = envelope.find("options");
  bool has_options = options && !options->is_null();
  if (has_options && !options->is_object()) return std::string(envelope.raw());
  json::ObjectWriter into;
  if (has_options)
    options->each_member([&](json::View key, json::View value) {
      if (!value.is_null()) into.key(key.string()).raw(value.raw());
    });
  json::ObjectWriter w;
  envelope.each_member([&](json::View key, json::View value) {
    std::string name = key.string();
    if (name == "options") return;
    if (!is_job_option(name)) {
      w.key(name).raw(value.raw());
      return;
    }
    auto inside = has_options ? options->find(name) : std::nullopt;
    if (!value.is_null() && (!inside || inside->is_null())) into.key(name).raw(value.raw());
  });
  std::string gathered = into.close();
  if (gathered != "{}") w.field_raw("options", gathered);
  return w.close();
}

void render_job_template(json::Writer& w, const CronSpec& cron) {
  NewJob job;
  JobSpecView spec;
  if (!codec::decode(cron.job, job) || !codec::decode(job.spec, spec))
    unreadable_row("cron", cron.name);
  w.field("type", spec.type).field_raw("args", spec.args).field_raw("meta", spec.meta);
  w.field("queue", queue_of_scoped(job.queue));
  if (!spec.options.empty()) w.field_raw("options", spec.options);
  if (!spec.extra.empty()) w.raw(spec.extra);
}

void render_cron(json::Writer& w, const Cron& cron) {
  const CronSpec& spec = cron.spec;
  w.begin_object();
  render_cron_members(w, cron);
  w.field("cron", spec.expression).end_object();
}

void render_cron_members(json::Writer& w, const Cron& cron) {
  const CronSpec& spec = cron.spec;
  w.field("name", queue_of_scoped(spec.name)).field("id", queue_of_scoped(spec.name));
  if (auto tenant = tenant_of_scoped(spec.name); !tenant.empty()) w.field("tenant_id", tenant);
  w.field("expression", spec.expression).field("schedule", spec.expression);
  w.field("timezone", spec.timezone).field("overlap_policy", overlap_name(spec.overlap));
  w.field_bool("enabled", !spec.paused).field("status", spec.paused ? "paused" : "active");
  w.key("job_template").begin_object();
  render_job_template(w, spec);
  w.end_object();
  render_job_template(w, spec);
  if (!spec.description.empty()) w.field_raw("description", spec.description);
  if (!spec.paused && cron.next_ms != 0) w.field_time("next_run_at", cron.next_ms);
  w.field_time_if_set("last_run_at", cron.last_ms);
  if (!cron.last_job.is_nil()) w.key("last_job_id").uuid(cron.last_job);
  w.field_time("created_at", spec.created_ms);
}

}  // namespace pawl::api
