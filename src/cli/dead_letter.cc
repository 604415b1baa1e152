// pawl dead-letter …
#include "cli/command.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

const Parameter kDeadLetterId{"ID", "the job's id"};

int list_dead_letters(const Invocation& given) {
  std::string query = query_of(given, {"queue", "limit", "cursor"}, "50");
  return Session(given).show("GET", "/ojs/v1/dead-letter" + query, "",
                             [](json::View root) { print_jobs(root, "nothing died"); });
}

int retry_dead_letter(const Invocation& given) {
  return Session(given).show("POST", path_of("/ojs/v1/dead-letter/", given.argument(0), "/retry"),
                             "{}", [](json::View root) {
                               json::View job = root.find("job").value_or(root);
                               print_text(printable(member(job, "id")) + " is " +
                                          printable(member(job, "state")) + " again\n");
                             });
}

int remove_dead_letter(const Invocation& given) {
  return Session(given).show(
      "DELETE", path_of("/ojs/v1/dead-letter/", given.argument(0)), "",
      [&](json::View) { print_text(printable(given.argument(0)) + " deleted\n"); });
}

}  // namespace

std::vector<Command> dead_letter_commands() {
  return {remote("dead-letter list", "list jobs that ran out of attempts", list_dead_letters, {},
                 {{"--queue", "NAME", "only this queue"},
                  {"--limit", "N", "at most this many (50)"},
                  {"--cursor", "CURSOR", "continue where the last page ended"}}),
          remote("dead-letter retry", "run a job again", retry_dead_letter, {kDeadLetterId}),
          remote("dead-letter delete", "delete a job", remove_dead_letter, {kDeadLetterId})};
}

}  // namespace pawl::cli
