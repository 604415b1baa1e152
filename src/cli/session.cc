#include "cli/session.h"

#include <cstdio>
#include <cstdlib>

#include "base/quote.h"
#include "base/time.h"
#include "base/url.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8080";

std::string from(const Invocation& given, const std::string& option, const char* variable,
                 const std::string& fallback = "") {
  const char* set = std::getenv(variable);
  return given.text(option, set != nullptr && *set != '\0' ? set : fallback);
}

// Prints all complaints, if there are more than the message says. The message of a single one may
// lack the place: "/ctx/now_ns".
void print_complaints(json::View error) {
  auto details = error.find("details");
  auto list = details ? details->find("validation_errors") : std::nullopt;
  if (!list || !list->is_array()) return;
  const bool single = list->size() < 2;
  list->each_element([single](json::View one) {
    std::string path = member(one, "path");
    if (single && !path.starts_with('/')) return;
    std::fprintf(stderr, "      %s%s\n", path.empty() ? "" : (printable(path) + ": ").c_str(),
                 printable(member(one, "message")).c_str());
  });
}

}  // namespace

Command remote(const std::string& path, const std::string& summary, int (*run)(const Invocation&),
               std::vector<Parameter> parameters, std::vector<Option> own,
               const std::string& details) {
  own.push_back({"--json", "", "print the server's JSON unchanged"});
  own.push_back({"--url", "URL", std::string("the server (PAWL_URL), by default ") + kDefaultUrl});
  own.push_back({"--key", "KEY", "API key (PAWL_API_KEY)"});
  own.push_back({"--tenant", "NAME", "act for this tenant (PAWL_TENANT)"});
  own.push_back(
      {"--ca-file", "FILE", "certificates to trust instead of the system's (PAWL_CA_FILE)"});
  return {path, summary, std::move(parameters), std::move(own), details, run};
}

Session::Session(const Invocation& given, int silence_s) : json_(given.has("--json")) {
  auto url = parse_url(from(given, "--url", "PAWL_URL", kDefaultUrl));
  if (!url.ok()) {
    complain(url.error().message);
    exit_ = kUsage;
    return;
  }
  HttpOptions options;
  options.silence_s = silence_s;
  options.ca_file = from(given, "--ca-file", "PAWL_CA_FILE");
  client_.emplace(std::move(url).value(), options);
  headers_.emplace_back("Accept", "application/json");
  headers_.emplace_back("User-Agent", "pawl-cli");
  if (std::string key = from(given, "--key", "PAWL_API_KEY"); !key.empty())
    headers_.emplace_back("Authorization", "Bearer " + key);
  if (std::string tenant = from(given, "--tenant", "PAWL_TENANT"); !tenant.empty())
    headers_.emplace_back("X-OJS-Tenant", tenant);
}

std::string Session::url() const { return client_ ? client_->url().text() : ""; }

Result<HttpReply> Session::call(std::string_view method, std::string_view path,
                                std::string_view body) {
  if (!client_) return Error{ErrorCode::InvalidRequest, "no server to call"};
  return client_->call(method, path, body, headers_);
}

Result<HttpReply> Session::stream(std::string_view path, FunctionRef<bool(std::string_view)> take,
                                  const std::string& last_event_id) {
  if (!client_) return Error{ErrorCode::InvalidRequest, "no server to call"};
  Headers headers = headers_;
  headers[0].second = "text/event-stream";
  if (!last_event_id.empty()) headers.emplace_back("Last-Event-ID", last_event_id);
  return client_->stream(path, headers, take);
}

int Session::fail(const Error& error) {
  if (!client_) return exit_ = kUsage;
  complain(error.message);
  if (error.code == ErrorCode::Unavailable) {
    std::string hint = error.message.rfind("no TLS", 0) == 0
                           ? "--ca-file or PAWL_CA_FILE names certificates to trust."
                           : "Is the server running? 'pawl serve' starts one; --url or PAWL_URL "
                             "says where it is (now " +
                                 url() + ").";
    std::fprintf(stderr, "      %s\n", hint.c_str());
    return exit_ = kNoServer;
  }
  return exit_ = error.code == ErrorCode::InvalidRequest ? kUsage : kRefused;
}

void Session::print_refusal(const HttpReply& reply) const {
  if (json_ && json::parse(reply.body).ok()) print_text(reply.body + "\n");
}

int Session::refuse(const HttpReply& reply) {
  print_refusal(reply);
  auto doc = json::parse(reply.body);
  auto error = doc.ok() ? doc->root().find("error") : std::nullopt;
  std::string message = error ? member(*error, "message") : "";
  std::string code = error ? member(*error, "code") : "";
  if (message.empty()) message = "the server answered " + std::to_string(reply.status);
  complain(printable(message) + (code.empty() ? "" : " (" + printable(code) + ")"));
  if (error) print_complaints(*error);
  if (reply.status == 401)
    std::fputs("      Give a key with --key or PAWL_API_KEY; 'pawl keys create' makes one.\n",
               stderr);
  if (reply.status == 404 && message == "no such path")
    std::fputs("      Is this the URL of a pawl server of the same version?\n", stderr);
  return exit_ = kRefused;
}

