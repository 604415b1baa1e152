#include <iterator>

#include "cli/command.h"

namespace pawl::cli {

std::vector<Command> remote_commands() {
  std::vector<Command> all;
  for (auto family :
       {job_commands, queue_commands, cron_commands, dead_letter_commands, worker_commands,
        event_commands, workflow_commands, run_commands, server_definition_commands,
        decision_commands, schedule_commands, secret_commands, action_commands, demo_commands}) {
    std::vector<Command> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Group> groups() {
  return {{"jobs", "push jobs and see what became of them"},
          {"workflows", "chains, groups, batches, dags and maps of jobs"},
          {"runs", "what is under way, and what it waits for"},
          {"definitions", "what can be run by name"},
          {"decisions", "what runs ask, and the answers"},
          {"schedules", "definitions and jobs that come again"},
          {"secrets", "values that definitions use and nobody reads"},
          {"queues", "pause, resume, look into and empty queues"},
          {"cron", "jobs that come again"},
          {"dead-letter", "jobs that ran out of attempts"},
          {"workers", "who fetches jobs"},
          {"keys", "who may call the server"}};
}

}  // namespace pawl::cli
