// pawl jobs …
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/read_number.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kJobs = "/ojs/v1/jobs";

bool is_over(std::string_view state) {
  return state == "completed" || state == "cancelled" || state == "discarded";
}

void print_job(json::View root) {
  json::View job = root.find("job").value_or(root);
  std::string state = member(job, "state");
  print_pair("id", member(job, "id"));
  print_pair("type", member(job, "type"));
  print_pair("state", state, colour_of_state(state));
  print_pair("queue", member(job, "queue"));
  print_pair("attempt", member(job, "attempt") + " of " + member(job, "max_attempts"));
  if (member(job, "priority") != "0") print_pair("priority", member(job, "priority"));
  print_pair("args", member(job, "args"));
  if (member(job, "meta") != "{}") print_pair("meta", member(job, "meta"));
  for (const char* name : {"created_at", "scheduled_at", "started_at", "next_attempt_at",
                           "completed_at", "cancelled_at", "discarded_at", "worker_id", "result"})
    print_pair(name, member(job, name));
  if (auto error = job.find("error"); error && error->is_object())
    print_pair("error", member(*error, "code") + ": " + member(*error, "message"), Colour::Red);
}

// Builds the envelope; checks only its syntax, the server checks the rest.
class Envelope {
 public:
  explicit Envelope(const Invocation& given) : given_(given) {}

  Result<std::string> build() {
    json::ObjectWriter w;
    w.field("type", given_.argument(0));
    raw(w, "args", "--args", "[]");
    if (given_.has("--id")) w.field("id", given_.text("--id"));
    if (given_.has("--meta")) raw(w, "meta", "--meta", "{}");
    json::ObjectWriter o;
    build_options(o);
    std::string options = o.close();
    if (options != "{}") w.field_raw("options", options);
    if (!error_.empty()) return Error{ErrorCode::InvalidRequest, error_};
    return w.close();
  }

 private:
  void build_options(json::Writer& w) {
    if (given_.has("--queue")) w.field("queue", given_.text("--queue"));
    number(w, "priority", "--priority");
    if (given_.has("--delay")) w.field("delay_until", "+" + iso(given_.text("--delay"), "--delay"));
    if (given_.has("--at")) w.field("delay_until", given_.text("--at"));
    if (given_.has("--expires"))
      w.field("expires_at", "+" + iso(given_.text("--expires"), "--expires"));
    if (given_.has("--timeout"))
      w.field_int("timeout_ms", span(given_.text("--timeout"), "--timeout"));
    if (!given_.texts("--tag").empty()) {
      w.key("tags").begin_array();
      for (const std::string& tag : given_.texts("--tag")) w.string(tag);
      w.end_array();
    }
    build_retry(w);
    build_unique(w);
  }
  void build_retry(json::Writer& w) {
    if (!given_.has("--attempts") && !given_.has("--retry-after") && !given_.has("--dead-letter"))
      return;
    w.key("retry").begin_object();
    number(w, "max_attempts", "--attempts");
    if (given_.has("--retry-after"))
      w.field("initial_interval", iso(given_.text("--retry-after"), "--retry-after"));
    if (given_.has("--dead-letter")) w.field("on_exhaustion", "dead_letter");
    w.end_object();
  }
  void build_unique(json::Writer& w) {
    if (!given_.has("--unique")) return;
    w.key("unique").begin_object().key("keys").begin_array();
    std::string keys = given_.text("--unique") + ",";
    for (size_t at = 0, end; (end = keys.find(',', at)) != std::string::npos; at = end + 1)
      if (end > at) w.string(keys.substr(at, end - at));
    w.end_array();
    if (given_.has("--unique-period"))
      w.field("period", iso(given_.text("--unique-period"), "--unique-period"));
    if (given_.has("--on-conflict")) w.field("on_conflict", given_.text("--on-conflict"));
    w.end_object();
  }

  void raw(json::Writer& w, std::string_view name, const std::string& option,
           const std::string& fallback) {
    std::string text = given_.text(option, fallback);
    if (auto doc = json::parse(text); !doc.ok())
      complain_about(option + " takes JSON, not " + in_quotes(text) + ": " + doc.error().message);
    w.field_raw(name, text);
  }
  void number(json::Writer& w, std::string_view name, const std::string& option) {
    if (!given_.has(option)) return;
    std::string text = given_.text(option);
    int64_t value = 0;
    if (!read_number(text, value))
      complain_about(option + " takes a number, not " + in_quotes(text));
    w.field_int(name, value);
  }
  int64_t span(const std::string& text, const std::string& option) {
    auto ms = parse_span(text);
    if (ms.ok()) return *ms;
    complain_about(option + ": " + ms.error().message);
    return 0;
  }
  std::string iso(const std::string& text, const std::string& option) {
    return format_iso_duration_ms(span(text, option));
  }
  void complain_about(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  const Invocation& given_;
  std::string error_;
};

// Polls with growing intervals until the job has ended. kDone only if it completed.
int wait_for(Session& session, const std::string& id, const std::string& limit_text) {
  using std::chrono::milliseconds;
  auto limit = parse_span(limit_text);
  if (!limit.ok())
    return session.fail({ErrorCode::InvalidRequest, "--limit: " + limit.error().message});
  auto end = std::chrono::steady_clock::now() + milliseconds(*limit);
  for (milliseconds pause_job(20);; pause_job = std::min(pause_job * 3 / 2, milliseconds(1000))) {
    auto answer = session.ask("GET", path_of(std::string(kJobs) + "/", id));
    if (!answer) return session.exit_code();
    std::string state = member(answer->root().find("job").value_or(answer->root()), "state");
    bool late = std::chrono::steady_clock::now() >= end;
    if (is_over(state) || late) {
      session.json() ? print_text(*answer->text + "\n") : print_job(answer->root());
      if (!is_over(state))
        complain("the job is still " + printable(state) + " after " + span_text(*limit));
      return state == "completed" ? kDone : kRefused;
    }
    std::this_thread::sleep_for(pause_job);
  }
}

int push(const Invocation& given) {
  Session session(given);
  auto body = Envelope(given).build();
  if (!body.ok()) return session.fail(body.error());
  if (given.has("--idempotency-key"))
    session.add_header("Idempotency-Key", given.text("--idempotency-key"));
  if (!given.has("--wait")) return session.show("POST", kJobs, *body, print_job);
  auto answer = session.ask("POST", kJobs, *body);
  if (!answer) return session.exit_code();
  return wait_for(session, member(answer->root().find("job").value_or(answer->root()), "id"),
                  given.text("--limit", "1h"));
}

int get_job(const Invocation& given) {
  return Session(given).show("GET", path_of("/ojs/v1/jobs/", given.argument(0)), "", print_job);
}

int list_jobs(const Invocation& given) {
  std::string query = query_of(given, {"queue", "state", "type", "limit", "cursor"}, "50");
  return Session(given).show("GET", kJobs + query, "",
                             [](json::View root) { print_jobs(root, "no jobs"); });
}

int cancel_job(const Invocation& given) {
  return Session(given).show("DELETE", path_of("/ojs/v1/jobs/", given.argument(0)), "", print_job);
}

int retry_job(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/jobs/", given.argument(0), "/retry"), "{}",
                             print_job);
}

