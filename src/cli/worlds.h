// What the families of `pawl worlds …` share: paths, refusals with their places and next steps, and
// how hashes, keys, times and journal records are shown.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cli/world_directory.h"

namespace pawl::cli {

// Families of `pawl worlds …`, one file each.
std::vector<Command> world_life_commands();      // create, push, validate, list, delete, blob …
std::vector<Command> world_adapter_commands();   // adapters, lease, settle, system-effect
std::vector<Command> world_input_commands();     // event, step-test, clock
std::vector<Command> world_reading_commands();   // instances, effects, state, digest, summary …
std::vector<Command> world_journal_commands();   // journal, watch, trace, diagnose
std::vector<Command> world_proposal_commands();  // propose, shadow, approve, apply …

extern const Parameter kWorldName;
extern const Parameter kWorldDir;
extern const Option kWorldLimit;
extern const Option kWorldCursor;

// "/v1/worlds/NAME" + after; NAME is the first argument.
std::string world_path(const Invocation& given, std::string_view after = "");

// A call about a world. `directory`: where the request's members come from, if from files.
struct WorldCall {
  std::string method;
  std::string path;
  std::string body = {};
  const WorldDirectory* directory = nullptr;
};
// As Session::ask and Session::show. A refusal is explained: faults with their files and lines,
// what blocks an apply, what to do next.
std::optional<Answer> ask_world(Session& session, const Invocation& given, const WorldCall& call);
int show_world(Session& session, const Invocation& given, const WorldCall& call,
               const std::function<void(json::View)>& print);

// The folder DIR, or nothing after printing its faults; exit_code() of the session says which.
std::optional<WorldDirectory> read_world_directory(Session& session, const std::string& path);
// A reply's "errors" or "warnings", to stderr, each with its place.
void print_world_faults(json::View faults, bool errors, const WorldDirectory* directory);
// The reply's "warnings", if it has any.
void print_world_warnings(json::View root, const WorldDirectory* directory);

// The reply of an apply.
void print_applied(json::View root);
// Nanoseconds since 1970, given as such or as RFC 3339.
Result<int64_t> given_time_ns(const std::string& text);

// "sha256:e8dd8652afd9…" as "e8dd8652afd9", any other text as it is.
std::string short_hash(std::string_view hash);
// A member that is sugar JSON of an instance's key: text without quotes, "-" for null.
std::string key_of(json::View holder);
// Nanoseconds since 1970 as RFC 3339 in milliseconds; "" if the member is no number.
std::string time_of_ns(json::View holder, std::string_view name);
// The number of entries of a list, or the number that stands there instead of the list.
int64_t count_of(json::View holder, std::string_view name);
// "3 intents": for people.
std::string counted(int64_t count, std::string_view noun);
// The elements of a reply's list; none if it is no list.
void each_of(json::View root, std::string_view list, const std::function<void(json::View)>& visit);

}  // namespace pawl::cli
