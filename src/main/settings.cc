#include "main/settings.h"

#include <cctype>
#include <cstdlib>

#include "base/partition.h"
#include "base/quote.h"
#include "base/read_number.h"
#include "base/time.h"

namespace pawl {
namespace {

Error takes(std::string_view what, const std::string& text) {
  return {ErrorCode::InvalidRequest, "takes " + std::string(what) + ", not " + in_quotes(text)};
}

Result<uint64_t> number(const std::string& text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (!read_number(text, value) || value < least || value > most)
    return takes("a number from " + std::to_string(least) + " to " + std::to_string(most), text);
  return value;
}

// "64MiB", "64MB" (the same), "1048576".
Result<uint64_t> bytes(const std::string& text, uint64_t least, uint64_t most) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0)
    ++digits;
  std::string unit = text.substr(digits);
  if (unit.size() > 1 && unit.back() == 'B') unit.pop_back();
  if (unit.size() > 1 && unit.back() == 'i') unit.pop_back();
  int shift = unit.empty() || unit == "B" ? 0
              : unit == "K"               ? 10
              : unit == "M"               ? 20
              : unit == "G"               ? 30
                                          : -1;
  auto count = number(text.substr(0, digits), 0, UINT64_MAX >> 30);
  if (shift < 0 || !count.ok()) return takes("a size such as 64MiB", text);
  uint64_t value = *count << shift;
  if (value < least || value > most)
    return takes("a size from " + std::to_string(least) + " to " + std::to_string(most) + " bytes",
                 text);
  return value;
}

constexpr int64_t kForEver = kDurationMsMax;

Result<int64_t> duration(const std::string& text, int64_t least_ms = 0,
                         int64_t most_ms = kForEver) {
  auto ms = text.substr(0, 1) == "P" ? parse_iso_duration_ms(text) : parse_duration_ms(text);
  if (!ms.ok()) return takes("a duration such as 90s, 1h30m or 7d", text);
  if (*ms < least_ms || *ms > most_ms)
    return takes("a duration from " + format_iso_duration_ms(least_ms) + " to " +
                     format_iso_duration_ms(most_ms),
                 text);
  return ms;
}

Result<bool> boolean(const std::string& text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return takes("true or false", text);
}

// A number alone means seconds.
Result<int64_t> seconds(const std::string& text, int64_t least_ms = 0) {
  bool plain = !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
  return duration(plain ? text + "s" : text, least_ms);
}

// "2.0" → 2000.
Result<uint32_t> factor_milli(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 1.0 && value <= 1000.0))
    return takes("a factor from 1 to 1000", text);
  return static_cast<uint32_t>(value * 1000.0 + 0.5);
}

// 0 means no bound; below `least` no program could start.
Result<uint64_t> bytes_or_none(const std::string& text, uint64_t least, uint64_t most) {
  if (text == "0") return 0;
  return bytes(text, least, most);
}

// Whole seconds, rounded up; 0 means no bound.
Result<uint64_t> whole_seconds(const std::string& text) {
  PAWL_TRY(int64_t ms, seconds(text));
  return static_cast<uint64_t>((ms + 999) / 1000);
}

// "https://App.example:8443" as browsers write it in Origin. "*" is refused: it would allow every
// origin.
Result<std::string> origin_of(const std::string& text) {
  size_t at = text.find("://");
  std::string origin;
  for (char c : text) origin += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  bool known = origin.substr(0, 7) == "http://" || origin.substr(0, 8) == "https://";
  bool plain =
      at != text.npos && at + 3 < text.size() &&
      origin.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]", at + 3) == origin.npos;
  if (!known || !plain) return takes("an origin such as https://app.example:8443", text);
  for (const char* usual : {"http:80", "https:443"}) {
    std::string scheme = std::string(usual).substr(0, std::string(usual).find(':'));
    std::string port = std::string(usual).substr(scheme.size());
    if (origin.substr(0, at) == scheme && origin.size() > port.size() &&
        origin.substr(origin.size() - port.size()) == port)
      origin.resize(origin.size() - port.size());
  }
  return origin;
}

// Macros for rows that only differ in the target of the value.
#define PAWL_INTO(parse, place, type)                      \
  [](ServeOptions& o, const std::string& text) -> Status { \
    PAWL_TRY(auto parsed, parse);                          \
    o.place = static_cast<type>(parsed);                   \
    return ok_status();                                    \
  }
#define PAWL_TEXT_INTO(place)                              \
  [](ServeOptions& o, const std::string& text) -> Status { \
    o.place = text;                                        \
    return ok_status();                                    \
  }

