// pawl workers list, pawl worker
#include <cstdint>

#include "base/quote.h"
#include "cli/command.h"
#include "cli/exec_worker.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

int list_workers(const Invocation& given) {
  return Session(given).show("GET", "/ojs/v1/admin/workers", "", [](json::View root) {
    Table table({"WORKER", "STATE", "ACTIVE", "FETCHED", "FINISHED", "LAST SEEN", "QUEUES"});
    auto workers = root.find("items");
    if (workers)
      workers->each_element([&](json::View one) {
        std::string queues;
        if (auto names = one.find("queues"))
          names->each_element(
              [&](json::View name) { queues += (queues.empty() ? "" : ",") + name.string(); });
        table.add({member(one, "id"), member(one, "state"), member(one, "active_jobs"),
                   member(one, "jobs_fetched"), member(one, "jobs_finished"),
                   member(one, "last_heartbeat_at"), queues});
      });
    if (table.empty()) return print_text("no worker has called in the last hour\n");
    print_text(table.text(colours_on(stdout)));
  });
}

int work(const Invocation& given) {
  ExecWorkerOptions options;
  options.queues = given.texts("--queue");
  if (options.queues.empty()) options.queues = {"default"};
  options.command = given.text("--exec");
  options.worker_id = given.text("--id");
  options.once = given.has("--once");
  if (options.command.empty()) {
    complain("worker needs --exec 'COMMAND'");
    return kUsage;
  }
  std::string concurrency = given.text("--concurrency", "1");
  options.concurrency = static_cast<size_t>(std::strtoul(concurrency.c_str(), nullptr, 10));
  if (options.concurrency < 1 || options.concurrency > kConcurrencyMax) {
    complain("--concurrency takes 1 to 256, not " + in_quotes(concurrency));
    return kUsage;
  }
  auto lease = parse_span(given.text("--lease", "30s"));
  if (!lease.ok() || *lease < 1000) {
    complain("--lease takes a duration of 1s or more");
    return kUsage;
  }
  options.lease_ms = *lease;
  return run_exec_worker(given, options);
}

const char* kWorkDetails =
    "COMMAND runs by /bin/sh once per job, with the job's JSON on its standard input and "
    "PAWL_JOB_ID, PAWL_JOB_TYPE,\n"
    "PAWL_JOB_QUEUE and PAWL_JOB_ATTEMPT in its environment. Exit 0 completes the job; what it "
    "printed becomes the result\n"
    "(JSON as it is, anything else as a string). Any other exit fails the attempt, with the end of "
    "stderr as the message.\n"
    "The lease is renewed while it runs. SIGTERM or Ctrl-C: takes no more jobs, finishes those in "
    "work; a second one ends them\n"
    "and gives them back.\n"
    "\nExamples:\n"
    "  pawl worker --queue mail --exec './send-mail' --concurrency 8\n"
    "  pawl worker --exec 'jq \".args[0] * 2\"' --once";

}  // namespace

std::vector<Command> worker_commands() {
  return {remote("workers list", "workers of the last hour", list_workers),
          remote("worker", "run a command for every job of a queue", work, {},
                 {{"--queue", "NAME", "queue to fetch from; may be repeated (default)"},
                  {"--exec", "COMMAND", "what to run"},
                  {"--concurrency", "N", "jobs at a time (1)"},
                  {"--lease", "DURATION", "a worker that dies loses its jobs after this (30s)"},
                  {"--id", "NAME", "its name, by default host and pid"},
                  {"--once", "", "do the waiting jobs, then exit: 0, or 1 if a job failed"}},
                 kWorkDetails)};
}

}  // namespace pawl::cli
