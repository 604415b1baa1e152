// pawl worlds …: what its families share.
#include "cli/worlds.h"

#include <cstdio>
#include <iterator>

#include "base/time.h"

namespace pawl::cli {
namespace {

void hint(const std::string& text) { std::fprintf(stderr, "      %s\n", text.c_str()); }

std::string detail(json::View error, std::string_view name) {
  auto details = error.find("details");
  return details ? member(*details, name) : "";
}

void print_indented(const Table& table) {
  if (table.empty()) return;
  const std::string text = table.text(colours_on(stderr));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::fprintf(stderr, "      %s\n", text.substr(at, end - at).c_str());
    at = end + 1;
  }
}

// Details of apply.blocked: what must end first.
void print_blockers(json::View error, const std::string& world) {
  auto details = error.find("details");
  auto blockers = details ? details->find("blockers") : std::nullopt;
  if (!blockers) return;
  Table instances({"RUN", "MODULE", "KEY", "STATE"});
  each_of(*blockers, "non_terminal_instances", [&](json::View one) {
    instances.add(
        {member(one, "run_id"), member(one, "module"), key_of(one), member(one, "status")});
  });
  print_indented(instances);
  Table intents({"RUN", "EFFECT", "INTENT", "OPEN FOR"});
  each_of(*blockers, "inflight_intents", [&](json::View one) {
    intents.add({member(one, "run_id"), member(one, "effect_kind"),
                 short_hash(member(one, "intent_hash")),
                 span_text(member_int(one, "age_ns") / 1'000'000)});
  });
  print_indented(intents);
  if (const int64_t queued = count_of(*blockers, "queued_work"); queued > 0)
    hint(counted(queued, "intent") + " not taken by an adapter, timers included");
  hint("Nothing was changed. Let them end, or end one with 'pawl runs cancel RUN';");
  hint("'pawl worlds summary " + world + "' says when it is quiet.");
}

// The next step after a refusal that has one.
void print_way_on(json::View error, const WorldCall& call, const std::string& world) {
  const std::string code = member(error, "code");
  const std::string seq = detail(error, "seq");
  if (code == "apply.blocked") return print_blockers(error, world);
  if (code == "world.exists") hint("'pawl worlds push " + world + " DIR' changes its program.");
  if (code == "world.quarantined") hint("'pawl worlds get " + world + "' says why. Reads work.");
  if (code == "world.busy" && call.method == "DELETE")
    hint("--force deletes it with all its instances, whatever they wait for.");
  if (code == "gov.stale_base")
    hint("The program has changed since it was proposed: propose it again.");
  if (code == "replay.genesis_gone")
    hint("Retention has removed the first frames: --from baseline.");
  if ((code == "replay.divergence" || code == "journal.corrupt") && !seq.empty())
    hint("'pawl worlds journal " + world + " --from " + seq +
         "' shows the frame. The world is quarantined: reads work, writes do not.");
}

std::string fault_line(json::View fault, bool errors, const WorldDirectory* directory) {
  const bool colours = colours_on(stderr);
  const std::string kind = errors ? painted("error:", Colour::Red, colours)
                                  : painted("warning:", Colour::Yellow, colours);
  if (fault.is_string()) return kind + " " + printable(fault.string());
  const std::string pointer = member(fault, "path");
  const std::string code = member(fault, "code");
  const WorldDirectory::Place place =
      directory != nullptr ? directory->place_of(pointer) : WorldDirectory::Place{"", pointer};
  std::string line = place.file.empty() ? "" : printable(place.file) + ": ";
  line += kind + " ";
  if (!place.pointer.empty()) line += printable(place.pointer) + ": ";
  line += printable(member(fault, "message"));
  return code.empty() ? line : line + " (" + printable(code) + ")";
}

int refuse_world(Session& session, const Invocation& given, const WorldCall& call,
                 const HttpReply& reply) {
  auto doc = json::parse(reply.body);
  auto error = doc.ok() ? doc->root().find("error") : std::nullopt;
  if (!error) return session.refuse(reply);
  auto details = error->find("details");
  auto faults = details ? details->find("validation_errors") : std::nullopt;
  if (call.directory != nullptr && faults && faults->size() > 0) {
    session.print_refusal(reply);
    print_world_faults(*faults, true, call.directory);
    // The server's message tells a client where in its reply the faults are.
    const std::string code = member(*error, "code");
    const std::string message =
        code == "manifest.invalid" ? "the program is not valid" : member(*error, "message");
    return session.fail({ErrorCode::InvalidContent,
                         printable(message) + " (" + printable(code) + "); nothing was changed"});
  }
  const int code = session.refuse(reply);
  print_way_on(*error, call, printable(given.argument(0)));
  return code;
}

}  // namespace

