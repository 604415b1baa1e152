#include "front/placement.h"

#include "base/partition.h"
#include "base/uuid.h"
#include "plan/ojs/parse_job.h"
#include "plan/ojs/parse_workflow.h"
#include "plan/ojs/queue_name.h"

namespace pawl::front {
namespace {

// The members of a job's envelope stand beside or inside its options.
std::optional<json::View> member(json::View envelope, std::string_view name) {
  auto found = envelope.find(name);
  if (found && !found->is_null()) return found;
  auto options = envelope.find("options");
  return options ? options->find(name) : std::nullopt;
}

std::string text_member(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->string() : "";
}

std::string queue_of(json::View envelope, std::string_view tenant) {
  auto queue = member(envelope, "queue");
  return scoped_queue(tenant, queue && queue->is_string() ? queue->string() : "default");
}

struct JobNames {
  std::string limit;
  std::string unique;
};

// Only what has such a member is read whole. A bad envelope has no names: whoever decides refuses
// it.
JobNames names_of(json::View envelope, std::string_view tenant) {
  const bool limited = member(envelope, "rate_limit").has_value();
  const bool unique = member(envelope, "unique").has_value();
  if (!limited && !unique) return {};
  auto job = parse_job(envelope, EnvelopeRules{.now_ms = 0, .tenant = tenant});
  return job.ok() ? JobNames{job->limit, job->unique.key} : JobNames{};
}

CreatePlace at(uint16_t partition) { return {.partition = partition, .queue = {}}; }

CreatePlace place_job(const Placed& call, json::View envelope, bool keyed, uint16_t partitions) {
  const JobNames names = names_of(envelope, call.tenant);
  if (!names.limit.empty()) return at(home_of(NameKind::Limit, "", names.limit, partitions));
  if (keyed)
    return at(home_of(NameKind::IdempotencyKey, call.tenant, call.request.header("idempotency-key"),
                      partitions));
  if (auto id = Uuid::parse(text_member(envelope, "id"))) return at(partition_of(*id, partitions));
  if (!names.unique.empty()) return at(home_of(NameKind::UniqueKey, "", names.unique, partitions));
  std::string queue = queue_of(envelope, call.tenant);
  const uint16_t home = home_of(NameKind::Queue, "", queue, partitions);
  return {.partition = home, .queue = std::move(queue)};
}

// One partition takes all of a batch, since it is made whole or not at all: the first job that asks
// for a certain one decides.
CreatePlace place_jobs(const Placed& call, json::View body, bool keyed, uint16_t partitions) {
  auto jobs = body.find("jobs");
  CreatePlace first;
  bool certain = false;
  if (!jobs) return at(0);
  jobs->each_element([&](json::View envelope) {
    if (certain || !envelope.is_object()) return;
    CreatePlace place = place_job(call, envelope, keyed, partitions);
    certain = place.queue.empty();
    if (certain || !first.partition) first = std::move(place);
  });
  return first;
}

CreatePlace place_run(const Placed& call, json::View body, uint16_t partitions) {
  auto definition = body.find("definition");
  std::string name;
  if (definition && definition->is_string()) name = definition->string();
  // The bound of a definition counts at one place.
  if (definition && definition->is_object() &&
      definition->raw().find("max_concurrent") != std::string_view::npos) {
    name = text_member(body, "name");
    if (name.empty()) name = text_member(*definition, "name");
  }
  if (name.empty()) return {};
  return at(home_of(NameKind::Definition, call.tenant, name, partitions));
}

}  // namespace

uint16_t place_of_id(std::string_view text, uint16_t partitions) {
  return partition_of(workflow_id(text, partitions), partitions);
}

uint16_t place_by_path(const Placed& call, uint16_t partitions) {
  const std::string& first = call.params.front();
  if (call.route.routing == api::Routing::ById) return place_of_id(first, partitions);
  if (call.route.pattern.starts_with("/ojs/v1/rate-limits"))
    return home_of(NameKind::Limit, "", scoped_queue(call.tenant, first), partitions);
  return home_of(NameKind::World, call.tenant, first, partitions);
}

CreatePlace place_to_create(const Placed& call, uint16_t partitions) {
  const bool keyed = !call.request.header("idempotency-key").empty();
  auto doc = json::parse(call.request.body);
  const bool is_json = doc.ok() && doc->root().is_object();
  // A definition as YAML, or what nobody can read.
  if (!is_json && !keyed) return {};
  const std::string_view path = call.route.pattern;
  if (is_json && path == "/ojs/v1/jobs") return place_job(call, doc->root(), keyed, partitions);
  if (is_json && path.starts_with("/ojs/v1/jobs/"))
    return place_jobs(call, doc->root(), keyed, partitions);
  if (is_json && path == "/v1/worlds")
    return at(home_of(NameKind::World, call.tenant, text_member(doc->root(), "name"), partitions));
  if (is_json && path == "/v1/runs") {
    CreatePlace bounded = place_run(call, doc->root(), partitions);
    const auto definition = doc->root().find("definition");
    if (bounded.partition && definition && definition->is_object()) return bounded;
  }
  if (keyed)
    return at(home_of(NameKind::IdempotencyKey, call.tenant, call.request.header("idempotency-key"),
                      partitions));
  if (const std::string id = text_member(doc->root(), "id"); !id.empty())
    return at(place_of_id(id, partitions));
  return path == "/v1/runs" ? place_run(call, doc->root(), partitions) : CreatePlace{};
}

}  // namespace pawl::front
