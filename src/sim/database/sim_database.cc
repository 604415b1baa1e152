#include "sim/database/sim_database.h"

#include <utility>

namespace pawl::sim {
namespace {

constexpr int64_t kNeverUs = INT64_C(3'600'000'000);
constexpr int64_t kNoticedUs = 1'200'000;     // an outage that nobody's reads can bridge
constexpr int64_t kKeepAliveUs = 20'000'000;  // until a session without a client is noticed

PGresult* pg_result(const StatementResult& result) {
  PGresult* made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  if (result.rows.empty()) return made;
  std::vector<PGresAttDesc> columns(result.rows[0].size());
  for (PGresAttDesc& column : columns) column = {.name = const_cast<char*>(""), .format = 1};
  PQsetResultAttrs(made, static_cast<int>(columns.size()), columns.data());
  for (size_t row = 0; row < result.rows.size(); ++row)
    for (size_t column = 0; column < columns.size(); ++column) {
      const auto& cell = result.rows[row][column];
      PQsetvalue(made, static_cast<int>(row), static_cast<int>(column),
                 cell ? const_cast<char*>(cell->data()) : nullptr,
                 cell ? static_cast<int>(cell->size()) : -1);
    }
  return made;
}

std::string without(std::string_view sql, std::string_view part) {
  std::string text(sql);
  if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  return text;
}

std::string without_gap_check(std::string_view sql) {
  const size_t begin = sql.find(" WHERE EXISTS (SELECT 1 FROM pawl_journal_");
  if (begin == std::string_view::npos) return std::string(sql);
  const std::string_view last = " - 1)";
  const size_t end = sql.find(last, begin);
  if (end == std::string_view::npos) return std::string(sql);
  return std::string(sql.substr(0, begin)) + std::string(sql.substr(end + last.size()));
}

}  // namespace

struct SimDatabase::ServerSession {
  uint64_t id = 0;
  std::string application;
  DatabaseClient* client = nullptr;
  bool ended = false;
  bool in_transaction = false;
  bool spoiled = false;  // a statement of the transaction failed
  bool busy = false;
  bool closed = false;  // by its client
  int64_t lock_timeout_us = kNeverUs;
  int64_t idle_timeout_us = kNeverUs;
  uint64_t statements = 0;
  std::vector<Change> changes = {};
  std::vector<uint16_t> taken = {};
  std::vector<DatabaseWatcher::Written> written = {};
  bool repeatable = false;  // its reads are of one state
  std::map<uint16_t, std::shared_ptr<const KvRows>> seen = {};
  // Planted: what a taker read before its update.
  std::optional<Tables> early = {};
};

// The client's end of a session.
class DatabaseSession : public pg::Session {
 public:
  DatabaseSession(SimDatabase& database, SimDatabase::SessionPtr session)
      : database_(database), session_(std::move(session)) {}
  ~DatabaseSession() override { database_.client_closed(session_); }

  pg::Ended run(std::string_view sql, const pg::Params& params) override {
    return database_.run(session_, sql, params);
  }
  bool in_transaction() const override { return session_->in_transaction; }

 private:
  SimDatabase& database_;
  SimDatabase::SessionPtr session_;
};

class SimDatabase::Host : public StatementHost {
 public:
  Host(SimDatabase& database, ServerSession& session) : database_(database), session_(session) {}

  const Tables& tables() const override { return early_ ? *session_.early : database_.tables_; }
  void see_early() { early_ = session_.early.has_value(); }
  std::shared_ptr<const KvRows> kv_seen(uint16_t partition) override {
    auto found = database_.tables_.kv.find(partition);
    auto now =
        found == database_.tables_.kv.end() ? std::make_shared<const KvRows>() : found->second;
    if (!session_.repeatable) return now;
    return session_.seen.emplace(partition, std::move(now)).first->second;
  }
  void change(Change change) override { session_.changes.push_back(std::move(change)); }
  bool lock(const std::string& row, RowLock mode) override {
    const bool granted = database_.locks_.lock(session_.id, row, mode, session_.lock_timeout_us);
    if (granted && session_.ended) database_.locks_.release(session_.id);
    return granted && !session_.ended;
  }
  int64_t now_ms() const override { return database_.timeline_.now_ms(); }
  bool begin() override {
    if (session_.in_transaction) return false;
    return session_.in_transaction = true;
  }
  void set_lock_timeout_ms(int64_t ms) override { session_.lock_timeout_us = ms * 1000; }
  void set_idle_timeout_ms(int64_t ms) override { session_.idle_timeout_us = ms * 1000; }
  void end_sessions(const std::string& application) override {
    for (const auto& [id, other] : std::map(database_.sessions_))
      if (other->application == application && id != session_.id) database_.end(*other);
  }
  void note_taken(uint16_t partition) override { session_.taken.push_back(partition); }
  void note_record(uint16_t partition, uint64_t epoch, uint64_t number) override {
    session_.written.push_back({partition, epoch, number, session_.id});
  }
  void note_rows(uint16_t partition, uint64_t epoch) override {
    if (session_.written.empty()) session_.written.push_back({partition, epoch, 0, session_.id});
  }

