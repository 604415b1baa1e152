#include "plan/ojs/parse_job.h"

#include <set>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/time.h"
#include "plan/ojs/queue_name.h"
#include "plan/ojs/unique_key.h"

namespace pawl {
namespace {

constexpr int64_t kLongestMs = 366LL * 24 * 3600 * 1000;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Members that the server sets itself, or renders separately.
bool is_known_member(std::string_view name) {
  static constexpr std::string_view kNames[] = {"type",
                                                "args",
                                                "id",
                                                "meta",
                                                "options",
                                                "state",
                                                "queue",
                                                "priority",
                                                "attempt",
                                                "max_attempts",
                                                "created_at",
                                                "enqueued_at",
                                                "started_at",
                                                "completed_at",
                                                "cancelled_at",
                                                "discarded_at",
                                                "error",
                                                "errors",
                                                "result",
                                                "scheduled_at",
                                                "expires_at",
                                                "retry",
                                                "unique",
                                                "tags",
                                                "timeout_ms",
                                                "visibility_timeout_ms",
                                                "rate_limit",
                                                "delay_until",
                                                "progress",
                                                "checkpoint",
                                                "retry_delay_ms",
                                                "parent_results",
                                                "workflow_id",
                                                "workflow",
                                                "specversion",
                                                "previous_state"};
  for (std::string_view known : kNames)
    if (known == name) return true;
  return false;
}

class EnvelopeParser {
 public:
  EnvelopeParser(json::View envelope, const EnvelopeRules& rules, std::string_view path)
      : envelope_(envelope), rules_(rules), path_(path) {}

  Result<NewJob> run() {
    if (!envelope_.is_object()) return bad("", "must be an object");
    gather_members();
    PAWL_TRY_DO(read_identity());
    PAWL_TRY_DO(read_options());
    PAWL_TRY_DO(read_meta());
    PAWL_TRY_DO(read_unique());
    job_.type = spec_.type;
    codec::encode(job_.spec, spec_);
    return std::move(job_);
  }

 private:
  // null counts as absent, except for args
  static bool present(const std::optional<json::View>& value) { return value && !value->is_null(); }

  Error bad(std::string_view member, std::string_view message,
            ErrorCode code = ErrorCode::InvalidRequest) const {
    std::string where = path_ + (member.empty() ? "" : "." + std::string(member));
    std::string shown =
        where.substr(0, 2) == "$." ? where.substr(2) : (where == "$" ? "the job" : where);
    return Error{code, shown + " " + std::string(message), {{where, std::string(message)}}};
  }

  void gather_members() {
    envelope_.each_member([&](json::View key, json::View value) {
      std::string name = key.string();
      if (name == "type")
        type_ = value;
      else if (name == "args")
        args_ = value;
      else if (name == "id")
        id_ = value;
      else if (name == "meta")
        meta_ = value;
      else if (name == "options")
        options_ = value;
      else if (!is_known_member(name)) {
        if (!spec_.extra.empty()) spec_.extra.push_back(',');
        json::append_quoted(spec_.extra, name);
        spec_.extra.push_back(':');
        spec_.extra.append(value.raw());
      }
    });
  }

  // An option, from `options` or, as some clients write it, from the envelope itself.
  std::optional<json::View> option(std::string_view name) const {
    std::optional<json::View> value;
    if (options_ && options_->is_object()) value = options_->find(name);
    if (!present(value)) value = envelope_.find(name);
    for (size_t i = 0; i < rules_.defaults.size() && !present(value); ++i)
      value = rules_.defaults[i].find(name);
    return present(value) ? value : std::nullopt;
  }

  // The effective options: those of the envelope, then the defaults.
  std::string options_text() const {
    bool own = present(options_);
    if (rules_.defaults.empty()) return own ? std::string(options_->raw()) : "";
    std::string text;
    std::set<std::string> named;
    json::Writer w(text);
    w.begin_object();
    auto add = [&](json::View options) {
      options.each_member([&](json::View key, json::View value) {
        if (!value.is_null() && named.insert(key.string()).second)
          w.key(key.string()).raw(value.raw());
      });
    };
    if (own) add(*options_);
    for (json::View options : rules_.defaults) add(options);
    w.end_object();
    return text;
  }