int wait(const Invocation& given) {
  Session session(given);
  return wait_for(session, given.argument(0), given.text("--limit", "1h"));
}

const char* kPushDetails =
    "Examples:\n"
    "  pawl jobs push email.send --args '[\"ada@example.org\"]' --queue mail\n"
    "  pawl jobs push report.build --args '[7]' --delay 5m --attempts 5 --dead-letter\n"
    "  pawl jobs push sync.user --args '[42]' --unique type,args --unique-period 1h --on-conflict "
    "ignore\n"
    "  pawl jobs push thumb.make --args '[\"a.png\"]' --wait\n"
    "\nDurations: 1h30m, 500ms, 2d, or ISO 8601 as PT90S. Exit 0 once the job is on the server's "
    "disk; with --wait once it\n"
    "completed, 1 if it was discarded or cancelled.";

const Parameter kJobId{"ID", "the job's id"};
const Option kJobLimit{"--limit", "DURATION", "give up waiting after this time (1h)"};

}  // namespace

void print_jobs(json::View root, std::string_view none) {
  Table table({"ID", "TYPE", "QUEUE", "STATE", "ATTEMPT", "CREATED"});
  auto jobs = root.find("jobs");
  if (jobs)
    jobs->each_element([&](json::View job) {
      table.add({member(job, "id"), member(job, "type"), member(job, "queue"), member(job, "state"),
                 member(job, "attempt") + "/" + member(job, "max_attempts"),
                 member(job, "created_at")});
    });
  if (table.empty()) return print_text(std::string(none) + "\n");
  print_text(table.text(colours_on(stdout)));
  json::View page = root.find("pagination").value_or(root);
  std::string next = member(page, "next_cursor");
  if (!next.empty()) print_text("more: --cursor " + printable(next) + "\n");
}

std::vector<Command> job_commands() {
  std::vector<Option> push_options = {
      {"--args", "JSON", "an array, by default []"},
      {"--queue", "NAME", "by default 'default'"},
      {"--priority", "N", "-100 to 100, higher first"},
      {"--delay", "DURATION", "not before this has passed"},
      {"--at", "TIME", "not before this RFC 3339 time"},
      {"--expires", "DURATION", "discard it if no worker has taken it by then"},
      {"--timeout", "DURATION", "an attempt may take this long"},
      {"--attempts", "N", "executions at most"},
      {"--retry-after", "DURATION", "the first wait between attempts; it doubles"},
      {"--dead-letter", "", "keep it in the dead letter queue when attempts run out"},
      {"--unique", "KEYS", "no second job with the same type,args,queue,meta"},
      {"--unique-period", "DURATION", "uniqueness ends after this"},
      {"--on-conflict", "POLICY", "what happens to a second job",
       "reject ignore replace replace_except_schedule"},
      {"--meta", "JSON", "an object that travels with the job"},
      {"--tag", "TAG", "may be repeated"},
      {"--id", "UUID", "a UUIDv7 of your own"},
      {"--idempotency-key", "KEY", "repeated requests push one job"},
      {"--wait", "", "wait until the job ends"},
      kJobLimit};
  std::vector<Option> list_options = {
      {"--queue", "NAME", "only this queue"},
      {"--state", "STATE", "only this state",
       "scheduled available pending active completed retryable cancelled discarded"},
      {"--type", "TYPE", "only this type"},
      {"--limit", "N", "at most this many (50)"},
      {"--cursor", "CURSOR", "continue where the last page ended"}};
  return {
      remote("jobs push", "push a job", push, {{"TYPE", "such as email.send"}}, push_options,
             kPushDetails),
      remote("jobs get", "show a job", get_job, {kJobId}),
      remote("jobs list", "list jobs", list_jobs, {}, list_options,
             "Examples:\n  pawl jobs list --state discarded\n  pawl jobs list --queue mail --json"),
      remote("jobs cancel", "cancel an unfinished job", cancel_job, {kJobId}),
      remote("jobs retry", "run a discarded job again", retry_job, {kJobId}),
      remote("jobs wait", "wait until a job ends", wait, {kJobId}, {kJobLimit},
             "Exit 0 if it completed, 1 if it was discarded, cancelled, or does not end in time.")};
}

}  // namespace pawl::cli