 private:
  SimDatabase& database_;
  ServerSession& session_;
  bool early_ = false;
};

SimDatabase::SimDatabase(Timeline& timeline, uint64_t seed, const Plants& plants, Verdict& verdict)
    : timeline_(timeline), random_(seed), plants_(plants), verdict_(verdict), locks_(timeline) {}

SimDatabase::~SimDatabase() = default;

// --- clients

std::unique_ptr<pg::Session> SimDatabase::connect(const pg::Access& access) {
  const auto found = clients_.find(access.application);
  if (found == clients_.end()) return nullptr;
  DatabaseClient& client = *found->second;
  if (takes_time()) {
    const bool unreachable = client.requests_lost || client.answers_lost;
    const int64_t us = unreachable ? access.silence.count() * 1000 : draw_round_trip_us();
    if (!timeline_.sleep(us) || unreachable || away_) return nullptr;
  } else if (!at_once_ && (away_ || client.group.ended)) {
    return nullptr;
  }
  auto session = std::make_shared<ServerSession>();
  session->id = ++sessions_made_;
  session->application = access.application;
  session->client = &client;
  sessions_[session->id] = session;
  return std::make_unique<DatabaseSession>(*this, std::move(session));
}

void SimDatabase::pause(std::chrono::milliseconds time) {
  if (takes_time()) timeline_.sleep(time.count() * 1000);
}

void SimDatabase::client_closed(const SessionPtr& session) {
  session->closed = true;
  if (session->ended) return;
  // The server hears of it, if there is a way; it notices between two statements.
  const bool heard = session->client != nullptr && !session->client->requests_lost &&
                     clients_.count(session->application) != 0;
  timeline_.after(heard ? draw_round_trip_us() : kKeepAliveUs, [this, session] {
    if (!session->busy) end(*session);
  });
}

int64_t SimDatabase::draw_round_trip_us() {
  return random_.percent(3) ? random_.between(5'000, 400'000) : random_.between(100, 1'500);
}

SimDatabase::Fate SimDatabase::draw_fate(std::string_view sql) {
  if (!takes_time()) return Fate::Done;
  uint64_t drawn = random_.below(1000);
  if (only_reads_rows(sql)) return drawn < faults_.read_lost ? Fate::LostAfter : Fate::Done;
  const std::pair<uint64_t, Fate> fates[] = {{faults_.conflict, Fate::Conflict},
                                             {faults_.lost_before, Fate::LostBefore},
                                             {faults_.lost_after, Fate::LostAfter},
                                             {faults_.late, Fate::Late}};
  for (const auto& [often, fate] : fates) {
    if (drawn < often) return fate;
    drawn -= often;
  }
  return Fate::Done;
}

// Planted: statements that lack what makes them safe.
std::string SimDatabase::rewritten(std::string_view sql,
                                   const std::vector<std::string>& values) const {
  const bool takes = sql.starts_with("UPDATE pawl_partition SET owner");
  if (takes && plants_.reopen_keeps_its_epoch && values.size() == 4)
    for (const auto& [id, row] : tables_.partitions)
      if (row.node == values[2] && row.incarnation == values[3] &&
          values[0].back() == static_cast<char>(id))
        return without(sql, " + 1");
  if (!sql.starts_with("WITH f AS")) return std::string(sql);
  if (plants_.fence_left_out && sql.find(", c AS") == std::string_view::npos)
    return without(sql, " AND epoch = $2::int8 FOR SHARE");
  if (plants_.gap_unnoticed) return without_gap_check(sql);
  return std::string(sql);
}

pg::Ended SimDatabase::run(const SessionPtr& session, std::string_view sql,
                           const pg::Params& params) {
  if (!at_once_ && (session->ended || session->client->group.ended)) return {};
  std::vector<std::string> values;
  for (size_t i = 0; i < params.size(); ++i) values.emplace_back(params.at(i));
  const std::string text = rewritten(sql, values);
  const Fate fate = draw_fate(text);
  DatabaseClient& client = *session->client;
  StatementResult result;
  const bool quick = only_reads_rows(text) && fate == Fate::Done && random_.percent(90) &&
                     !client.requests_lost && !client.answers_lost;
  if (quick || !takes_time()) {
    result = execute(session, text, values, fate);
  } else {
    const auto reply = std::make_shared<Reply>();
    reply->ticket = timeline_.ticket();
    if (!client.requests_lost && fate != Fate::LostBefore)
      timeline_.start(server_, [this, session, text, values, fate, reply] {
        work(session, text, values, fate, reply);
      });
    // A connection that breaks is noticed at once, or by silence.
    const bool breaks = fate == Fate::LostBefore || fate == Fate::Late;
    const int64_t us = breaks && random_.percent(70) ? draw_round_trip_us() : 3'000'000;
    timeline_.wait(reply->ticket, us);
    reply->wanted = false;
    if (!reply->given || client.group.ended) return {};
    result = std::move(reply->result);
  }
  if (!result.sql_state.empty())
    return {.rows = {}, .sql_state = result.sql_state, .message = result.message};
  return {.rows = pg::Rows(pg_result(result))};
}

// --- the server's side, each statement in a fiber

void SimDatabase::work(const SessionPtr& session, const std::string& sql,
                       const std::vector<std::string>& values, Fate fate, const ReplyPtr& reply) {
  session->busy = true;
  ++session->statements;
  timeline_.sleep(fate == Fate::Late ? random_.between(1'000, 6'000'000) : draw_round_trip_us());
  if (session->ended || away_) {
    if (random_.percent(70)) timeline_.wake(reply->ticket);  // a reset instead of silence
    return;
  }
  StatementResult result = execute(session, sql, values, fate);
  session->busy = false;
  if (session->in_transaction && session->idle_timeout_us != kNeverUs)
    timeline_.after(session->idle_timeout_us, [this, session, begun = session->statements] {
      if (session->in_transaction && session->statements == begun) end(*session);
    });
  const bool told = fate != Fate::LostAfter && fate != Fate::Late && !session->ended &&
                    !session->client->answers_lost;
  if (session->closed && !session->ended) end(*session);
  if (told) timeline_.sleep(draw_round_trip_us());
  if (told && !session->client->answers_lost) {
    reply->given = true;
    reply->result = std::move(result);
  } else if (random_.percent(50)) {
    return;  // and nothing says so
  }
  timeline_.wake(reply->ticket);
}

StatementResult SimDatabase::execute(const SessionPtr& session, const std::string& sql,
                                     const std::vector<std::string>& values, Fate fate) {
  if (sql == "ROLLBACK") return roll_back(*session), StatementResult{};
  if (sql == "COMMIT") return commit(session, fate);
  if (session->spoiled) return {.sql_state = "25P02", .message = "the transaction is aborted"};
  if (plants_.fence_in_another_transaction && sql.starts_with("WITH f AS"))
    return execute_apart(session, sql, values, fate);
  Host host(*this, *session);
  if (plants_.taker_reads_before_its_update && sql == "BEGIN") session->early = tables_;
  const bool reads_bounds = sql.starts_with("SELECT min(number)");
  if (reads_bounds) host.see_early();
  if (sql.starts_with("BEGIN ISOLATION")) session->repeatable = true;
  StatementResult result = carry_out(host, sql, values);
  if (reads_bounds && plants_.unknown_taken_for_failed) hide_untold(values[0], result);
  if (result.sql_state == "42601") verdict_.fail("simulator", result.message);
  if (session->ended && !at_once_) {
    roll_back(*session);
    return {.sql_state = "57P01", .message = "terminating connection"};
  }
  if (session->in_transaction) {
    session->spoiled = !result.sql_state.empty();
    return result;
  }
  if (!result.sql_state.empty()) return roll_back(*session), result;
  StatementResult ended = commit(session, fate);
  if (!ended.sql_state.empty()) return ended;
  const bool untold = fate == Fate::LostAfter || fate == Fate::Late;
  if (untold && sql.starts_with("WITH f AS")) untold_.insert({values[0], values[2]});
  return result;
}

// Planted: a record whose commit was not answered is not looked for.
void SimDatabase::hide_untold(const std::string& partition, StatementResult& bounds) const {
  if (bounds.rows.empty() || !bounds.rows[0][1]) return;
  std::string& last = *bounds.rows[0][1];
  if (untold_.count({partition, last}) == 0) return;
  for (size_t i = last.size(); i > 0 && last[i - 1]-- == 0;) --i;
}

// Planted: the fence is checked, and then the rest is done.
StatementResult SimDatabase::execute_apart(const SessionPtr& session, const std::string& sql,
                                           const std::vector<std::string>& values, Fate fate) {
  Host host(*this, *session);
  StatementResult first = carry_out(host, sql, values);
  const bool fenced = first.sql_state.empty() && first.rows[0][0]->back() == 0;
  roll_back(*session);
  if (fenced || !first.sql_state.empty()) return first;
  if (timeline_.in_fiber())
    timeline_.sleep(random_.percent(20) ? random_.between(1'000, 5'000'000) : 100);
  StatementResult result = carry_out(host, without(sql, " AND epoch = $2::int8 FOR SHARE"), values);
  if (!result.sql_state.empty()) return roll_back(*session), result;
  StatementResult ended = commit(session, fate);
  return ended.sql_state.empty() ? result : ended;
}

StatementResult SimDatabase::commit(const SessionPtr& session, Fate fate) {
  const bool changes = !session->changes.empty();
  if (session->spoiled) return roll_back(*session), StatementResult{};
  if (changes && takes_time()) {
    const bool slow = random_.below(1000) < faults_.slow;
    timeline_.sleep(slow ? random_.between(500'000, 5'000'000) : random_.between(100, 2'000));
  }
  if ((session->ended || away_) && !at_once_) {
    roll_back(*session);
    return {.sql_state = "57P01", .message = "terminating connection"};
  }
  if (changes && fate == Fate::Conflict) {
    roll_back(*session);
    return {.sql_state = random_.percent(70) ? "40001" : "40P01",
            .message = "could not serialize access"};
  }
  for (const Change& change : session->changes)
    if (change.breaks_key && change.breaks_key(tables_)) {
      roll_back(*session);
      return {.sql_state = "23505", .message = "duplicate key value violates unique constraint"};
    }
  std::vector<DatabaseWatcher::Taken> taken;
  for (const uint16_t id : session->taken)
    taken.push_back({id, tables_.partitions[id], {}, session->id});
  for (const Change& change : session->changes) change.make(tables_);
  const std::vector<DatabaseWatcher::Written> written = session->written;
  roll_back(*session);  // what is left of the transaction
  if (watcher_ == nullptr) return {};
  for (DatabaseWatcher::Taken& each : taken) {
    each.after = tables_.partitions[each.partition];
    watcher_->taken(each);
  }
  for (const DatabaseWatcher::Written& each : written) watcher_->written(each);
  return {};
}

void SimDatabase::roll_back(ServerSession& session) {
  session.changes.clear();
  session.taken.clear();
  session.written.clear();
  session.seen.clear();
  session.in_transaction = session.spoiled = session.repeatable = false;
  session.lock_timeout_us = session.idle_timeout_us = kNeverUs;
  locks_.release(session.id);
}

void SimDatabase::end(ServerSession& session) {
  session.ended = true;
  roll_back(session);
  sessions_.erase(session.id);
}

// --- what befalls it

void SimDatabase::go_away() {
  away_ = true;
  away_since_us_ = timeline_.now_us();
  for (const auto& [id, session] : std::map(sessions_)) end(*session);
}

void SimDatabase::come_back() {
  away_ = false;
  if (timeline_.now_us() - away_since_us_ >= kNoticedUs) back_since_us_ = timeline_.now_us();
}

void SimDatabase::fail_over() {
  for (const auto& [id, session] : std::map(sessions_)) end(*session);
}

void SimDatabase::fail_over_with_loss(bool pooled) {
  // What was under way is over in any case.
  for (const auto& [id, session] : std::map(sessions_))
    if (!pooled || session->busy || session->in_transaction) end(*session);
  tables_ = kept_;
}

void SimDatabase::end_sessions_of(const std::string& application) {
  for (const auto& [id, session] : std::map(sessions_))
    if (session->application == application) end(*session);
}

void SimDatabase::shut_down() {
  fail_over();
  timeline_.end(server_);
}

const std::string* SimDatabase::record(uint16_t partition, uint64_t number) const {
  for (const auto& [id, parts] : tables_.journals) {
    const auto records = parts.find(partition);
    if (records == parts.end()) continue;
    const auto found = records->second.find(number);
    if (found != records->second.end()) return found->second.get();
  }
  return nullptr;
}

}  // namespace pawl::sim
