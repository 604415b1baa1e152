// The commands on data of several partitions: a directory, a server's directory, a database.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "main/commands.h"
#include "store/testing/postgres_server.h"

namespace pawl {
namespace {

struct CommandOutcome {
  int code = 0;
  std::string out;
  std::string complaint;
};

CommandOutcome run_command(const std::string& path, const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& options) {
  cli::Invocation given{arguments, {}};
  for (const auto& [name, value] : options) given.options[name] = {value};
  CommandOutcome outcome{-1, "", ""};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (const cli::Command& command : all_commands())
    if (command.path == path) outcome.code = command.run(given);
  std::fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.complaint = testing::internal::GetCapturedStderr();
  return outcome;
}

class CommandsOnPartitions : public testing::Test {
 protected:
  CommandsOnPartitions() {
    EXPECT_TRUE(open_sqlite_partitions(data(), 3).ok());
    std::ofstream(key()) << std::string(32, 'k');
    ::chmod(key().c_str(), 0600);
  }
  std::string data() const { return directory / "data"; }
  std::string key() const { return directory / "cluster.key"; }

  CommandOutcome on_data(const std::string& path, const std::vector<std::string>& arguments = {}) {
    return run_command(path, arguments, {{"--data", data()}});
  }
  // Each partition's digest, as verify tells it.
  std::string digests(const std::string& option, const std::string& where) {
    const CommandOutcome verified = run_command("verify", {}, {{option, where}});
    EXPECT_EQ(verified.code, 0) << verified.complaint;
    std::string found;
    for (size_t at = 0; (at = verified.out.find("digest ", at)) != std::string::npos; ++at)
      found += verified.out.substr(at + 7, verified.out.find('\n', at) - at - 7) + " ";
    return found;
  }
  size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  }

