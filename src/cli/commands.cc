#include <iterator>

#include "cli/command.h"

namespace pawl::cli {

std::vector<Command> remote_commands() {
  std::vector<Command> all;
  for (auto family :
       {job_commands, queue_commands, cron_commands, dead_letter_commands, worker_commands,
        event_commands, workflow_commands, run_commands, demo_commands}) {
    std::vector<Command> some = family();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<Group> groups() {
  return {{"jobs", "push jobs and see what became of them"},
          {"workflows", "chains, groups, batches, dags and maps of jobs"},
          {"runs", "what is under way, and what it waits for"},
          {"queues", "pause, resume, look into and empty queues"},
          {"cron", "jobs that come again"},
          {"dead-letter", "jobs that ran out of attempts"},
          {"workers", "who fetches jobs"},
          {"keys", "who may call the server"}};
}

}  // namespace pawl::cli
