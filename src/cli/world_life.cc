// pawl worlds …: making worlds, changing their programs, and their blobs.
#include <fstream>

#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/given_inputs.h"
#include "cli/json_layout.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr size_t kBlobBytesMax = 128u << 20;

// --- programs

// {own members…, "manifest":…, "nodes":…}
std::string with_members(std::string own, const WorldDirectory& directory) {
  return "{" + own + (own.empty() ? "" : ",") + directory.members() + "}";
}

void print_world(json::View root) {
  json::View world = root.find("world").value_or(root);
  const std::string status = member(world, "status");
  print_pair("name", member(world, "name"));
  print_pair("id", member(world, "id"));
  print_pair("status", status, colour_of_state(status));
  if (auto why = world.find("quarantine"); why && why->is_object()) {
    print_pair("reason", member(*why, "code") + ": " + member(*why, "message"), Colour::Red);
    print_pair("at seq", member(*why, "seq"));
  }
  print_pair("height", member(world, "height"));
  print_pair("manifest", member(world, "manifest_hash"));
  print_pair("created_at", member(world, "created_at"));
  if (auto test = world.find("test"); test && !test->is_null() && test->raw() != "false")
    print_pair("test", test->is_object() ? "clock " + time_of_ns(*test, "now_ns") : "yes");
}

Result<std::string> test_members(const Invocation& given) {
  if (!given.has("--test") && (given.has("--now-ns") || given.has("--seed")))
    return Error{ErrorCode::InvalidRequest, "--now-ns and --seed are for worlds made with --test"};
  if (!given.has("--test")) return std::string();
  PAWL_TRY(int64_t now_ns, given_time_ns(given.text("--now-ns", "0")));
  std::string out;
  json::Writer(out)
      .begin_object()
      .field_int("now_ns", now_ns)
      .field("seed", given.text("--seed", given.argument(0)))
      .end_object();
  return ",\"test\":" + out;
}

int create_world(const Invocation& given) {
  Session session(given);
  auto test = test_members(given);
  if (!test.ok()) return session.fail(test.error());
  auto directory = read_world_directory(session, given.argument(1));
  if (!directory) return session.exit_code();
  std::string own;
  json::Writer w(own);
  w.begin_object().field("name", given.argument(0));
  if (given.has("--id")) w.field("id", given.text("--id"));
  own = own.substr(1) + *test;
  return show_world(session, given,
                    {"POST", "/v1/worlds", with_members(own, *directory), &*directory},
                    [&](json::View root) {
                      print_world(root);
                      print_text("\nSend it an event with 'pawl worlds event " +
                                 printable(given.argument(0)) + " SCHEMA JSON'.\n");
                    });
}

int push_world(const Invocation& given) {
  Session session(given);
  auto directory = read_world_directory(session, given.argument(1));
  if (!directory) return session.exit_code();
  return show_world(session, given,
                    {"POST", world_path(given, "/gov/apply"),
                     with_members("\"direct\":true", *directory), &*directory},
                    print_applied);
}

int validate_world(const Invocation& given) {
  Session session(given);
  auto directory = read_world_directory(session, given.argument(0));
  if (!directory) return session.exit_code();
  const std::string path =
      path_of("/v1/worlds/", given.text("--world", "validate"), "/manifest/validate");
  auto answer =
      ask_world(session, given, {"POST", path, with_members("", *directory), &*directory});
  if (!answer) return session.exit_code();
  const json::View root = answer->root();
  const bool valid = member(root, "valid") == "true";
  if (session.json()) {
    print_text(*answer->text + "\n");
    return valid ? kDone : kRefused;
  }
  print_world_warnings(root, &*directory);
  if (valid) {
    print_text("valid, manifest " + printable(member(root, "manifest_hash")) + "\n");
    return kDone;
  }
  if (auto errors = root.find("errors")) print_world_faults(*errors, true, &*directory);
  complain(counted(count_of(root, "errors"), "error"));
  return kRefused;
}

// --- looking

int list_worlds(const Invocation& given) {
  std::string query =
      query_of({{"limit", given.text("--limit", "100")}, {"cursor", given.text("--cursor")}});
  return Session(given).show("GET", "/v1/worlds" + query, "", [](json::View root) {
    Table table({"NAME", "STATE", "HEIGHT", "MANIFEST", "CREATED"});
    each_of(root, "worlds", [&](json::View world) {
      table.add({member(world, "name"), member(world, "status"), member(world, "height"),
                 short_hash(member(world, "manifest_hash")), member(world, "created_at")});
    });
    print_text(table.empty() ? "no worlds; 'pawl worlds create NAME DIR' makes one\n"
                             : table.text(colours_on(stdout)));
    print_more(root);
  });
}

int get_world(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"GET", world_path(given)}, print_world);
}

int delete_world(const Invocation& given) {
  Session session(given);
  const std::string query = query_of({{"force", given.text("--force")}});
  auto answer = ask_world(session, given, {"DELETE", world_path(given) + query});
  if (!answer) return session.exit_code();
  print_text(session.json() ? *answer->text + "\n"
                            : printable(given.argument(0)) + " is deleted\n");
  return kDone;
}

int get_manifest(const Invocation& given) {
  Session session(given);
  return show_world(session, given, {"GET", world_path(given, "/manifest")}, [](json::View root) {
    print_pair("manifest", member(root, "manifest_hash"));
    print_text(laid_out_json(member(root, "manifest")) + "\n");
  });
}

