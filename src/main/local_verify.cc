// pawl verify: every partition of a directory or a database.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/json_writer.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "cluster/visit.h"
#include "engine/verify.h"
#include "kernel/worlds/checked_row.h"
#include "main/local.h"
#include "store/sqlite_store.h"
#include "wasm/wasm_host.h"
#include "worldhost/verify_worlds.h"

namespace pawl {
namespace {

using cli::Invocation;

// What a partition comes to.
struct PartitionVerdict {
  VerifyReport report;
  std::vector<WorldVerdict> worlds;

  bool worlds_good() const {
    return std::all_of(worlds.begin(), worlds.end(),
                       [](const WorldVerdict& world) { return world.code.empty(); });
  }
  bool good() const { return report.good() && worlds_good(); }
};

void write_verdict(json::Writer& w, const PartitionVerdict& verdict) {
  const VerifyReport& report = verdict.report;
  w.field_bool("good", verdict.good());
  w.field_int("records", report.records).field_int("events", report.events);
  w.field_int("first_record", report.first_record);
  w.field_int("entities", report.entities);
  w.field_int("entities_too_old", report.entities_old);
  w.field_int("index_entries", report.index_entries);
  w.field_int("differences", report.differences);
  w.key("first_differences").begin_array();
  for (const VerifyDifference& one : report.first_differences) w.string(one.text());
  w.end_array().field("digest", report.digest);
  if (!report.digest_replayed.empty()) w.field("digest_replayed", report.digest_replayed);
  w.key("worlds").begin_array();
  for (const WorldVerdict& world : verdict.worlds) {
    w.begin_object().field("name", world.name).field_bool("good", world.code.empty());
    w.field_int("frames", world.frames);
    if (!world.code.empty()) w.field("code", world.code).field("message", world.message);
    w.end_object();
  }
  w.end_array();
}

// Of one partition its verdict, of several {"good", "partitions": [verdict, …]}.
std::string verdicts_json(const std::vector<PartitionVerdict>& verdicts) {
  json::ObjectWriter w;
  if (verdicts.size() == 1) {
    write_verdict(w, verdicts[0]);
    return w.close();
  }
  w.field_bool("good", std::all_of(verdicts.begin(), verdicts.end(),
                                   [](const PartitionVerdict& one) { return one.good(); }));
  w.key("partitions").begin_array();
  for (size_t id = 0; id < verdicts.size(); ++id) {
    w.begin_object().field_int("id", id);
    write_verdict(w, verdicts[id]);
    w.end_object();
  }
  w.end_array();
  return w.close();
}

// What is verified: a directory, or a database that this command visits.
struct Verified {
  std::vector<std::unique_ptr<Store>> directory;
  std::unique_ptr<cluster::Visit> visit;