  Status read_identity() {
    if (!present(type_)) return bad("type", "is required");
    if (!type_->is_string()) return bad("type", "must be a string");
    spec_.type = type_->string();
    if (!is_job_type(spec_.type))
      return bad("type", "must be lower-case words joined by dots, such as 'email.send', not " +
                             in_quotes(spec_.type));
    if (!args_) return bad("args", "is required");
    if (!args_->is_array()) return bad("args", "must be an array");
    if (args_->raw().size() > kArgsBytesMax)
      return bad("args", "must be at most 16 MiB", ErrorCode::TooLarge);
    spec_.args = args_->raw();
    if (id_ && !id_->is_null() && !rules_.id_is_name) {
      auto id = id_->is_string() ? JobId::parse(id_->string()) : std::nullopt;
      if (!id || !id->is_v7()) return bad("id", "must be a UUIDv7 in lower case");
      job_.id = *id;
    }
    if (present(options_) && !options_->is_object()) return bad("options", "must be an object");
    return ok_status();
  }

  Status read_options() {
    spec_.options = options_text();
    spec_.tenant = rules_.tenant;
    std::string queue = "default";
    if (auto value = option("queue")) {
      if (!value->is_string()) return bad("options.queue", "must be a string");
      queue = value->string();
    }
    if (!is_queue_name(queue))
      return bad("options.queue",
                 "must be lower-case letters, digits, '.', '-' or '_', starting with a letter or "
                 "digit, not " +
                     in_quotes(queue));
    if (is_internal_queue(queue))
      return bad("options.queue", "must not begin with 'pawl.': those queues are the server's own");
    job_.queue = scoped_queue(rules_.tenant, queue);
    PAWL_TRY(int64_t priority, integer("priority", 0, kPriorityLeast, kPriorityMost));
    job_.priority = static_cast<int32_t>(priority);
    PAWL_TRY(spec_.timeout_ms, integer("timeout_ms", 0, 0, kLongestMs));
    PAWL_TRY(spec_.visibility_ms, integer("visibility_timeout_ms", 0, 0, kLongestMs));
    PAWL_TRY_DO(read_times());
    PAWL_TRY_DO(read_retry());
    PAWL_TRY_DO(read_tags());
    PAWL_TRY_DO(read_rate_limit());
    if (auto pending = option("pending")) job_.pending = pending->is_true();
    return ok_status();
  }