void print_defs(json::View root) {
  Table table({"NAME", "KIND", "HASH"});
  each_of(root, "defs", [&](json::View def) {
    table.add({member(def, "name"), member(def, "kind"), short_hash(member(def, "hash"))});
  });
  print_text(table.text(colours_on(stdout)));
  print_more(root);
}

int get_defs(const Invocation& given) {
  Session session(given);
  const std::string wanted = given.argument(1);
  const std::string query =
      query_of({{"limit", given.text("--limit", "1000")}, {"cursor", given.text("--cursor")}});
  const WorldCall call{"GET", world_path(given, "/defs") + query};
  if (wanted.empty() || session.json()) return show_world(session, given, call, print_defs);
  auto answer = ask_world(session, given, call);
  if (!answer) return session.exit_code();
  bool found = false;
  each_of(answer->root(), "defs", [&](json::View def) {
    if (member(def, "name") != wanted) return;
    found = true;
    for (const char* name : {"name", "kind", "hash"}) print_pair(name, member(def, name));
    print_text(laid_out_json(member(def, "node")) + "\n");
  });
  if (found) return kDone;
  return session.fail({ErrorCode::NotFound, "the world defines no " + in_quotes(wanted)});
}

// --- blobs

int put_blob(Session& session, const Invocation& given) {
  auto bytes = read_whole_file(given.argument(2), kBlobBytesMax);
  if (!bytes.ok()) return session.fail(bytes.error());
  session.add_header("Content-Type", "application/octet-stream");
  return show_world(
      session, given, {"POST", world_path(given, "/blobs"), *bytes}, [](json::View root) {
        print_pair("blob", member(root, "blob_ref"));
        print_pair("size", bytes_text(static_cast<uint64_t>(member_int(root, "size"))));
      });
}

int get_blob(Session& session, const Invocation& given) {
  auto bytes = session.fetch_text(path_of(world_path(given, "/blobs/"), given.argument(2)));
  if (!bytes) return session.exit_code();
  if (!given.has("--output")) {
    print_text(*bytes);
    return kDone;
  }
  std::ofstream file(given.text("--output"), std::ios::binary | std::ios::trunc);
  file << *bytes;
  file.close();
  if (file) return kDone;
  complain("cannot write " + given.text("--output"));
  return kRefused;
}

int world_blob(const Invocation& given) {
  Session session(given);
  if (given.argument(1) == "put") return put_blob(session, given);
  if (given.argument(1) == "get") return get_blob(session, given);
  return session.fail(
      {ErrorCode::InvalidRequest, "say what to do: blob NAME put FILE, or get REF"});
}

std::vector<Command> program_commands() {
  return {
      remote(
          "worlds create", "make a world of a folder", create_world, {kWorldName, kWorldDir},
          {{"--id", "UUID", "of the world, instead of a generated one"},
           {"--test", "", "a world whose clock and entropy are given"},
           {"--now-ns", "TIME",
            "of --test: where its clock stands, in nanoseconds or RFC 3339 (0)"},
           {"--seed", "TEXT", "of --test: what its entropy comes from (NAME)"}},
          "DIR holds manifest.json or manifest.yaml, and nodes/**/*.json and *.yaml: a node or an "
          "array of nodes each.\nA defmodule's wasm_file names its code, relative to "
          "DIR.\n\nExample:\n  pawl worlds create orders ./orders"),
      remote(
          "worlds push", "change a world's program at once, without a proposal", push_world,
          {kWorldName, kWorldDir}, {},
          "Refused while an instance or an effect is open: see 'pawl worlds propose' for a change "
          "that is tried first."),
      remote("worlds validate", "check a folder; exit 1 if it has errors", validate_world,
             {kWorldDir}, {{"--world", "NAME", "the world whose blobs a wasm_hash may name"}})};
}

}  // namespace

void print_applied(json::View root) {
  print_text("applied as seq " + printable(member(root, "seq")) + ", manifest " +
             printable(member(root, "manifest_hash")) + "\n");
}

std::vector<Command> world_life_commands() {
  std::vector<Command> commands = program_commands();
  const std::vector<Command> more = {
      remote("worlds list", "list worlds", list_worlds, {}, {kWorldLimit, kWorldCursor}),
      remote("worlds get", "show a world", get_world, {kWorldName}),
      remote("worlds delete", "delete a world that is quiet", delete_world, {kWorldName},
             {{"--force", "", "even with open instances and effects"}}),
      remote("worlds manifest", "show a world's manifest", get_manifest, {kWorldName}),
      remote("worlds defs", "list what a world's program defines, or show one definition", get_defs,
             {kWorldName, {"DEF", "its name, as com.acme/Order@1", false}},
             {{"--limit", "N", "at most this many (1000)"}, kWorldCursor}),
      remote("worlds blob", "keep bytes in a world, or read them back", world_blob,
             {kWorldName,
              {"ACTION", "put or get"},
              {"FILE-OR-REF", "the file to keep (- reads standard input), or the blob's hash"}},
             {{"--output", "FILE", "of get: write it there"}},
             "Code and snapshots are blobs too.\n\nExamples:\n  pawl worlds blob orders put "
             "logo.png\n  "
             "pawl worlds blob orders get sha256:… --output logo.png")};
  commands.insert(commands.end(), more.begin(), more.end());
  return commands;
}

}  // namespace pawl::cli