  std::vector<Store*> stores() const {
    std::vector<Store*> all;
    for (const auto& one : directory) all.push_back(one.get());
    if (visit)
      for (const auto& one : visit->stores()) all.push_back(one.get());
    return all;
  }
};

Result<Verified> open_to_verify(const Invocation& given) {
  Verified verified;
  if (given.has("--store")) {
    PAWL_TRY(verified.visit, cluster::Visit::begin(given.text("--store"), "verify", 0));
  } else {
    PAWL_TRY(verified.directory, open_existing_data(data_of(given)));
  }
  return verified;
}

Result<PartitionVerdict> verify_partition(Store& store) {
  PartitionVerdict verdict;
  PAWL_TRY(verdict.report, [&] {
    cli::ProgressBar bar("verify");
    return verify(store, [&](uint64_t done, uint64_t total) { bar.show(done, total); });
  }());
  wasm::WasmHost modules;
  PAWL_TRY(verdict.worlds, verify_worlds(store, modules, [](const std::string&) {}));
  return verdict;
}

void print_verdict(const PartitionVerdict& verdict) {
  const VerifyReport& report = verdict.report;
  cli::print_text("replayed " + std::to_string(report.records) + " records, " +
                  std::to_string(report.events) + " events; compared " +
                  std::to_string(report.entities) + " entities and " +
                  std::to_string(report.index_entries) + " index entries\n");
  if (report.entities_old > 0)
    cli::print_text(std::to_string(report.entities_old) +
                    " entities are older than the journal and were not compared\n");
  for (const VerifyDifference& one : report.first_differences)
    cli::print_text("  " + cli::printable(one.text()) + "\n");
  for (const WorldVerdict& world : verdict.worlds)
    cli::print_text("world " + cli::printable(world.name) + ": " +
                    (world.code.empty() ? "replayed " + std::to_string(world.frames) + " frames"
                                        : world.code + ": " + cli::printable(world.message)) +
                    "\n");
  if (verdict.good()) cli::print_text("digest " + report.digest + "\n");
}

int conclude(const std::vector<PartitionVerdict>& verdicts) {
  uint64_t differences = 0;
  bool worlds_good = true;
  bool good = true;
  for (const PartitionVerdict& one : verdicts) {
    differences += one.report.differences;
    worlds_good = worlds_good && one.worlds_good();
    good = good && one.report.good();
  }
  if (!good) {
    cli::complain(std::to_string(differences) +
                  " differences: the stored data does not match its history");
    return cli::kRefused;
  }
  if (!worlds_good) {
    cli::complain("a world does not replay: its journal or its modules have changed");
    return cli::kRefused;
  }
  cli::print_text(cli::painted("good", cli::Colour::Green, cli::colours_on(stdout)) + "\n");
  return cli::kDone;
}

int fail_verify(const Error& error) {
  cli::complain(error.message + (error.code == ErrorCode::Unavailable
                                     ? "; stop the server first, or verify a backup"
                                     : ""));
  return cli::kRefused;
}

int verify_data(const Invocation& given) {
  auto verified = open_to_verify(given);
  if (!verified.ok()) return fail_verify(verified.error());
  const std::vector<Store*> stores = verified->stores();
  const bool json = given.has("--json");
  std::vector<PartitionVerdict> verdicts;
  for (Store* store : stores) {
    if (!json && stores.size() > 1)
      cli::print_text("partition " + std::to_string(verdicts.size()) + "\n");
    auto verdict = verify_partition(*store);
    if (!verdict.ok()) return fail_verify(verdict.error());
    if (!json) print_verdict(*verdict);
    verdicts.push_back(std::move(verdict).value());
  }
  if (!json) return conclude(verdicts);
  cli::print_text(verdicts_json(verdicts) + "\n");
  const bool good = std::all_of(verdicts.begin(), verdicts.end(),
                                [](const PartitionVerdict& one) { return one.good(); });
  return good ? cli::kDone : cli::kRefused;
}

}  // namespace

Result<std::vector<std::unique_ptr<Store>>> open_existing_data(const std::string& directory) {
  if (!std::filesystem::exists(std::filesystem::path(directory) / sqlite_file(0)))
    return Error{ErrorCode::NotFound, directory + " holds no data (no pawl.db in it)"};
  return open_sqlite_partitions(directory, 0, {.self_checked = is_checked_row});
}

std::string data_of(const cli::Invocation& given) {
  const char* set = std::getenv("PAWL_DATA");
  return given.text("--data", set != nullptr && *set != '\0' ? set : "./pawl-data");
}

cli::Command verify_command() {
  return {"verify",
          "replay the journal and compare it with what is stored",
          {},
          {{"--data", "DIR", "the data directory (PAWL_DATA, ./pawl-data)"},
           {"--store", "URL", "a PostgreSQL database instead, that no node serves"},
           {"--json", "", "print the report as JSON"}},
          "Every partition, one after another. Exit 0 if every record is whole and the stored "
          "state equals the replayed history, else 1.",
          verify_data};
}

}  // namespace pawl
