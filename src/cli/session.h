// Session: a command's calls to a server: address, key, and printing of errors. Every command ends
// with its exit code (command.h). Thread: one at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/http_client.h"
#include "cli/terminal.h"

namespace pawl::cli {

// A command that calls a server: its own options are followed by those that all of them take.
Command remote(const std::string& path, const std::string& summary, int (*run)(const Invocation&),
               std::vector<Parameter> parameters = {}, std::vector<Option> own = {},
               const std::string& details = {});

// A reply's JSON with the text it points into.
struct Answer {
  std::unique_ptr<std::string> text;
  json::Doc doc;

  json::View root() const { return doc.root(); }
};

class Session {
 public:
  // --url or PAWL_URL or http://127.0.0.1:8080; --key or PAWL_API_KEY; --tenant or PAWL_TENANT;
  // --ca-file or PAWL_CA_FILE.
  // `silence_s`: how long a reply may take to begin.
  explicit Session(const Invocation& given, int silence_s = HttpOptions{}.silence_s);

  // The answer to a call, or nothing after printing the error on stderr; exit_code() then gives the
  // kind of failure.
  std::optional<Answer> ask(std::string_view method, std::string_view path,
                            std::string_view body = {});
  // The same for a reply that is there.
  std::optional<Answer> read(Result<HttpReply> reply);
  // Calls and prints: the unchanged JSON with --json, else by `print`.
  int show(std::string_view method, std::string_view path, std::string_view body,
           const std::function<void(json::View)>& print);
  // A reply that is not JSON, such as a diagram. Nothing after printing the error, as ask().
  std::optional<std::string> fetch_text(std::string_view path);
  // As ask(), but the caller checks the status: prints no error about a reply.
  Result<HttpReply> call(std::string_view method, std::string_view path,
                         std::string_view body = {});
  Result<HttpReply> stream(std::string_view path, FunctionRef<bool(std::string_view)> take,
                           const std::string& last_event_id = "");

  int exit_code() const { return exit_; }
  bool json() const { return json_; }
  std::string url() const;
  void add_header(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
  }

  // Prints the error, and returns its exit code.
  int fail(const Error& error);
  int refuse(const HttpReply& reply);
  // With --json: the refusal on stdout, for programs, beside the words on stderr. refuse() does it.
  void print_refusal(const HttpReply& reply) const;

 private:
  std::optional<HttpClient> client_;
  Headers headers_;
  bool json_ = false;
  int exit_ = kDone;
};

// Reading replies: a member's text, number or raw JSON; "" where it is not there or null.
std::string member(json::View object, std::string_view name);
int64_t member_int(json::View object, std::string_view name);
// "/ojs/v1/jobs/" + the segment, percent-encoded.
std::string path_of(std::string_view before, std::string_view segment, std::string_view after = "");
// "1m30s", "PT90S" → milliseconds.
Result<int64_t> parse_span(std::string_view text);
// "?a=b&c=d" of the pairs that are not empty.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& pairs);
// The same of the options that the parameters are named after; limit: for where --limit is missing.
std::string query_of(const Invocation& given, std::initializer_list<const char*> names,
                     const std::string& limit = {});
void print_text(std::string_view text);  // to stdout, as it is
// "name         value", or nothing at all for an empty value.
void print_pair(std::string_view name, const std::string& value, Colour colour = Colour::None);
// How to get the next page, if there is one.
void print_more(json::View root);
// Prints the reply of an explain call, for a run or a job.
void print_explanation(json::View root);
// A reply's "jobs" as a table, and how to get the next page.
void print_jobs(json::View root, std::string_view none);

}  // namespace pawl::cli
