// What the store promises beyond store.h: one writer however many believe they are it, outcomes
// that were unknown are settled, lost records are noticed, and old segments go.
#include "store/postgres_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "store/testing/postgres_server.h"

namespace pawl {
namespace {

constexpr char kOther[] = "01890a5d-ac96-774b-bcce-b302099a8058";

std::string code_of(const Status& status) {
  return status.ok() ? "ok" : std::string(wire_code(status.error().code));
}

class Postgres : public testing::Test {
 protected:
  using StorePtr = std::unique_ptr<PostgresStore>;

  StorePtr open(PostgresOptions options) {
    auto opened = open_postgres(std::move(options));
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  StorePtr open() { return open(backing.options()); }
  // As the keeper of leases does once it knows that the owner is gone.
  StorePtr take_from(const PostgresStore& owner) {
    PostgresOptions options = backing.options();
    options.owner = {"taker", kOther};
    options.take = FreePartition{owner.epoch()};
    return open(options);
  }
  static std::string append(Store& store, uint64_t number) {
    return code_of(store.commit(Batch{.number = number,
                                      .journal = "r" + std::to_string(number),
                                      .writes = {Write{1, "k", std::to_string(number)}}}));
  }
  static std::string journal(Store& store) {
    std::string seen;
    const Status read = store.read_journal(0, SIZE_MAX, [&](uint64_t number, std::string_view) {
      seen.append(seen.empty() ? "" : " ").append(std::to_string(number));
      return true;
    });
    return read.ok() ? seen : "error " + read.error().message;
  }
  std::string end_sessions_of(const std::string& node) {
    return backing.ask(
        "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE"
        " application_name LIKE 'pawl/" +
        node + "/%' AND datname = current_database()");
  }
  std::string segments() { return backing.ask("SELECT id::text FROM pawl_segment ORDER BY id"); }

  PostgresBacking backing;
};

TEST_F(Postgres, WhoLostThePartitionCommitsNothingMore) {
  StorePtr zombie = open();
  EXPECT_EQ(append(*zombie, 1), "ok");
  StorePtr owner = take_from(*zombie);
  EXPECT_GT(owner->epoch(), zombie->epoch());
  EXPECT_EQ(journal(*owner), "1");
  EXPECT_EQ(append(*zombie, 2), "fenced");
  EXPECT_EQ(append(*zombie, 2), "fenced") << "for good";
  EXPECT_EQ(code_of(zombie->reopen()), "fenced");
  EXPECT_EQ(append(*owner, 2), "ok");
  zombie.reset();
  EXPECT_EQ(append(*owner, 3), "ok") << "it gave up what was not its own";
  EXPECT_EQ(backing.ask("SELECT value FROM pawl_kv"), "3");
}

TEST_F(Postgres, RowsAloneAreFencedToo) {
  StorePtr zombie = open();
  StorePtr owner = take_from(*zombie);
  EXPECT_EQ(code_of(zombie->commit(Batch{.writes = {Write{1, "k", "old"}}})), "fenced");
  EXPECT_EQ(owner->get(1, "k").value(), std::nullopt);
}

TEST_F(Postgres, OnlyWhoNamesTheEpochTakesAHeldPartition) {
  StorePtr owner = open();
  PostgresOptions options = backing.options();
  options.take = FreePartition{owner->epoch() - 1};
  const auto late = open_postgres(options);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::Unavailable);
  EXPECT_EQ(late.error().message, "partition 0 is held by the node tester");
  EXPECT_EQ(append(*owner, 1), "ok");
}

// It woke up after it was taken for dead, and before it was taken from.
TEST_F(Postgres, AnOwnerThatBeatsAgainKeepsItsPartition) {
  StorePtr owner = open();
  const PostgresOptions ours = backing.options();
  backing.ask("INSERT INTO pawl_node VALUES ('tester', '" + ours.owner.incarnation +
              "', '', '', '', now(), 8, now(), false)");
  PostgresOptions options = backing.options();
  options.owner = {"taker", kOther};
  options.take = FreePartition{owner->epoch(), 7};
  const auto late = open_postgres(options);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::Fenced);
  EXPECT_EQ(append(*owner, 1), "ok");
  options.take = FreePartition{owner->epoch(), 8};
  EXPECT_EQ(append(*open(options), 2), "ok");
}

// The owner is frozen in the middle of a commit: its session holds the row.
TEST_F(Postgres, ASessionThatHoldsOnIsEnded) {
  StorePtr frozen = open();
  PostgresOptions options = backing.options();
  auto session = pg::Connection::open({options.url, options.owner.application()});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(session->run("BEGIN").ok());
  ASSERT_TRUE(session->run("SELECT 1 FROM pawl_partition WHERE id = 0 FOR SHARE").ok());
  StorePtr owner = take_from(*frozen);
  ASSERT_NE(owner, nullptr);
  EXPECT_EQ(append(*owner, 1), "ok");
  EXPECT_FALSE(session->run("COMMIT").ok());
}

TEST_F(Postgres, ALostConnectionIsSettledByANewEpoch) {
  StorePtr store = open();
  EXPECT_EQ(append(*store, 1), "ok");
  const uint64_t before = store->epoch();
  EXPECT_NE(end_sessions_of("tester"), "0");
  EXPECT_EQ(append(*store, 2), "store_failed");
  EXPECT_EQ(append(*store, 2), "store_failed") << "until it is reopened";
  EXPECT_EQ(code_of(store->reopen()), "ok");
  EXPECT_EQ(store->epoch(), before + 1);
  EXPECT_EQ(journal(*store), "1");
  EXPECT_EQ(append(*store, 2), "ok");
}

TEST_F(Postgres, AnEpochOfItsOwnWhoseAnswerWasLostIsNotSomebodyElses) {
  StorePtr store = open();
  EXPECT_EQ(append(*store, 1), "ok");
  EXPECT_NE(end_sessions_of("tester"), "0");
  EXPECT_EQ(append(*store, 2), "store_failed");
  EXPECT_EQ(backing.ask("UPDATE pawl_partition SET epoch = epoch + 1"), "");
  EXPECT_EQ(code_of(store->reopen()), "ok");
  EXPECT_EQ(append(*store, 2), "ok");
}

// The database answers too late: whether the commit happened is known after reopen(), and for ever.
TEST_F(Postgres, ACommitThatWasNotAnsweredIsThereOrNever) {
  PostgresOptions options = backing.options();
  options.silence = std::chrono::milliseconds(300);
  StorePtr store = open(options);
  EXPECT_EQ(append(*store, 1), "ok");
  pg::Connection blocker = backing.connect();
  ASSERT_TRUE(blocker.run("BEGIN").ok());
  ASSERT_TRUE(blocker.run("INSERT INTO pawl_journal_1 VALUES (0, 2, '')").ok());
  EXPECT_EQ(append(*store, 2), "store_failed");
  EXPECT_EQ(code_of(store->reopen()), "store_failed") << "the commit is still on its way";
  ASSERT_TRUE(blocker.run("ROLLBACK").ok());
  std::string reopened;
  while ((reopened = code_of(store->reopen())) == "store_failed") std::this_thread::yield();
  EXPECT_EQ(reopened, "ok");
  const uint64_t last = store->journal_last();
  EXPECT_TRUE(last == 1 || last == 2) << last;
  EXPECT_EQ(append(*store, last + 1), "ok");
  EXPECT_EQ(journal(*store), last == 1 ? "1 2" : "1 2 3");
}

// After a failover that lost commits, or a restored backup.
TEST_F(Postgres, RecordsThatTheDatabaseLostAreNoticed) {
  StorePtr store = open();
  for (uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(append(*store, number), "ok");
  EXPECT_EQ(backing.ask("DELETE FROM pawl_journal_1 WHERE number = 3"), "");
  EXPECT_EQ(append(*store, 4), "store_failed");
  EXPECT_EQ(backing.ask("SELECT value FROM pawl_kv"), "3") << "nothing of it was done";
  EXPECT_EQ(code_of(store->reopen()), "ok");
  EXPECT_EQ(store->journal_last(), 2u);
  EXPECT_EQ(append(*store, 3), "ok");
  EXPECT_EQ(journal(*store), "1 2 3");
}

TEST_F(Postgres, ADatabaseThatCrashedHasAllThatWasAcknowledged) {
  PostgresServer server;
  PostgresOptions options = backing.options();
  options.url = server.url("postgres");
  StorePtr store = open(options);
  for (uint64_t number = 1; number <= 20; ++number) EXPECT_EQ(append(*store, number), "ok");
  server.crash();
  EXPECT_EQ(append(*store, 21), "store_failed");
  EXPECT_EQ(code_of(store->reopen()), "store_failed");
  server.start();
  EXPECT_EQ(code_of(store->reopen()), "ok");
  EXPECT_EQ(store->journal_last(), 20u);
  EXPECT_EQ(append(*store, 21), "ok");
  EXPECT_EQ(store->get(1, "k").value(), "21");
}

// --- segments

class PostgresSegments : public Postgres {
 protected:
  StorePtr open_short() {
    PostgresOptions options = backing.options();
    options.segment_age = std::chrono::seconds(0);  // each keep_up() begins one
    return open(options);
  }
};

TEST_F(PostgresSegments, TheJournalGoesOnOverThem) {
  StorePtr store = open_short();
  uint64_t number = 0;
  for (int segment = 0; segment < 3; ++segment) {
    // More than are carried over.
    for (int i = 0; i < 1100; ++i) ASSERT_EQ(append(*store, ++number), "ok");
    ASSERT_EQ(code_of(store->keep_up()), "ok");
  }
  EXPECT_EQ(append(*store, ++number), "ok");
  EXPECT_EQ(segments(), "1 2 3 4");
  uint64_t seen = 0;
  ASSERT_TRUE(store->read_journal(0, SIZE_MAX, [&](uint64_t at, std::string_view record) {
    return at == ++seen && record == "r" + std::to_string(at);
  }));
  EXPECT_EQ(seen, number);
  store.reset();
  store = open_short();
  EXPECT_EQ(store->journal_first(), 1u);
  EXPECT_EQ(store->journal_last(), number);
}

TEST_F(PostgresSegments, ThoseBelowTheTrimMarkAreDropped) {
  StorePtr store = open_short();
  for (uint64_t number = 1; number <= 4; ++number) {
    ASSERT_EQ(append(*store, number), "ok");
    ASSERT_EQ(code_of(store->keep_up()), "ok");
  }
  EXPECT_EQ(code_of(store->commit(Batch{.trim_journal_before = 4})), "ok");
  EXPECT_EQ(code_of(store->keep_up()), "ok");
  EXPECT_EQ(journal(*store), "4");
  EXPECT_EQ(backing.ask("SELECT to_regclass('pawl_journal_1') IS NULL").size(), 1u);
  EXPECT_EQ(segments().find("1 "), std::string::npos) << segments();
  store.reset();
  store = open_short();
  EXPECT_EQ(journal(*store), "4");
  EXPECT_EQ(append(*store, 5), "ok");
}

// Else one idle partition would keep every segment from its last commit on.
TEST_F(PostgresSegments, AnIdlePartitionHoldsOnToNone) {
  StorePtr store = open_short();
  for (uint64_t number = 1; number <= 3; ++number) ASSERT_EQ(append(*store, number), "ok");
  ASSERT_EQ(code_of(store->commit(Batch{.trim_journal_before = 2})), "ok");
  for (int day = 0; day < 5; ++day) ASSERT_EQ(code_of(store->keep_up()), "ok");
  EXPECT_EQ(segments(), "6");
  EXPECT_EQ(journal(*store), "2 3");
  EXPECT_EQ(append(*store, 4), "ok");
  store.reset();
  store = open_short();
  EXPECT_EQ(journal(*store), "2 3 4");
}

// --- what is refused at the start

TEST_F(Postgres, ADatabaseThatForgetsIsRefused) {
  EXPECT_EQ(backing.ask("DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() ||"
                        " ' SET synchronous_commit = off'; END $$"),
            "");
  const auto opened = open_postgres(backing.options());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::InvalidRequest);
  EXPECT_NE(opened.error().message.find("synchronous_commit"), std::string::npos);
}

TEST_F(Postgres, TheNumberOfPartitionsIsFixed) {
  PostgresOptions options = backing.options();
  options.partitions = 4;
  options.partition = 3;
  open(options);
  options.partitions = 8;
  EXPECT_EQ(open_postgres(options).error().code, ErrorCode::InvalidRequest);
  options.partitions = 0;
  EXPECT_TRUE(open_postgres(options).ok());
  options.partition = 4;
  EXPECT_EQ(open_postgres(options).error().code, ErrorCode::NotFound);
}

TEST_F(Postgres, WhoAsksForWhatIsThereMakesNothing) {
  PostgresOptions options = backing.options();
  options.partitions = 0;
  EXPECT_EQ(open_postgres(options).error().code, ErrorCode::NotFound);
  EXPECT_EQ(backing.ask("SELECT table_name::text FROM information_schema.tables WHERE"
                        " table_name LIKE 'pawl%'"),
            "");
}

TEST_F(Postgres, PartitionsAreApart) {
  PostgresOptions options = backing.options();
  options.partitions = 2;
  StorePtr first = open(options);
  options.partition = 1;
  StorePtr second = open(options);
  EXPECT_EQ(append(*first, 1), "ok");
  EXPECT_EQ(append(*first, 2), "ok");
  EXPECT_EQ(append(*second, 1), "ok");
  EXPECT_EQ(first->get(1, "k").value(), "2");
  EXPECT_EQ(second->get(1, "k").value(), "1");
  EXPECT_EQ(journal(*first) + ", " + journal(*second), "1 2, 1");
}

TEST_F(Postgres, ALayoutOfANewerPawlIsRefused) {
  open();
  backing.ask("UPDATE pawl_meta SET value = '3' WHERE name = 'schema'");
  EXPECT_EQ(open_postgres(backing.options()).error().code, ErrorCode::Unsupported);
}

TEST_F(Postgres, ALayoutOfAnOlderPawlIsCompleted) {
  open();
  backing.ask("ALTER TABLE pawl_node DROP COLUMN stages");
  backing.ask("UPDATE pawl_meta SET value = '1' WHERE name = 'schema'");
  EXPECT_TRUE(open_postgres(backing.options()).ok());
  EXPECT_EQ(backing.ask("SELECT value FROM pawl_meta WHERE name = 'schema'"), "2");
  EXPECT_EQ(backing.ask("SELECT count(stages)::text FROM pawl_node"), "0");
}

// Several nodes start on an empty database at once.
TEST_F(Postgres, TheTablesAreMadeOnce) {
  PostgresOptions options = backing.options();
  options.partitions = 4;
  std::atomic<int> opened = 0;
  std::vector<std::thread> nodes;
  for (uint16_t partition = 0; partition < 4; ++partition)
    nodes.emplace_back([&, partition] {
      PostgresOptions own = options;
      own.partition = partition;
      opened += open_postgres(own).ok() ? 1 : 0;
    });
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(opened, 4);
}

TEST_F(Postgres, AKeyOfTheLargestSizeFitsItsIndex) {
  StorePtr store = open();
  std::string key;
  uint64_t noise = 1;
  while (key.size() < kStoreKeyBytesMax)
    key.push_back(static_cast<char>((noise = noise * 6364136223846793005ULL + 1) >> 56));
  EXPECT_EQ(code_of(store->commit(Batch{.writes = {Write{1, key, "v"}}})), "ok");
  EXPECT_EQ(store->get(1, key).value(), "v");
}

TEST_F(Postgres, NobodyIsThere) {
  PostgresOptions options = backing.options();
  options.url = "postgresql://postgres@127.0.0.1:1/none";
  const auto opened = open_postgres(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::Unavailable);
}

}  // namespace
}  // namespace pawl