const Parameter kWorldName{"NAME", "the world's name"};
const Parameter kWorldDir{"DIR", "its folder: manifest.json or .yaml, and nodes/"};
const Option kWorldLimit{"--limit", "N", "at most this many (100)"};
const Option kWorldCursor{"--cursor", "CURSOR", "continue where the last page ended"};

std::string world_path(const Invocation& given, std::string_view after) {
  return path_of("/v1/worlds/", given.argument(0), after);
}

std::optional<Answer> ask_world(Session& session, const Invocation& given, const WorldCall& call) {
  auto reply = session.call(call.method, call.path, call.body);
  if (reply.ok() && reply->status / 100 != 2) {
    refuse_world(session, given, call, *reply);
    return std::nullopt;
  }
  return session.read(std::move(reply));
}

int show_world(Session& session, const Invocation& given, const WorldCall& call,
               const std::function<void(json::View)>& print) {
  auto answer = ask_world(session, given, call);
  if (!answer) return session.exit_code();
  if (session.json()) {
    print_text(*answer->text + "\n");
  } else {
    print(answer->root());
    print_world_warnings(answer->root(), call.directory);
  }
  return kDone;
}

std::optional<WorldDirectory> read_world_directory(Session& session, const std::string& path) {
  auto directory = WorldDirectory::read(path);
  if (!directory.ok()) {
    session.fail(directory.error());
    return std::nullopt;
  }
  if (directory->faults().empty()) return std::move(directory).value();
  for (const std::string& fault : directory->faults())
    std::fprintf(stderr, "%s\n", printable(fault).c_str());
  session.fail({ErrorCode::InvalidContent, "nothing was sent"});
  return std::nullopt;
}

void print_world_faults(json::View faults, bool errors, const WorldDirectory* directory) {
  faults.each_element([&](json::View fault) {
    std::fprintf(stderr, "%s\n", fault_line(fault, errors, directory).c_str());
  });
}

void print_world_warnings(json::View root, const WorldDirectory* directory) {
  if (auto warnings = root.find("warnings")) print_world_faults(*warnings, false, directory);
}

std::string short_hash(std::string_view hash) {
  constexpr std::string_view kPrefix = "sha256:";
  constexpr size_t kShown = 12;
  if (hash.substr(0, kPrefix.size()) != kPrefix) return std::string(hash);
  return std::string(hash.substr(kPrefix.size(), kShown));
}

std::string key_of(json::View holder) {
  const std::string key = member(holder, "key");
  return key.empty() ? "-" : key;
}

std::string time_of_ns(json::View holder, std::string_view name) {
  auto value = holder.find(name);
  auto ns = value ? value->as_int() : std::nullopt;
  return ns ? format_rfc3339_ms(*ns / 1'000'000) : "";
}

int64_t count_of(json::View holder, std::string_view name) {
  auto found = holder.find(name);
  if (found && found->is_array()) return static_cast<int64_t>(found->size());
  return found ? found->as_int().value_or(0) : 0;
}

std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void each_of(json::View root, std::string_view list, const std::function<void(json::View)>& visit) {
  if (auto found = root.find(list)) found->each_element(visit);
}

std::vector<Command> world_commands() {
  std::vector<Command> all;
  for (auto family : {world_life_commands, world_input_commands, world_reading_commands,
                      world_journal_commands, world_proposal_commands, world_adapter_commands}) {
    std::vector<Command> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace pawl::cli
