#include "api/ojs/unique_key.h"

#include "base/hash.h"
#include "base/json_canonical.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace pawl::api {
namespace {

constexpr uint32_t kUnfinished =
    1u << static_cast<int>(JobState::Scheduled) | 1u << static_cast<int>(JobState::Available) |
    1u << static_cast<int>(JobState::Pending) | 1u << static_cast<int>(JobState::Active) |
    1u << static_cast<int>(JobState::Retryable);

Error bad(std::string message) { return Error{ErrorCode::InvalidContent, std::move(message)}; }

bool has(json::View list, std::string_view name) {
  bool found = false;
  list.each_element([&](json::View entry) { found |= entry.equals(name); });
  return found;
}

// The chosen members of an object, canonically; of the whole value if none are chosen.
void append_chosen(std::string& out, const std::optional<json::View>& value,
                   const std::optional<json::View>& chosen) {
  if (!value) return void(out.append("null"));
  if (!chosen || !value->is_object()) return json::append_canonical(out, *value);
  chosen->each_element([&](json::View name) {
    auto member = name.is_string() ? value->find(name.string()) : std::nullopt;
    out.append(name.raw()).push_back(':');
    if (member) json::append_canonical(out, *member);
    out.push_back(';');
  });
}

std::string digest(json::View unique, const UniqueSource& source) {
  auto list = [&](std::string_view name) {
    auto value = unique.find(name);
    return value && value->is_array() ? value : std::nullopt;
  };
  auto keys = list("keys");
  auto args_keys = list("args_keys");
  auto meta_keys = list("meta_keys");
  std::string text;
  json::append_quoted(text, source.tenant);
  json::append_quoted(text, source.type);
  if (keys && has(*keys, "queue")) json::append_quoted(text, source.queue);
  if (args_keys) {
    std::optional<json::View> first;
    source.args.each_element([&](json::View element) { first = first ? first : element; });
    append_chosen(text, first, args_keys);
  } else if (keys ? has(*keys, "args") : !meta_keys) {
    json::append_canonical(text, source.args);
  }
  if (meta_keys || (keys && has(*keys, "meta"))) append_chosen(text, source.meta, meta_keys);
  auto hash = sha256(text);
  return std::string(reinterpret_cast<const char*>(hash.data()), 16);
}

}  // namespace

Result<UniquePolicy> parse_unique(json::View unique, const UniqueSource& source) {
  if (!unique.is_object()) return bad("must be an object");
  UniquePolicy policy;
  policy.states = kUnfinished;
  if (auto states = unique.find("states"); states && !states->is_null()) {
    policy.states = 0;
    bool good = states->is_array() && states->size() > 0;
    states->each_element([&](json::View entry) {
      JobState state = entry.is_string() ? parse_job_state(entry.string()) : JobState::None;
      good &= state != JobState::None;
      policy.states |= 1u << static_cast<int>(state);
    });
    if (!good) return bad("states must be an array of job states");
  }
  if (auto period = unique.find("period"); period && !period->is_null()) {
    auto ms =
        period->is_string() ? parse_iso_duration_ms(period->string()) : Result<int64_t>(bad(""));
    if (!ms.ok() || *ms < 1) return bad("period must be an ISO 8601 duration such as PT1H");
    policy.period_ms = *ms;
  } else if (auto period_ms = unique.find("period_ms");
             period_ms && period_ms->as_int().value_or(0) > 0) {
    policy.period_ms = *period_ms->as_int();
  }
  if (auto conflict = unique.find("on_conflict"); conflict && !conflict->is_null()) {
    if (conflict->equals("reject"))
      policy.on_conflict = OnConflict::Reject;
    else if (conflict->equals("ignore"))
      policy.on_conflict = OnConflict::Ignore;
    else if (conflict->equals("replace"))
      policy.on_conflict = OnConflict::Replace;
    else if (conflict->equals("replace_except_schedule"))
      policy.on_conflict = OnConflict::ReplaceExceptSchedule;
    else
      return bad("on_conflict must be reject, ignore, replace or replace_except_schedule");
  }
  for (std::string_view name : {"keys", "args_keys", "meta_keys"})
    if (auto list = unique.find(name); list && !list->is_null() && !list->is_array())
      return bad(std::string(name) + " must be an array of strings");
  policy.key = digest(unique, source);
  return policy;
}

}  // namespace pawl::api
