#include <iterator>

#include "cli/command.h"

namespace pawl::cli {

std::vector<Command> remote_commands() {
  std::vector<Command> all;
  for (auto family :
       {job_commands, queue_commands, cron_commands, dead_letter_commands, worker_commands,
        cluster_commands, event_commands, workflow_commands, run_commands,
        server_definition_commands, decision_commands, schedule_commands, secret_commands,
        action_commands, world_commands, demo_commands}) {
    std::vector<Command> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Group> groups() {
  return {{"jobs", "push jobs and see their results"},
          {"cluster", "nodes, and who serves what"},
          {"store", "where data lives"},
          {"workflows", "chains, groups, batches, dags and maps of jobs"},
          {"runs", "workflow runs, and what they wait for"},
          {"definitions", "workflows that can be run by name"},
          {"decisions", "questions of runs, and their answers"},
          {"schedules", "definitions and jobs that start by the clock"},
          {"worlds", "modules in WebAssembly whose every step can be replayed"},
          {"secrets", "values that definitions use and no one can read back"},
          {"queues", "show, pause, resume and empty queues"},
          {"cron", "recurring jobs"},
          {"dead-letter", "jobs that ran out of attempts"},
          {"workers", "workers that fetch jobs"},
          {"keys", "API keys of the server"}};
}

}  // namespace pawl::cli
