#include "api/schedule_body.h"

#include "api/definition_faults.h"
#include "api/ojs/parse_cron.h"
#include "base/ascii.h"
#include "base/cron.h"
#include "base/quote.h"
#include "base/time.h"
#include "base/tz.h"
#include "kernel/jobs/job.h"
#include "kernel/run_family.h"
#include "kernel/settings/cron_jobs.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"
#include "plan/ojs/queue_name.h"

namespace pawl::api {
namespace {

constexpr int64_t kEveryMsMin = 1'000;
constexpr int64_t kEveryMsMax = int64_t{366} * 86'400'000;
constexpr int64_t kJitterMsMax = 86'400'000;
constexpr size_t kScheduleDescriptionBytesMax = 4096;
constexpr size_t kInputsBytesMax = 1 << 20;

constexpr std::pair<std::string_view, CronOverlap> kScheduleOverlaps[] = {
    {"skip", CronOverlap::Skip}, {"queue", CronOverlap::Queue}, {"allow", CronOverlap::Allow}};

std::string_view schedule_overlap_name(CronOverlap overlap) {
  for (const auto& [name, value] : kScheduleOverlaps)
    if (value == overlap) return name;
  return "";
}

int64_t duration_of(Fields& fields, std::string_view name, int64_t least_ms, int64_t most_ms) {
  std::string text = fields.text(name);
  if (text.empty()) return 0;
  auto ms = text[0] == 'P' ? parse_iso_duration_ms(text) : parse_duration_ms(text);
  if (ms.ok() && *ms >= least_ms && *ms <= most_ms) return *ms;
  fields.complain(name, "must be a duration from " + format_iso_duration_ms(least_ms) + " to " +
                            format_iso_duration_ms(most_ms) + " such as 90s or 1h30m");
  return 0;
}

void parse_times(Fields& fields, CronSpec& cron) {
  int given = 0;
  for (std::string_view name : {"cron", "every", "at"}) given += fields.has(name) ? 1 : 0;
  if (given != 1) return fields.complain("cron", "give one of cron, every and at");
  cron.every_ms = duration_of(fields, "every", kEveryMsMin, kEveryMsMax);
  if (fields.has("every")) {
    cron.expression = fields.text("every");
    if (cron.every_ms == 0) fields.complain("every", "is required to be a duration", "required");
  } else if (fields.has("at")) {
    cron.expression = fields.text("at");
    auto at = parse_rfc3339(cron.expression);
    if (!at.ok() || *at <= 0)
      return fields.complain("at", "must be a time such as 2031-05-01T08:00:00Z");
    cron.at_ms = *at;
  } else {
    cron.expression = fields.text("cron");
    auto schedule = CronSchedule::parse(cron.expression);
    if (!schedule.ok()) fields.complain("cron", schedule.error().message, "cron");
  }
}

// Everything but the name and the target.
void parse_rhythm(Fields& fields, CronSpec& cron) {
  parse_times(fields, cron);
  cron.timezone = fields.text("timezone", "UTC");
  if (auto zone = TimeZone::find(cron.timezone); !zone.ok())
    fields.complain("timezone", zone.error().message);
  cron.jitter_ms = duration_of(fields, "jitter", 0, kJitterMsMax);
  std::string overlap = fields.text("overlap", "skip");
  bool known = false;
  for (const auto& [name, value] : kScheduleOverlaps) {
    if (name != overlap) continue;
    cron.overlap = value;
    known = true;
  }
  if (!known) fields.complain("overlap", "must be skip, queue or allow");
  cron.paused = fields.boolean("paused", false);
  cron.inputs = fields.raw("inputs");
  if (!cron.inputs.empty() && cron.inputs[0] != '{')
    fields.complain("inputs", "must be an object", "type");
  if (cron.inputs.size() > kInputsBytesMax) fields.complain("inputs", "must be at most 1 MiB");
}

std::string_view last_status(const State& state, const Cron& cron) {
  if (!cron.last_run.is_nil()) {
    const Run* run = state.find_run(cron.last_run);
    return run != nullptr ? family_of(*run).status(*run) : "forgotten";
  }
  const Job* job = state.find_job(cron.last_job);
  return job != nullptr ? state_name(job->state) : "forgotten";
}

void render_last(json::Writer& w, const State& state, const Cron& cron) {
  w.field_time_if_set("last_at", cron.last_ms);
  if (!cron.last_run.is_nil()) w.key("last_run_id").uuid(cron.last_run);
  if (!cron.last_job.is_nil()) w.key("last_job_id").uuid(cron.last_job);
  if (cron.last_ms != 0) w.field("last_status", last_status(state, cron));
  if (cron.last_error_ms != 0)
    w.field("last_error", cron.last_error).field_time("last_error_at", cron.last_error_ms);
  w.field_time_if_set("waiting_since", cron.waiting_ms);
}

}  // namespace

std::string trigger_name(const std::string& definition, size_t index) {
  return definition + "/trigger_" + std::to_string(index);
}

Result<CronSpec> parse_schedule(Fields& fields, std::string_view tenant) {
  CronSpec cron;
  cron.source = CronSource::Schedule;
  std::string name = fields.required_text("name");
  if (name.size() > kScheduleNameBytesMax || !is_printable(name))
    fields.complain("name", "must be at most 600 bytes of printable text");
  parse_rhythm(fields, cron);
  if (fields.text("description").size() > kScheduleDescriptionBytesMax)
    fields.complain("description", "must be at most 4096 bytes");
  cron.description = fields.raw("description");
  if (fields.has("definition") == fields.has("job"))
    fields.complain("definition", "give one of definition and job");
  cron.definition = fields.text("definition");
  cron.version = fields.text("version");
  if (fields.has("definition") && cron.definition.empty())
    fields.complain("definition", "must be the name of a definition");
  for (std::string_view of_definition : {"version", "inputs"})
    if (fields.has("job") && fields.has(of_definition))
      fields.complain(of_definition, "goes with a definition, not with a job");
  if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
  cron.name = schedule_key(tenant, name);
  if (!fields.has("job")) return cron;
  auto job = parse_job_template(fields.raw("job"), "$.job", name, tenant);
  if (!job.ok()) {
    Error error = std::move(job).error();
    error.code = ErrorCode::InvalidContent;  // as for every other part of a schedule
    return error;
  }
  cron.job = std::move(job).value();
  return cron;
}

Result<std::vector<CronSpec>> parse_triggers(const std::string& json, const std::string& definition,
                                             std::string_view tenant, bool lenient) {
  std::vector<CronSpec> made;
  if (json.empty() || json == "null") return made;
  PAWL_TRY(json::Doc doc, json::parse(json));
  std::vector<json::View> given;
  if (doc.root().is_array()) {
    doc.root().each_element([&](json::View one) { given.push_back(one); });
  } else {
    given.push_back(doc.root());
  }
  if (given.size() > kTriggersMax)
    return Error{ErrorCode::InvalidContent,
                 "triggers: a definition has at most 100",
                 {{"triggers", "a definition has at most 100", "too_large"}}};
  for (size_t i = 0; i < given.size(); ++i) {
    Fields fields(given[i], "$.triggers[" + std::to_string(i) + "]");
    CronSpec cron;
    cron.source = CronSource::Trigger;
    cron.definition = definition;
    if (!lenient)
      refuse_unknown(fields,
                     {"cron", "every", "at", "timezone", "overlap", "jitter", "paused", "inputs"});
    if (given[i].is_object()) parse_rhythm(fields, cron);
    if (!fields.ok()) return fields.error(ErrorCode::InvalidContent);
    cron.name = schedule_key(tenant, trigger_name(definition, i));
    made.push_back(std::move(cron));
  }
  return made;
}

void render_schedule(json::Writer& w, const State& state, const Cron& cron) {
  const CronSpec& spec = cron.spec;
  w.begin_object().field("name", schedule_name(spec.name));
  if (auto tenant = tenant_of_scoped(spec.name); !tenant.empty()) w.field("tenant_id", tenant);
  if (!spec.definition.empty()) {
    w.field("definition", spec.definition);
    if (!spec.version.empty()) w.field("version", spec.version);
    if (!spec.inputs.empty()) w.field_raw("inputs", spec.inputs);
  } else {
    w.key("job").begin_object();
    render_job_template(w, spec);
    w.end_object();
  }
  std::string_view kind = spec.at_ms != 0 ? "at" : spec.every_ms != 0 ? "every" : "cron";
  w.field(kind, spec.expression).field("timezone", spec.timezone);
  w.field("overlap", schedule_overlap_name(spec.overlap));
  if (spec.jitter_ms != 0) w.field("jitter", format_iso_duration_ms(spec.jitter_ms));
  w.field_bool("paused", spec.paused);
  w.field("source", spec.source == CronSource::Trigger ? "definition" : "api");
  if (!spec.description.empty()) w.field_raw("description", spec.description);
  if (!spec.paused && cron.next_ms != 0) w.field_time("next_at", cron.next_ms);
  render_last(w, state, cron);
  w.field_time("created_at", spec.created_ms).end_object();
}

}  // namespace pawl::api