// Where data lives, and this server among others that share it.
std::vector<Setting> places() {
  return {
      {"store", "STORE", "where data lives: sqlite, memory or a postgres:// URL (sqlite)",
       [](ServeOptions& o, const std::string& text) -> Status {
         const bool is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
         // The URL may hold a password: it is not repeated.
         if (text.starts_with("postgres") && !is_url)
           return Error{ErrorCode::InvalidRequest,
                        "takes a URL such as postgres://user@host/database"};
         if (!is_url && text != "sqlite" && text != "memory")
           return takes("sqlite, memory or a postgres:// URL", text);
         o.store = is_url ? "postgres" : text;
         o.database = is_url ? text : "";
         return ok_status();
       },
       false, "sqlite memory postgres://"},
      {"partitions", "N", "partitions of a new store (1; with PostgreSQL 16)",
       PAWL_INTO(number(text, 1, kPartitionsMax), partitions, uint16_t)},
      {"node", "NAME", "name of this node, with PostgreSQL (the host's)",
       [](ServeOptions& o, const std::string& text) -> Status {
         const bool fits =
             !text.empty() && text.size() <= kNodeNameBytesMax &&
             text.find_first_not_of(
                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
                 std::string::npos;
         if (!fits) return takes("a name of at most 21 letters, digits, '.', '-' and '_'", text);
         o.node = text;
         return ok_status();
       }},
      {"advertise", "URL", "where others reach this node (http:// and --listen)",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (!text.starts_with("http://") && !text.starts_with("https://"))
           return takes("an http:// or https:// URL", text);
         o.advertise = text;
         return ok_status();
       }},
      {"cluster_key", "FILE", "secret of the cluster, with PostgreSQL: 32 bytes or more, 0600",
       PAWL_TEXT_INTO(cluster_key)},
      {"cluster.hold_format", "", "the journal's format stays, though all nodes speak a newer one",
       PAWL_INTO(boolean(text), hold_format, bool)},
      {"link_ca", "FILE", "PEM authorities of nodes with https:// (the system's)",
       PAWL_TEXT_INTO(link_ca)},
      {"work_root", "DIR", "work directories of runs (in --data)", PAWL_TEXT_INTO(work_root)},
      {"store_readers", "N", "connections for reads, with PostgreSQL (4)",
       PAWL_INTO(number(text, 1, 64), store_readers, uint32_t)},
  };
}

std::vector<Setting> basics() {
  return {
      {"listen", "HOST:PORT", "address to listen on (127.0.0.1:8080)", PAWL_TEXT_INTO(listen)},
      {"data", "DIR", "data directory (./pawl-data)", PAWL_TEXT_INTO(data_dir)},
      {"api_key", "KEY", "a key with every scope; may be repeated",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text.empty()) return Error{ErrorCode::InvalidRequest, "takes a key, not an empty one"};
         o.api_keys.push_back(text);
         return ok_status();
       },
       true},
      {"no_auth", "", "listen beyond loopback without any key",
       PAWL_INTO(boolean(text), no_auth, bool)},
      {"host_name", "NAME", "a host name of this server, for calls without a key; repeatable",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text.empty() || text.find_first_of(":/@ ") != text.npos)
           return takes("a host name without a port", text);
         o.app.host_names.push_back(text);
         return ok_status();
       },
       true},
      {"cors_origin", "ORIGIN", "an origin whose pages may call this server; repeatable",
       [](ServeOptions& o, const std::string& text) -> Status {
         PAWL_TRY(std::string origin, origin_of(text));
         o.app.cors_origins.push_back(std::move(origin));
         return ok_status();
       },
       true},
      {"ojs_content_type", "TYPE", "type of replies under /ojs/v1 (application/openjobspec+json)",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text != "application/json" && text != "application/openjobspec+json")
           return takes("application/openjobspec+json or application/json", text);
         o.ojs_content_type = text;
         return ok_status();
       },
       false, "application/openjobspec+json application/json"},
      {"ready.stuck_after", "DURATION", "/ready is 503 once the engine hangs for this long (5s)",
       PAWL_INTO(duration(text, 2'000, 3'600'000), app.stuck_after_ms, int64_t)},
      {"log_format", "FORMAT", "format of the lines on stderr (text)",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text != "text" && text != "json") return takes("text or json", text);
         o.log_json = text == "json";
         return ok_status();
       },
       false, "text json"},
      {"access_log", "", "a log line for every request",
       PAWL_INTO(boolean(text), access_log, bool)},
      {"io_threads", "N", "threads that read and write sockets (1)",
       PAWL_INTO(number(text, 1, 64), http.io_threads, int)},
      {"drain_time", "DURATION", "how long a shutdown waits for open requests (10s)",
       PAWL_INTO(duration(text, 0, 3'600'000), drain_ms, int)},
      {"tls.cert", "FILE", "PEM certificate chain; with tls.key: https",
       PAWL_TEXT_INTO(http.tls_certificate_file)},
      {"tls.key", "FILE", "its key", PAWL_TEXT_INTO(http.tls_key_file)},
      {"visibility_timeout", "DURATION", "default lease of a fetched job (30m)",
       PAWL_INTO(duration(text, 1000, 7LL * 86'400'000), app.visibility_default_ms, int64_t)},
  };
}