std::optional<Answer> Session::ask(std::string_view method, std::string_view path,
                                   std::string_view body) {
  return read(call(method, path, body));
}

std::optional<Answer> Session::read(Result<HttpReply> reply) {
  if (!reply.ok()) {
    fail(reply.error());
    return std::nullopt;
  }
  if (reply->status / 100 != 2) {
    refuse(*reply);
    return std::nullopt;
  }
  Answer answer{std::make_unique<std::string>(std::move(reply->body)), {}};
  if (answer.text->empty()) *answer.text = "{}";
  auto doc = json::parse(*answer.text);
  if (!doc.ok()) {
    fail({ErrorCode::Malformed, "the reply is not JSON: " + in_quotes(*answer.text)});
    return std::nullopt;
  }
  answer.doc = std::move(doc).value();
  return answer;
}

std::optional<std::string> Session::fetch_text(std::string_view path) {
  auto reply = call("GET", path);
  if (!reply.ok()) {
    fail(reply.error());
    return std::nullopt;
  }
  if (reply->status / 100 == 2) return std::move(reply->body);
  refuse(*reply);
  return std::nullopt;
}

int Session::show(std::string_view method, std::string_view path, std::string_view body,
                  const std::function<void(json::View)>& print) {
  auto answer = ask(method, path, body);
  if (!answer) return exit_;
  if (json_) {
    print_text(*answer->text + "\n");
  } else {
    print(answer->root());
  }
  return kDone;
}

std::string member(json::View object, std::string_view name) {
  auto found = object.find(name);
  if (!found || found->is_null()) return "";
  return found->is_string() ? found->string() : std::string(found->raw());
}

int64_t member_int(json::View object, std::string_view name) {
  auto found = object.find(name);
  return found ? found->as_int().value_or(0) : 0;
}

std::string path_of(std::string_view before, std::string_view segment, std::string_view after) {
  return std::string(before) + percent_encode(segment) + std::string(after);
}

Result<int64_t> parse_span(std::string_view text) {
  return text.substr(0, 1) == "P" ? parse_iso_duration_ms(text) : parse_duration_ms(text);
}

std::string query_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string query;
  for (const auto& [name, value] : pairs)
    if (!value.empty()) query += (query.empty() ? "?" : "&") + name + "=" + percent_encode(value);
  return query;
}

std::string query_of(const Invocation& given, std::initializer_list<const char*> names,
                     const std::string& limit) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string name : names)
    pairs.emplace_back(name, given.text("--" + name, name == "limit" ? limit : ""));
  return query_of(pairs);
}

void print_pair(std::string_view name, const std::string& value, Colour colour) {
  if (value.empty()) return;
  std::string line(name);
  line.resize(std::max<size_t>(line.size(), 12), ' ');
  print_text(line + " " + painted(printable(value), colour, colours_on(stdout)) + "\n");
}

void print_more(json::View root) {
  if (std::string next = member(root, "next_cursor"); !next.empty())
    print_text("more: --cursor " + printable(next) + "\n");
}

void print_explanation(json::View root) {
  std::string status = member(root, "status");
  print_pair("status", status, colour_of_state(status));
  if (auto ended = root.find("ended"); ended && ended->is_object()) {
    print_pair("ended_at", member(*ended, "at"));
    print_pair("reason", member(*ended, "reason"));
    if (auto error = ended->find("error"); error && error->is_object())
      print_pair("error", member(*error, "message"), Colour::Red);
    return;
  }
  bool any = false;
  auto waits = root.find("waiting_for");
  if (waits)
    waits->each_element([&](json::View wait) {
      any = true;
      std::string step = member(wait, "step_id");
      std::string detail = member(wait, "detail");
      if (auto effect = wait.find("detail"); effect && effect->is_object())  // of a module
        detail = "effect " + member(*effect, "kind") + ", " + member(*effect, "state");
      print_text((step.empty() ? "" : printable(step) + ": ") + printable(detail) + " (since " +
                 printable(member(wait, "since")) + ")\n");
    });
  if (!any) print_text("waits for nothing\n");
  int64_t more =
      member_int(root, "waiting_total") - static_cast<int64_t>(waits ? waits->size() : 0);
  if (more > 0) print_text("… and " + std::to_string(more) + " more\n");
  if (auto next = root.find("next"))
    next->each_element([&](json::View step) {
      std::string after = member(step, "after");
      print_text("next: " + printable(member(step, "step_id")) + " " +
                 printable(member(step, "type")) +
                 (after.empty() ? "" : ", after " + printable(after)) + "\n");
    });
}

void print_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace pawl::cli