  TempDirectory directory;
};

TEST_F(CommandsOnPartitions, AKeyIsKnownToEachAndListedOnce) {
  ASSERT_EQ(on_data("keys create", {"laptop"}).code, 0);
  EXPECT_EQ(count_of(on_data("keys list").out, "laptop"), 1u);
  {
    const auto stores = open_sqlite_partitions(data(), 0).value();
    for (const auto& store : stores) EXPECT_GT(store->journal_last(), 0u);
  }
  const CommandOutcome listed = on_data("keys list");
  const size_t row = listed.out.rfind('\n', listed.out.find("laptop")) + 1;
  const std::string id = listed.out.substr(row, listed.out.find(' ', row) - row);
  EXPECT_EQ(on_data("keys revoke", {"none"}).code, 1);
  EXPECT_EQ(on_data("keys revoke", {id}).code, 0) << id;
  EXPECT_EQ(count_of(on_data("keys list").out, "laptop"), 0u);
}

TEST_F(CommandsOnPartitions, VerifyTellsOfEach) {
  ASSERT_EQ(on_data("keys create", {"laptop"}).code, 0);
  const CommandOutcome text = on_data("verify");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(count_of(text.out, "partition "), 3u);
  EXPECT_EQ(count_of(text.out, "good\n"), 1u);
  const CommandOutcome json = run_command("verify", {}, {{"--data", data()}, {"--json", ""}});
  EXPECT_TRUE(json.out.starts_with(R"({"good":true,"partitions":[{"id":0,"good":true)"))
      << json.out;
  EXPECT_EQ(count_of(json.out, "\"digest\""), 3u);
}

TEST_F(CommandsOnPartitions, OneThatDoesNotReplayIsEnough) {
  ASSERT_EQ(on_data("keys create", {"laptop"}).code, 0);
  {
    const auto stores = open_sqlite_partitions(data(), 0).value();
    const uint64_t next = stores[2]->journal_last() + 1;
    ASSERT_TRUE(stores[2]->commit({.number = next, .journal = "no record"}).ok());
  }
  EXPECT_EQ(on_data("verify").code, 1);
}

TEST_F(CommandsOnPartitions, ABackupIsADirectoryAndComesBack) {
  ASSERT_EQ(on_data("keys create", {"laptop"}).code, 0);
  const std::string before = digests("--data", data());
  const std::string copy = directory / "copy";
  ASSERT_EQ(on_data("backup", {copy}).code, 0);
  EXPECT_EQ(on_data("backup", {copy}).code, 1) << "it is there";
  const std::string back = directory / "back";
  const CommandOutcome restored = run_command("restore", {copy}, {{"--data", back}});
  EXPECT_EQ(restored.code, 0) << restored.complaint;
  EXPECT_NE(restored.out.find("partition 2 journal records 1 to"), std::string::npos);
  EXPECT_EQ(digests("--data", back), before);
}

TEST_F(CommandsOnPartitions, ABackupThatLacksAPartitionIsNotRestored) {
  const std::string copy = directory / "copy";
  ASSERT_EQ(on_data("backup", {copy}).code, 0);
  std::filesystem::remove(copy + "/" + sqlite_file(2));
  const std::string back = directory / "back";
  const CommandOutcome restored = run_command("restore", {copy}, {{"--data", back}});
  EXPECT_EQ(restored.code, 1);
  EXPECT_NE(restored.complaint.find("pawl-2.db is missing"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(back));
}

// While another process commits to one partition and then to the other, so that a copy of
// different moments could hold the second record without the first.
TEST_F(CommandsOnPartitions, ABackupOfAServersDirectoryIsOfOneMoment) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t server = ::fork();
  ASSERT_GE(server, 0);
  if (server == 0) {
    const auto stores = open_sqlite_partitions(data(), 0);
    if (!stores.ok()) ::_exit(1);
    for (uint64_t number = 1;; ++number) {
      for (const auto& store : *stores)
        if (!store->commit({.number = number, .journal = "record"}).ok()) ::_exit(1);
      if (number == 20 && ::write(ready[1], "x", 1) != 1) ::_exit(1);
    }
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  for (int round = 0; round < 5; ++round) {
    const std::string copy = directory / ("copy-" + std::to_string(round));
    const CommandOutcome done = on_data("backup", {copy});
    ASSERT_EQ(done.code, 0) << done.complaint;
    const auto stores = open_sqlite_partitions(copy, 0).value();
    const uint64_t first = stores[0]->journal_last();
    const uint64_t last = stores[2]->journal_last();
    EXPECT_GE(stores[1]->journal_last(), last);
    EXPECT_GE(first, stores[1]->journal_last());
    EXPECT_LE(first, last + 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(server, &status, WNOHANG), 0) << "its commits went on";
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  for (const int fd : ready) ::close(fd);
}

TEST_F(CommandsOnPartitions, MigrateThereAndBack) {
  ASSERT_EQ(on_data("keys create", {"laptop"}).code, 0);
  const std::string before = digests("--data", data());
  PostgresBacking backing;
  const std::string url = backing.options().url;
  const auto migrate = [&](const std::string& from, const std::string& to) {
    const CommandOutcome done = run_command(
        "store migrate", {}, {{"--from", from}, {"--to", to}, {"--cluster-key", key()}});
    return done.code == 0 ? "done" : done.complaint;
  };
  ASSERT_EQ(migrate("sqlite:" + data(), url), "done");
  EXPECT_EQ(backing.ask("SELECT count(*)::text FROM pawl_partition"), "3");
  EXPECT_EQ(digests("--store", url), before);
  const std::string back = directory / "back";
  ASSERT_EQ(migrate(url, "sqlite:" + back), "done");
  EXPECT_EQ(digests("--data", back), before);
  EXPECT_EQ(open_sqlite_partitions(back, 0)->size(), 3u);
  EXPECT_NE(migrate("sqlite:" + data(), url).find("holds data already"), std::string::npos);
}

TEST_F(CommandsOnPartitions, RekeyNeedsTheKeyThatTheDatabaseHas) {
  PostgresBacking backing;
  const std::string url = backing.options().url;
  ASSERT_EQ(run_command("store migrate", {},
                        {{"--from", "sqlite:" + data()}, {"--to", url}, {"--cluster-key", key()}})
                .code,
            0);
  const std::string other = directory / "other.key";
  std::ofstream(other) << std::string(32, 'o');
  ::chmod(other.c_str(), 0600);
  const auto rekey = [&](const std::string& from, const std::string& to) {
    return run_command("cluster rekey", {},
                       {{"--store", url}, {"--cluster-key", from}, {"--to", to}});
  };
  EXPECT_EQ(rekey(key(), other).code, 0);
  const CommandOutcome again = rekey(key(), other);
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.complaint.find("cluster key"), std::string::npos) << again.complaint;
  EXPECT_EQ(rekey(other, key()).code, 0);
  EXPECT_EQ(run_command("cluster rekey", {}, {{"--store", url}, {"--to", other}}).code, 2);
}

}  // namespace
}  // namespace pawl