std::vector<Setting> bounds() {
  return {
      {"retention.finished_age", "DURATION", "finished jobs are deleted after this; 0 = never (7d)",
       PAWL_INTO(duration(text), engine.core.retention.finished_ms, int64_t)},
      {"retention.finished_count", "N", "finished jobs kept at most; 0 = no bound (20000000)",
       PAWL_INTO(number(text, 0, UINT64_MAX), engine.core.retention.finished_max, uint64_t)},
      {"retention.journal_age", "DURATION", "history is deleted after this; 0 = never (7d)",
       PAWL_INTO(duration(text), engine.core.retention.journal_ms, int64_t)},
      {"retention.journal_count", "N", "journal records kept at most; 0 = no bound (20000000)",
       PAWL_INTO(number(text, 0, UINT64_MAX), engine.core.retention.journal_records_max, uint64_t)},
      {"memory.resident_jobs", "N", "jobs held in memory; the rest is read from disk (100000)",
       PAWL_INTO(number(text, 100, 100'000'000), engine.core.state.resident_jobs_max, size_t)},
      {"limits.body_bytes", "SIZE", "largest request body (64MiB)",
       PAWL_INTO(bytes(text, 1024, 128u << 20), http.body_bytes_max, size_t)},
      {"limits.result_bytes", "SIZE", "largest result of a job (16MiB)",
       PAWL_INTO(bytes(text, 1, 128u << 20), app.result_bytes_max, size_t)},
      {"limits.run_bytes", "SIZE", "outputs, variables, signals and inputs of one run (256MiB)",
       PAWL_INTO(bytes(text, 64u << 10, 256u << 20), engine.core.state.scripts.run_bytes_max,
                 size_t)},
      {"limits.batch_jobs", "N", "jobs in one push (100000)",
       PAWL_INTO(number(text, 1, 1'000'000), app.batch_jobs_max, size_t)},
      {"limits.connections", "N", "open connections (10000)",
       PAWL_INTO(number(text, 1, 1'000'000), http.connections_max, size_t)},
      {"limits.unsent_bytes", "SIZE", "unsent answers of all clients (256MiB)",
       PAWL_INTO(bytes(text, 1u << 20, 1ull << 40), http.out_bytes_total_max, size_t)},
      {"limits.request_bytes", "SIZE", "requests arriving or being handled, in all (256MiB)",
       PAWL_INTO(bytes(text, 1u << 20, 1ull << 40), http.in_bytes_total_max, size_t)},
      {"limits.parked_fetches", "N", "fetches that may wait for a job at a time (20000)",
       PAWL_INTO(number(text, 0, 1'000'000), engine.core.parked_max, size_t)},
      {"webhooks.allow_private", "", "deliver webhooks to loopback and private addresses too",
       PAWL_INTO(boolean(text), app.webhooks_allow_private, bool)},
  };
}

