// SimDatabase: stands in for PostgreSQL below PostgresStore and the table of nodes, which run as
// they are. It has sessions, row locks, transactions, and a life apart from its clients': a
// statement whose client has given up may still be done, and one that is done may not be told.
//
// What may become of a statement: it is done; it is surely not done (40001, 40P01); it never
// arrives; it is done and the answer is lost; it comes to be done only after its client has heard
// that the connection broke; it holds its locks for seconds. A session that is ended does nothing
// more. All of it is drawn from one seed.
//
// Within a fiber of the timeline a statement takes simulated time; outside of one it is done at
// once and never fails.
//
// Thread: one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/chance.h"
#include "sim/database/statement.h"
#include "sim/database/timeline.h"
#include "sim/plants.h"
#include "sim/verdict.h"
#include "store/postgres_connection.h"

namespace pawl::sim {

// How often what happens to statements that change something, per thousand.
struct DatabaseFaults {
  uint64_t conflict = 5;
  uint64_t lost_before = 3;
  uint64_t lost_after = 4;
  uint64_t late = 4;
  uint64_t slow = 5;
  uint64_t read_lost = 1;  // of those that only read
};

// A client of the database: a simulated process and the way to it.
struct DatabaseClient {
  Group group;
  bool requests_lost = false;
  bool answers_lost = false;
};

// Who looks on what is committed, and judges it. Called at that moment.
class DatabaseWatcher {
 public:
  struct Taken {
    uint16_t partition = 0;
    OwnerRow before;
    OwnerRow after;
    uint64_t session = 0;
  };
  struct Written {
    uint16_t partition = 0;
    uint64_t epoch = 0;   // that the statement named
    uint64_t number = 0;  // 0: rows only
    uint64_t session = 0;
  };
  virtual ~DatabaseWatcher() = default;
  virtual void taken(const Taken& taken) = 0;
  virtual void written(const Written& written) = 0;
};

class SimDatabase : public pg::Server {
 public:
  SimDatabase(Timeline& timeline, uint64_t seed, const Plants& plants, Verdict& verdict);
  ~SimDatabase() override;

  // Clients live longer than the database's work for them.
  void admit(const std::string& application, DatabaseClient& client) {
    clients_[application] = &client;
  }
  void watch(DatabaseWatcher* watcher) { watcher_ = watcher; }
  DatabaseFaults& faults() { return faults_; }
  void begin_step(uint64_t seed) { random_.restart(seed); }

  std::unique_ptr<pg::Session> connect(const pg::Access& access) override;
  void pause(std::chrono::milliseconds time) override;

  // From now on reads are answered at once, for those who check.
  void answer_at_once(bool at_once) { at_once_ = at_once; }
  bool answers_at_once() const { return at_once_; }

  // --- what befalls it
  void go_away();  // all sessions end
  void come_back();
  bool is_away() const { return away_; }
  // Since its last outage that could be noticed; 0: there was none.
  int64_t back_since_us() const { return back_since_us_; }
  // Another server takes over, with all that was committed.
  void fail_over();
  // …with what was committed when keep() was last called. `pooled`: something between keeps the
  // connections up.
  void keep() { kept_ = tables_; }
  void fail_over_with_loss(bool pooled);
  void end_sessions_of(const std::string& application);
  // The machine of a client is gone without a word: its sessions stay for a while.
  void forget_client(DatabaseClient& client) {
    std::erase_if(clients_, [&](const auto& each) { return each.second == &client; });
  }
  // Nothing is at work here any more.
  bool at_rest() const { return server_.fibers == 0; }
  void shut_down();

  const Tables& tables() const { return tables_; }
  // The bytes of a record that is there; null if it is not.
  const std::string* record(uint16_t partition, uint64_t number) const;

 private:
  friend class DatabaseSession;
  struct ServerSession;
  class Host;
  enum class Fate : uint8_t { Done, Conflict, LostBefore, LostAfter, Late };
  struct Reply {
    bool given = false;
    StatementResult result;
    Timeline::Ticket ticket = 0;
    bool wanted = true;  // the client still waits
  };
  using SessionPtr = std::shared_ptr<ServerSession>;
  using ReplyPtr = std::shared_ptr<Reply>;

  pg::Ended run(const SessionPtr& session, std::string_view sql, const pg::Params& params);
  Fate draw_fate(std::string_view sql);
  std::string rewritten(std::string_view sql, const std::vector<std::string>& values) const;
  bool takes_time() const { return timeline_.in_fiber() && !at_once_; }
  void work(const SessionPtr& session, const std::string& sql,
            const std::vector<std::string>& values, Fate fate, const ReplyPtr& reply);
  StatementResult execute(const SessionPtr& session, const std::string& sql,
                          const std::vector<std::string>& values, Fate fate);
  void hide_untold(const std::string& partition, StatementResult& bounds) const;
  StatementResult execute_apart(const SessionPtr& session, const std::string& sql,
                                const std::vector<std::string>& values, Fate fate);
  StatementResult commit(const SessionPtr& session, Fate fate);
  void roll_back(ServerSession& session);
  void end(ServerSession& session);
  void client_closed(const SessionPtr& session);
  int64_t draw_round_trip_us();

  Timeline& timeline_;
  SimRandom random_;
  const Plants plants_;
  Verdict& verdict_;
  DatabaseWatcher* watcher_ = nullptr;
  DatabaseFaults faults_;
  Tables tables_;
  Tables kept_;
  RowLocks locks_;
  Group server_;
  bool away_ = false;
  bool at_once_ = false;
  int64_t away_since_us_ = 0;
  int64_t back_since_us_ = 0;
  uint64_t sessions_made_ = 0;
  std::map<uint64_t, SessionPtr> sessions_;
  std::map<std::string, DatabaseClient*> clients_;
  std::set<std::pair<std::string, std::string>> untold_;  // records, in the bytes of statements
};

}  // namespace pawl::sim
