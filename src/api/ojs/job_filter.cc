#include "api/ojs/job_filter.h"

#include <algorithm>

#include "base/function_ref.h"
#include "base/quote.h"
#include "base/time.h"
#include "kernel/jobs/job.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"
#include "plan/ojs/job_spec.h"
#include "plan/ojs/queue_name.h"
#include "wire/event_projection.h"

namespace pawl::api {
namespace {

constexpr size_t kTextBytesMax = 255;

constexpr std::string_view kFilterMembers[] = {
    "tenant", "queue", "type",           "error_type",      "state",      "states",  "since",
    "until",  "meta",  "enqueued_after", "enqueued_before", "older_than", "priority"};
// Two names for one member: giving both is ambiguous.
constexpr std::pair<std::string_view, std::string_view> kSynonyms[] = {
    {"state", "states"}, {"since", "enqueued_after"}, {"until", "enqueued_before"}};

Error bad_filter(std::string_view name, std::string_view message) {
  return Error{ErrorCode::InvalidRequest,
               std::string(name) + " " + std::string(message),
               {{"$." + std::string(name), std::string(message)}}};
}

Result<uint32_t> parse_states(std::string_view text) {
  uint32_t states = 0;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    JobState state = parse_job_state(text.substr(0, comma));
    if (state == JobState::None)
      return bad_filter("state", "must be a job state, not " + in_quotes(text.substr(0, comma)));
    states |= 1u << static_cast<int>(state);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return states;
}

Result<int64_t> parse_time(std::string_view name, const std::string& text) {
  if (text.empty()) return 0;
  auto at = parse_rfc3339(text);
  if (!at.ok()) return bad_filter(name, "must be an RFC 3339 time");
  return *at;
}

// "7d", "24h", "P7D", or the time itself.
Status parse_age(const std::string& text, JobFilter& filter) {
  auto age =
      !text.empty() && text[0] == 'P' ? parse_iso_duration_ms(text) : parse_duration_ms(text);
  if (!text.empty() && age.ok()) {
    filter.finished_for_ms = std::max<int64_t>(1, *age);
    return ok_status();
  }
  PAWL_TRY(filter.finished_before_ms, parse_time("older_than", text));
  return ok_status();
}

bool type_matches(std::string_view pattern, std::string_view type) {
  if (pattern.empty()) return true;
  if (pattern.back() != '*') return pattern == type;
  pattern.remove_suffix(1);
  return type.substr(0, pattern.size()) == pattern;
}

bool queue_matches(const JobFilter& filter, std::string_view scoped) {
  if (is_internal_queue(scoped)) return false;
  if (!filter.tenant.empty() && tenant_of_scoped(scoped) != filter.tenant) return false;
  return filter.queue.empty() || queue_of_scoped(scoped) == filter.queue;
}

bool meta_matches(const Value::Object& wanted, std::string_view meta) {
  auto parsed = Value::parse(meta);
  if (!parsed.ok()) return false;
  for (const Value::Member& member : wanted) {
    const Value* has = parsed->find(member.key);
    if (has == nullptr || !(*has == member.value)) return false;
  }
  return true;
}

}  // namespace

bool JobFilter::matches(const Job& job) const {
  if (!has_state(job.state) || !queue_matches(*this, job.queue->name)) return false;
  if (job.created_ms < since_ms || (until_ms != 0 && job.created_ms > until_ms)) return false;
  if (finished_before_ms != 0 && (job.finished_ms == 0 || job.finished_ms >= finished_before_ms))
    return false;
  if (!type_matches(type, type_of_spec(job.spec))) return false;
  if (priority && *priority != job.priority) return false;
  bool has_error = job.extras && !job.extras->errors.empty();
  if (!error_type.empty() && (!has_error || job.extras->errors.back().type != error_type))
    return false;
  return meta.empty() || meta_matches(meta, job.spec_view().meta);
}

bool JobFilter::counts_suffice() const {
  return type.empty() && error_type.empty() && since_ms == 0 && until_ms == 0 &&
         finished_before_ms == 0 && finished_for_ms == 0 && !priority && meta.empty();
}

namespace {

// text: the value under a name, "" if absent.
Result<JobFilter> parse_filter(FunctionRef<std::string(std::string_view name)> text,
                               std::string_view tenant) {
  JobFilter filter;
  filter.tenant = tenant.empty() ? text("tenant") : std::string(tenant);
  filter.queue = text("queue");
  filter.type = text("type");
  filter.error_type = text("error_type");
  for (const std::string* value : {&filter.tenant, &filter.queue, &filter.type, &filter.error_type})
    if (value->size() > kTextBytesMax)
      return bad_filter("filter", "holds a text of more than 255 bytes");
  std::string states = text("state");
  if (states.empty()) states = text("states");
  PAWL_TRY(filter.states, parse_states(states));
  auto either = [&](std::string_view name, std::string_view other) {
    std::string value = text(name);
    return value.empty() ? text(other) : value;
  };
  PAWL_TRY(filter.since_ms, parse_time("since", either("since", "enqueued_after")));
  PAWL_TRY(filter.until_ms, parse_time("until", either("until", "enqueued_before")));
  PAWL_TRY_DO(parse_age(text("older_than"), filter));
  return filter;
}

// Checks whether every member is a filter member.
void check_members(Fields& fields, std::string_view tenant, std::string_view beside) {
  fields.object().each_member([&](json::View key, json::View value) {
    std::string name = key.string();
    if (!beside.empty() && name == beside) return;
    if (std::find(std::begin(kFilterMembers), std::end(kFilterMembers), name) ==
        std::end(kFilterMembers))
      return fields.complain(name.substr(0, 64), "is nothing that jobs can be filtered by",
                             "unknown_field");
    bool holds = value.is_object() || value.is_array();
    if (value.is_null() || value.equals("") || (holds && value.size() == 0))
      fields.complain(name, "must have a value; leave it out to match any");
  });
  for (const auto& [name, other] : kSynonyms)
    if (fields.has(name) && fields.has(other))
      fields.complain(other, "means the same as " + std::string(name) + "; give one of them");
  auto other = fields.find("tenant");
  if (!tenant.empty() && other && !other->equals(tenant))
    fields.complain("tenant", "must be that of the call");
}

Value::Object parse_meta(Fields& fields) {
  auto given = fields.find("meta");
  if (!given) return {};
  auto meta = Value::from(*given);
  if (meta.ok() && meta->is_object()) return meta->as_object();
  fields.complain("meta", "must be an object", "type");
  return {};
}

// Prefixes the paths with the filter's place in its body.
Error moved(Error error, const std::string& path) {
  for (Complaint& complaint : error.complaints)
    if (complaint.path.starts_with("$.")) complaint.path = path + complaint.path.substr(1);
  return error;
}

}  // namespace

Result<JobFilter> filter_of_query(const Call& call) {
  return parse_filter([&](std::string_view name) { return call.query(name); }, call.tenant);
}

Result<JobFilter> filter_of_object(json::View object, std::string_view tenant,
                                   const std::string& path, std::string_view beside) {
  Fields fields(object, path);
  check_members(fields, tenant, beside);
  auto text = [&](std::string_view name) {
    auto value = fields.find(name);
    bool listed = value && value->is_array() && (name == "state" || name == "states");
    if (!listed) return fields.text(name);
    std::string joined;
    for (const std::string& entry : fields.texts(name))
      joined.append(joined.empty() ? "" : ",").append(entry);
    return joined;
  };
  auto filter = parse_filter(text, tenant);
  auto priority = fields.find("priority");
  if (priority && !priority->as_int())
    fields.complain("priority", "must be a whole number", "type");
  Value::Object meta = parse_meta(fields);
  if (!fields.ok()) return fields.error(ErrorCode::InvalidRequest);
  if (!filter.ok()) return moved(filter.error(), path);
  if (priority) filter->priority = priority->as_int();
  filter->meta = std::move(meta);
  return filter;
}

uint64_t count_by_queues(const State& state, const JobFilter& filter) {
  uint64_t total = 0;
  state.each_queue([&](const Queue& queue) {
    if (!queue_matches(filter, queue.name)) return true;
    uint64_t here = 0;
    for (size_t at = 1; at < kJobStateCount; ++at)
      if (filter.has_state(static_cast<JobState>(at))) here += queue.counts[at];
    total += filter.states == 0 ? here - std::min(here, queue.forgotten) : here;
    return true;
  });
  return total;
}

}  // namespace pawl::api