// Permissions of steps of definitions. Everything dangerous is off by default.
std::vector<Setting> permissions() {
#define PAWL_ADD_TO(place)                                 \
  [](ServeOptions& o, const std::string& text) -> Status { \
    if (text.empty()) return takes("a name", text);        \
    o.place.push_back(text);                               \
    return ok_status();                                    \
  }
  return {
      {"actions.http.allow_private", "", "HTTP actions may reach loopback and private addresses",
       PAWL_INTO(boolean(text), actions.http.allow_private, bool)},
      {"actions.http.allow_hosts", "HOST", "a private host that HTTP actions may reach; repeatable",
       PAWL_ADD_TO(actions.http.allow_hosts), true},
      {"actions.http.deny_hosts", "HOST", "a host that HTTP actions may not reach; repeatable",
       PAWL_ADD_TO(actions.http.deny_hosts), true},
      {"actions.fs.writable", "DIR", "a directory that file actions may change; repeatable",
       PAWL_ADD_TO(actions.fs.writable), true},
      {"actions.fs.read_only", "DIR", "a directory that file actions may read; repeatable",
       PAWL_ADD_TO(actions.fs.read_only), true},
      {"actions.fs.deny", "DIR", "a directory that file actions may not touch; repeatable",
       PAWL_ADD_TO(actions.fs.deny), true},
      {"actions.shell.enabled", "", "shell.exec may run commands",
       PAWL_INTO(boolean(text), actions.shell.enabled, bool)},
      {"actions.shell.allow", "COMMAND", "the only commands it may run; repeatable",
       PAWL_ADD_TO(actions.shell.allow), true},
      {"actions.shell.environment", "NAME",
       "a variable that commands inherit and steps may set; repeatable",
       PAWL_ADD_TO(actions.shell.environment), true},
      {"actions.shell.cwd", "DIR", "where commands run (in the directory of their run)",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text.empty() || text[0] != '/') return takes("an absolute path", text);
         o.actions.shell.cwd = text;
         return ok_status();
       }},
      {"actions.shell.memory", "SIZE", "address space of a command's process; 0 = no bound (0)",
       PAWL_INTO(bytes_or_none(text, 16u << 20, 1ull << 50), actions.shell.limits.memory_bytes,
                 uint64_t)},
      {"actions.shell.cpu", "DURATION", "processor time of a process; 0 = no bound (1h)",
       PAWL_INTO(whole_seconds(text), actions.shell.limits.cpu_s, uint64_t)},
      {"actions.shell.file_size", "SIZE", "largest file of a process; 0 = no bound (16GiB)",
       PAWL_INTO(bytes_or_none(text, 1, 1ull << 50), actions.shell.limits.file_bytes, uint64_t)},
      {"actions.shell.open_files", "N", "open files of a process; 0 = the server's bound (1024)",
       PAWL_INTO(number(text, 0, 1'000'000), actions.shell.limits.open_files, uint64_t)},
      {"actions.shell.processes", "N",
       "a command may start processes until the server's user has this many, threads included; "
       "0 = no bound (0)",
       PAWL_INTO(number(text, 0, 10'000'000), actions.shell.limits.processes, uint64_t)},
      {"actions.threads", "N", "threads that file and shell actions share (8)",
       PAWL_INTO(number(text, 1, 256), action_threads, uint32_t)},
      {"worlds.threads", "N", "threads that step the modules of worlds (2)",
       PAWL_INTO(number(text, 1, 256), worlds_threads, uint32_t)},
      {"worlds.verify_every", "DURATION", "replay a sample of one world each time; 0s = never (0s)",
       PAWL_INTO(duration(text, 0, 7 * 86'400'000LL), worlds_verify_ms, int64_t)},
  };
#undef PAWL_ADD_TO
}

// Defaults for runs of definitions.
std::vector<Setting> workflows() {
#define PAWL_SCRIPTS(field) engine.core.state.scripts.field
  return {
      {"workflow.max_concurrent", "N", "active runs of definitions; 0 = no bound (0)",
       PAWL_INTO(number(text, 0, 1'000'000'000), PAWL_SCRIPTS(max_concurrent), uint64_t)},
      {"workflow.on_limit", "HOW", "a run beyond that waits or is refused (queue)",
       [](ServeOptions& o, const std::string& text) -> Status {
         if (text != "queue" && text != "reject") return takes("queue or reject", text);
         o.PAWL_SCRIPTS(reject_at_limit) = text == "reject";
         return ok_status();
       },
       false, "queue reject"},
      {"execution.parallel_steps", "BOOL", "a run may have several steps active at once (true)",
       PAWL_INTO(boolean(text), PAWL_SCRIPTS(parallel_steps), bool), false, "true false"},
      {"execution.step_timeout", "DURATION",
       "default timeout of an attempt of an action or job; 0 = none (0)",
       PAWL_INTO(seconds(text), PAWL_SCRIPTS(step_timeout_ms), int64_t)},
      {"retry.default_max_attempts", "N",
       "attempts of `retry` without a policy, the first included",
       PAWL_INTO(number(text, 1, 1001), PAWL_SCRIPTS(retry_attempts), uint32_t)},
      {"retry.default_backoff", "FACTOR", "factor of its delay after each attempt (2.0)",
       PAWL_INTO(factor_milli(text), PAWL_SCRIPTS(retry_multiplier_milli), uint32_t)},
      {"retry.default_initial_delay", "DURATION", "its first delay (1s)",
       PAWL_INTO(seconds(text), PAWL_SCRIPTS(retry_delay_ms), int64_t)},
  };
#undef PAWL_SCRIPTS
}

#undef PAWL_INTO
#undef PAWL_TEXT_INTO

std::string spelled(std::string_view name, char separator, int (*letter)(int)) {
  std::string out;
  for (char c : name) out += c == '.' || c == '_' ? separator : static_cast<char>(letter(c));
  return out;
}

}  // namespace

std::string Setting::flag() const {
  return "--" + spelled(name, '-', [](int c) { return std::tolower(c); });
}
std::string Setting::variable() const {
  return "PAWL_" + spelled(name, '_', [](int c) { return std::toupper(c); });
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> list = basics();
    for (Setting& one : places()) list.push_back(std::move(one));
    for (Setting& one : bounds()) list.push_back(std::move(one));
    for (Setting& one : workflows()) list.push_back(std::move(one));
    for (Setting& one : permissions()) list.push_back(std::move(one));
    return list;
  }();
  return all;
}

const Setting* find_setting(std::string_view name) {
  for (const Setting& one : settings())
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace pawl