  Result<int64_t> integer(std::string_view name, int64_t fallback, int64_t least,
                          int64_t most) const {
    auto value = option(name);
    if (!value) return fallback;
    auto number = value->as_int();
    if (number && *number >= least && *number <= most) return *number;
    return bad(
        "options." + std::string(name),
        "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  Result<int64_t> time_option(std::string_view name, std::string& echo) const {
    auto value = option(name);
    if (!value) return 0;
    std::string text = value->is_string() ? value->string() : "";
    auto at = parse_when(text, rules_.now_ms);
    if (!at.ok())
      return bad("options." + std::string(name),
                 "must be an RFC 3339 time or '+' and an ISO 8601 duration");
    if (!text.empty() && text[0] != '+') echo = text;
    return *at;
  }

  Status read_times() {
    PAWL_TRY(int64_t delayed, time_option("delay_until", spec_.scheduled_text));
    PAWL_TRY(int64_t scheduled, time_option("scheduled_at", spec_.scheduled_text));
    job_.scheduled_ms = scheduled != 0 ? scheduled : delayed;
    PAWL_TRY(job_.expires_ms, time_option("expires_at", spec_.expires_text));
    return ok_status();
  }

  Status read_retry() {
    RetryPolicy policy = RetryPolicy::standard();
    if (auto value = option("retry")) {
      PAWL_TRY(policy, parse_retry(*value, rules_.unsaid));
      codec::encode(spec_.retry, policy);
      spec_.retry_text = retry_text(*value, policy);
    } else if (rules_.unsaid != policy.on_exhaustion) {
      policy.on_exhaustion = rules_.unsaid;
      codec::encode(spec_.retry, policy);
    }
    job_.max_attempts = policy.max_attempts;
    return ok_status();
  }

  Status read_tags() {
    auto value = option("tags");
    if (!value) return ok_status();
    bool good = value->is_array() && value->size() <= kTagsMax;
    value->each_element([&](json::View tag) { good &= tag.is_string(); });
    if (!good)
      return bad("options.tags",
                 "must be an array of at most " + std::to_string(kTagsMax) + " strings");
    spec_.tags = value->raw();
    return ok_status();
  }

  Status read_rate_limit() {
    auto value = option("rate_limit");
    if (!value) return ok_status();
    if (!value->is_object()) return bad("options.rate_limit", "must be an object");
    auto number = [&](json::View from, std::string_view name, uint32_t& out) -> Status {
      auto member = from.find(name);
      if (!present(member)) return ok_status();
      auto count = member->as_int();
      if (!count || *count < 1 || *count > 1'000'000)
        return bad("options.rate_limit." + std::string(name),
                   "must be a whole number from 1 to 1000000");
      out = static_cast<uint32_t>(*count);
      return ok_status();
    };
    PAWL_TRY_DO(number(*value, "max_per_second", job_.queue_rate));
    auto key = value->find("key");
    if (!present(key)) return ok_status();
    if (!key->is_string() || key->raw().size() > kQueueBytesMax)
      return bad("options.rate_limit.key", "must be a short string");
    job_.limit = scoped_queue(rules_.tenant, key->string());
    PAWL_TRY_DO(number(*value, "concurrency", job_.limit_settings.concurrency));
    if (auto rate = value->find("rate"); present(rate)) {
      PAWL_TRY_DO(number(*rate, "limit", job_.limit_settings.rate));
      auto period = rate->find("period");
      auto period_ms = present(period) && period->is_string()
                           ? parse_iso_duration_ms(period->string())
                           : Result<int64_t>(1000);
      if (!period_ms.ok() || *period_ms < 1)
        return bad("options.rate_limit.rate.period", "must be an ISO 8601 duration");
      job_.limit_settings.period_ms = *period_ms;
    }
    return ok_status();
  }

  Status read_meta() {
    if (present(meta_) && !meta_->is_object()) return bad("meta", "must be an object");
    if (present(meta_) && meta_->raw().size() > kMetaBytesMax)
      return bad("meta", "must be at most 64 KiB", ErrorCode::TooLarge);
    std::optional<json::View> more =
        options_ && options_->is_object() ? options_->find("metadata") : std::nullopt;
    for (size_t i = 0; i < rules_.defaults.size() && !present(more); ++i)
      more = rules_.defaults[i].find("metadata");
    if (present(more) && !more->is_object()) return bad("options.metadata", "must be an object");
    if (!present(more) && rules_.tenant.empty() && rules_.cron_name.empty()) {
      spec_.meta = present(meta_) ? std::string(meta_->raw()) : "{}";
    } else {
      merge_meta(more);
    }
    auto flag = present(meta_) ? meta_->find("ojs_validate") : std::nullopt;
    bool validate = flag && flag->is_true();
    if (validate && args_->size() == 0)
      return bad("args", "must not be empty", ErrorCode::InvalidContent);
    return ok_status();
  }

  void merge_meta(const std::optional<json::View>& more) {
    json::Writer w(spec_.meta);
    w.begin_object();
    auto reserved = [&](std::string_view name) {
      return (name == "tenant_id" && !rules_.tenant.empty()) ||
             (name == "cron_name" && !rules_.cron_name.empty());
    };
    if (present(meta_))
      meta_->each_member([&](json::View key, json::View value) {
        if (!reserved(key.string())) w.key(key.string()).raw(value.raw());
      });
    if (present(more))
      more->each_member([&](json::View key, json::View value) {
        bool given = present(meta_) && meta_->find(key.string());
        if (!given && !reserved(key.string())) w.key(key.string()).raw(value.raw());
      });
    if (!rules_.tenant.empty()) w.field("tenant_id", rules_.tenant);
    if (!rules_.cron_name.empty()) w.field("cron_name", rules_.cron_name);
    w.end_object();
  }

  Status read_unique() {
    auto value = option("unique");
    if (!value) return ok_status();
    UniqueSource source{spec_.type, queue_of_scoped(job_.queue), rules_.tenant, *args_,
                        present(meta_) ? meta_ : std::nullopt};
    auto unique = parse_unique(*value, source);
    if (!unique.ok()) return bad("options.unique", unique.error().message, unique.error().code);
    job_.unique = std::move(unique).value();
    spec_.unique_text = value->raw();
    return ok_status();
  }

  json::View envelope_;
  const EnvelopeRules& rules_;
  std::string path_;
  std::optional<json::View> type_, args_, id_, meta_, options_;
  JobSpec spec_;
  NewJob job_;
};

}  // namespace

bool is_job_type(std::string_view type) {
  if (type.empty() || type.size() > kTypeBytesMax) return false;
  bool at_start = true;
  for (char c : type) {
    if (at_start) {
      if (!(c >= 'a' && c <= 'z')) return false;
      at_start = false;
    } else if (c == '.') {
      at_start = true;
    } else if (!is_lower_or_digit(c) && c != '_' && c != '-') {
      return false;
    }
  }
  return !at_start;
}

bool is_queue_name(std::string_view queue) {
  if (queue.empty() || queue.size() > kQueueBytesMax || !is_lower_or_digit(queue[0])) return false;
  for (char c : queue)
    if (!is_lower_or_digit(c) && c != '.' && c != '-' && c != '_') return false;
  return true;
}

Result<NewJob> parse_job(json::View envelope, const EnvelopeRules& rules, std::string_view path) {
  return EnvelopeParser(envelope, rules, path).run();
}

}  // namespace pawl
