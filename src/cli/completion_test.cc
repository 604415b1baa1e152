#include "cli/completion.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

std::vector<Command> some_commands() {
  return {{"serve",
           "run",
           {},
           {{"--listen", "ADDRESS", "it's where"}, {"--log-format", "FORMAT", "how", "text json"}}},
          {"jobs push", "push", {}, {{"--queue", "NAME", "which"}}},
          {"jobs get", "get", {}, {}}};
}

TEST(Completion, EveryShellOffersEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    auto script = completion(shell, some_commands());
    ASSERT_TRUE(script.ok());
    for (const char* word : {"serve", "jobs", "push", "get", "listen", "queue", "text json"})
      EXPECT_NE(script->find(word), std::string::npos) << shell << " lacks " << word;
    EXPECT_EQ(script->find("it's"), std::string::npos)
        << "an apostrophe would end the word in " << shell;
  }
  EXPECT_FALSE(completion("tcsh", some_commands()).ok());
}

}  // namespace
}  // namespace pawl::cli
