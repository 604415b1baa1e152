#include "plan/ojs/unique_key.h"

#include "base/hash.h"
#include "base/json_canonical.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace pawl {
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

// The parts that must be unique: parts of the envelope, and chosen members of args and meta.
struct Chosen {
  std::optional<json::View> keys;
  std::optional<json::View> args_keys;
  std::optional<json::View> meta_keys;
};

bool is_dimension(json::View name) {
  for (std::string_view known : {"type", "queue", "args", "meta"})
    if (name.equals(known)) return true;
  return false;
}

bool all_dimensions(json::View list) {
  bool all = true;
  list.each_element([&](json::View name) { all &= is_dimension(name); });
  return all;
}

// A list of names; an empty one is none.
Result<std::optional<json::View>> names(json::View unique, std::string_view name) {
  std::optional<json::View> none;
  auto value = unique.find(name);
  if (!value || value->is_null()) return none;
  bool good = value->is_array();
  value->each_element([&](json::View entry) { good &= entry.is_string(); });
  if (!good) return bad(std::string(name) + " must be an array of strings");
  return value->size() == 0 ? none : value;
}

// Most clients use `key`: parts of the envelope if all its entries name such parts, else members of
// the arguments.
Result<Chosen> chosen(json::View unique) {
  Chosen found;
  PAWL_TRY(auto key, names(unique, "key"));
  PAWL_TRY(found.keys, names(unique, "keys"));
  PAWL_TRY(found.args_keys, names(unique, "args_keys"));
  PAWL_TRY(found.meta_keys, names(unique, "meta_keys"));
  if (key && all_dimensions(*key)) {
    if (!found.keys) found.keys = key;
  } else if (key && !found.args_keys) {
    found.args_keys = key;
  }
  if (found.keys && !all_dimensions(*found.keys))
    return bad("keys may name type, queue, args and meta only");
  if (found.keys && has(*found.keys, "meta") && !found.meta_keys)
    return bad("keys names meta: meta_keys must say which of its members");
  return found;
}

std::string digest(const Chosen& wanted, const UniqueSource& source) {
  const auto& [keys, args_keys, meta_keys] = wanted;
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
  auto conflict = unique.find("on_conflict");
  if (!conflict) conflict = unique.find("onConflict");
  if (conflict && !conflict->is_null()) {
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
  PAWL_TRY(Chosen wanted, chosen(unique));
  policy.key = digest(wanted, source);
  return policy;
}

}  // namespace pawl
