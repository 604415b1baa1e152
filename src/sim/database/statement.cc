#include "sim/database/statement.h"

#include "base/check.h"
#include "base/read_number.h"
#include "sim/database/owner_statements.h"
#include "sim/database/statement_call.h"
#include "store/postgres_schema.h"

namespace pawl::sim {
namespace statements {
namespace {

// Reads a statement's text from the front.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  bool take(std::string_view part) {
    if (!rest_.starts_with(part)) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  uint32_t number() {
    size_t size = 0;
    while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
    uint64_t value = 0;
    PAWL_CHECK(read_number(rest_.substr(0, size), value));
    rest_.remove_prefix(size);
    return static_cast<uint32_t>(value);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// '#' in a pattern stands for a number, '*' for all that is left.
std::optional<std::vector<uint32_t>> match(std::string_view pattern, std::string_view sql) {
  std::vector<uint32_t> numbers;
  Text text(sql);
  while (!pattern.empty()) {
    const size_t end = std::min(pattern.find_first_of("#*"), pattern.size());
    if (!text.take(pattern.substr(0, end))) return std::nullopt;
    pattern.remove_prefix(end);
    if (pattern.empty()) break;
    if (pattern.front() == '*') return numbers;
    numbers.push_back(text.number());
    pattern.remove_prefix(1);
  }
  if (!text.at_end()) return std::nullopt;
  return numbers;
}

std::string segment_name(uint32_t id) { return segment_table(id); }

// --- the schema

StatementResult no_rows(Call&) { return {}; }

StatementResult create_table(Call& call) {
  Text text(call.sql);
  PAWL_CHECK(text.take("CREATE TABLE IF NOT EXISTS "));
  const std::string_view rest = call.sql.substr(27);
  const std::string name(rest.substr(0, rest.find(' ')));
  // Two that make the same table at once: the second waits for the first.
  if (!call.host.lock("table " + name, RowLock::Update)) return held_row();
  call.host.change({[name](Tables& tables) { tables.made.insert(name); }});
  return {};
}

StatementResult add_segment(Call& call) {
  call.host.change({[id = call.numbers[0], now_ms = call.host.now_ms()](Tables& tables) {
    tables.segments.emplace(id, now_ms);
    tables.journals[id];
  }});
  return {};
}

StatementResult add_partitions(Call& call) {
  call.host.change({[last = call.numbers[0]](Tables& tables) {
    for (uint32_t id = 0; id <= last; ++id)
      tables.partitions.try_emplace(static_cast<uint16_t>(id));
  }});
  return {};
}

StatementResult add_meta(Call& call) {
  call.host.change({[count = call.numbers[0]](Tables& tables) {
                      tables.meta["partitions"] = std::to_string(count);
                      tables.meta["cluster_id"] = "simulated";
                      tables.meta["schema"] = std::to_string(kPostgresSchema);
                    },
                    [](const Tables& tables) { return tables.meta.count("schema") != 0; }});
  return {};
}

StatementResult read_meta_value(Call& call) {
  const Tables& tables = call.host.tables();
  if (tables.made.count("pawl_meta") == 0) return no_table("pawl_meta");
  const auto found = tables.meta.find(call.values.bytes(0));
  if (found == tables.meta.end()) return {};
  return one_row({found->second});
}

StatementResult claim_meta_value(Call& call) {
  call.host.change({[name = call.values.bytes(0), value = call.values.bytes(1)](Tables& tables) {
    tables.meta.emplace(name, value);
  }});
  return {};
}

// --- transactions

StatementResult begin(Call& call) {
  if (!call.host.begin()) return refused("25001", "there is already a transaction in progress");
  return {};
}

StatementResult set_lock_timeout(Call& call) {
  call.host.set_lock_timeout_ms(int64_t{call.numbers[0]} * 1000);
  return {};
}

StatementResult set_idle_timeout(Call& call) {
  call.host.set_idle_timeout_ms(int64_t{call.numbers[0]} * 1000);
  return {};
}

// --- segments

StatementResult list_segments(Call& call) {
  StatementResult result;
  for (const auto& [id, made_ms] : call.host.tables().segments)
    if (id >= call.values.number(0)) result.rows.push_back({number_cell(id)});
  return result;
}

const SegmentRecords* records_of(Call& call, uint32_t segment) {
  static const SegmentRecords none;
  const auto parts = call.host.tables().journals.find(segment);
  if (parts == call.host.tables().journals.end()) return nullptr;
  const auto records = parts->second.find(call.partition());
  return records == parts->second.end() ? &none : &records->second;
}

StatementResult bounds(Call& call) {
  const SegmentRecords* records = records_of(call, call.numbers[0]);
  if (records == nullptr) return no_table(segment_name(call.numbers[0]));
  if (records->empty()) return one_row({std::nullopt, std::nullopt});
  return one_row({number_cell(records->begin()->first), number_cell(records->rbegin()->first)});
}

StatementResult newest_segment(Call& call) {
  const auto& segments = call.host.tables().segments;
  if (segments.empty()) return {};
  const auto& [id, made_ms] = *segments.rbegin();
  return one_row(
      {number_cell(id), number_cell(static_cast<uint64_t>((call.host.now_ms() - made_ms) / 1000))});
}

StatementResult sizes(Call& call) {
  uint64_t bytes = 0;
  const auto parts = call.host.tables().journals.find(call.numbers[0]);
  if (parts == call.host.tables().journals.end()) return no_table(segment_name(call.numbers[0]));
  for (const auto& [partition, records] : parts->second)
    for (const auto& [number, record] : records) bytes += record->size();
  return one_row({number_cell(bytes), number_cell(1)});
}

StatementResult carry_over(Call& call) {
  const uint32_t to = call.numbers[0];
  const SegmentRecords* from = records_of(call, call.numbers[1]);
  if (from == nullptr) return no_table(segment_name(call.numbers[1]));
  SegmentRecords carried(from->lower_bound(call.values.number(2)), from->end());
  bool matches = false;
  if (StatementResult held = lock_owner_row(call, RowLock::Share, matches); !held.sql_state.empty())
    return held;
  if (matches)
    call.host.change({[to, id = call.partition(), carried](Tables& tables) {
      for (const auto& [number, record] : carried) tables.journals[to][id].emplace(number, record);
    }});
  return one_row({number_cell(matches ? 1 : 0)});
}

StatementResult old_segments(Call& call) {
  uint32_t first = UINT32_MAX;
  for (const auto& [id, row] : call.host.tables().partitions)
    first = std::min(first, row.first_segment);
  StatementResult result;
  for (const auto& [id, made_ms] : call.host.tables().segments)
    if (id < first) result.rows.push_back({number_cell(id)});
  return result;
}

StatementResult drop_segment(Call& call) {
  const uint32_t id = call.numbers[0];
  if (!call.host.lock("table " + segment_name(id), RowLock::Update)) return held_row();
  call.host.change({[id](Tables& tables) {
    tables.journals.erase(id);
    tables.made.erase(segment_name(id));
  }});
  return {};
}

StatementResult forget_segment(Call& call) {
  call.host.change({[id = call.numbers[0]](Tables& tables) { tables.segments.erase(id); }});
  return {};
}

// --- reads of a partition

StatementResult get_value(Call& call) {
  const auto rows = call.host.kv_seen(call.partition());
  const auto found =
      rows->find({static_cast<uint8_t>(call.values.number(1)), call.values.bytes(2)});
  if (found == rows->end()) return {};
  return one_row({*found->second});
}

StatementResult scan_rows(Call& call) {
  Text text(call.sql);
  PAWL_CHECK(text.take("SELECT key"));
  const bool values = text.take(", value");
  PAWL_CHECK(text.take(" FROM pawl_kv WHERE partition = $1::int4 AND space = $2::int2 AND key "));
  const bool behind = text.take("> ");
  if (!behind) PAWL_CHECK(text.take(">= "));
  PAWL_CHECK(text.take("$3::bytea"));
  const bool ends = text.take(" AND key < $4::bytea");
  PAWL_CHECK(text.take(" ORDER BY partition "));
  const bool reverse = text.take("DESC");
  const auto rows = call.host.kv_seen(call.partition());
  const auto space = static_cast<uint8_t>(call.values.number(1));
  const std::pair<uint8_t, std::string> from{space, call.values.bytes(2)};
  auto begin = behind ? rows->upper_bound(from) : rows->lower_bound(from);
  auto end = ends ? rows->lower_bound({space, call.values.bytes(3)})
                  : rows->lower_bound({static_cast<uint8_t>(space + 1), ""});
  if (!ends && space == 255) end = rows->end();
  uint64_t left = call.values.number(ends ? 4 : 3);
  StatementResult result;
  auto add = [&](const auto& row) {
    result.rows.push_back({row.first.second});
    if (values) result.rows.back().push_back(*row.second);
  };
  if (ends && call.values.bytes(3) <= call.values.bytes(2)) return result;
  for (; left > 0 && begin != end; --left) {
    if (reverse) {
      add(*--end);
    } else {
      add(*begin++);
    }
  }
  return result;
}

StatementResult read_records(Call& call) {
  const SegmentRecords* records = records_of(call, call.numbers[0]);
  if (records == nullptr) return no_table(segment_name(call.numbers[0]));
  StatementResult result;
  auto at = records->lower_bound(call.values.number(1));
  for (uint64_t left = call.values.number(3);
       left > 0 && at != records->end() && at->first <= call.values.number(2); --left, ++at)
    result.rows.push_back({number_cell(at->first), *at->second});
  return result;
}

// --- a commit

struct CommitText {
  bool fenced = false;
  bool locked = false;
  std::optional<uint32_t> former;   // the segment that must hold a record:
  bool before = false;              // the one before $3, or $3 itself
  std::optional<uint32_t> segment;  // where the record goes
  bool rows = false;
};

std::optional<CommitText> read_commit(std::string_view sql) {
  CommitText found;
  Text text(sql);
  if (!text.take("WITH f AS (SELECT 1 FROM pawl_partition WHERE id = $1::int4"))
    return std::nullopt;
  found.fenced = text.take(" AND epoch = $2::int8");
  found.locked = text.take(" FOR SHARE");
  if (!text.take("), g AS (SELECT 1 FROM f")) return std::nullopt;
  if (text.take(" WHERE EXISTS (SELECT 1 FROM pawl_journal_")) {
    found.former = text.number();
    if (!text.take(" WHERE partition = $1::int4 AND number = $3::int8")) return std::nullopt;
    found.before = text.take(" - 1");
    if (!text.take(")")) return std::nullopt;
  }
  if (!text.take(")")) return std::nullopt;
  if (text.take(", j AS (INSERT INTO pawl_journal_")) {
    found.segment = text.number();
    if (!text.take(" SELECT $1::int4, $3::int8, $4::bytea FROM g)")) return std::nullopt;
  }
  if (text.take(", d AS (DELETE FROM pawl_kv k USING g, unnest($")) {
    found.rows = true;
    text.number();
    if (!text.take("::int2[], $")) return std::nullopt;
    text.number();
    if (!text.take("::bytea[]) x(s, b) WHERE (k.partition, k.space, k.key) = ($1::int4, s, b)),"
                   " u AS (INSERT INTO pawl_kv SELECT $1::int4, s, b, v FROM g, unnest($"))
      return std::nullopt;
    text.number();
    if (!text.take("::int2[], $")) return std::nullopt;
    text.number();
    if (!text.take("::bytea[], $")) return std::nullopt;
    text.number();
    if (!text.take("::bytea[]) x(s, b, v) ON CONFLICT (partition, space, key) DO UPDATE SET value ="
                   " excluded.value)"))
      return std::nullopt;
  }
  if (!text.take(" SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM g)") || !text.at_end())
    return std::nullopt;
  return found;
}

void change_rows(Call& call, size_t at) {
  struct Rows {
    std::vector<std::string> deleted_spaces, deleted, put_spaces, put, values;
  };
  auto rows = std::make_shared<Rows>(Rows{call.values.array(at), call.values.array(at + 1),
                                          call.values.array(at + 2), call.values.array(at + 3),
                                          call.values.array(at + 4)});
  call.host.change({[rows, id = call.partition()](Tables& tables) {
    auto space = [](const std::string& bytes) { return static_cast<uint8_t>(Values::read(bytes)); };
    KvRows& kv = tables.kv_to_change(id);
    for (size_t i = 0; i < rows->deleted.size(); ++i)
      kv.erase({space(rows->deleted_spaces[i]), rows->deleted[i]});
    for (size_t i = 0; i < rows->put.size(); ++i)
      kv[{space(rows->put_spaces[i]), rows->put[i]}] =
          std::make_shared<const std::string>(rows->values[i]);
  }});
}

StatementResult commit(Call& call, const CommitText& text) {
  const Tables& tables = call.host.tables();
  const uint64_t number = text.segment ? call.values.number(2) : 0;
  const bool unbroken =
      !text.former || tables.has_record(*text.former, call.partition(),
                                        call.values.number(2) - (text.before ? 1 : 0));
  bool matches = !text.fenced;
  if (text.fenced && text.locked) {
    StatementResult held = lock_owner_row(call, RowLock::Share, matches);
    if (!held.sql_state.empty()) return held;
  } else if (text.fenced) {
    matches = call.owner_row() != nullptr && call.owner_row()->epoch == call.values.number(1);
  }
  const bool done = matches && unbroken;
  if (done && text.segment) {
    const uint32_t segment = *text.segment;
    if (tables.journals.count(segment) == 0) return no_table(segment_name(segment));
    auto record = std::make_shared<const std::string>(call.values.bytes(3));
    const uint16_t id = call.partition();
    call.host.change(
        {[segment, id, number, record](Tables& now) {
           now.journals[segment][id].emplace(number, record);
         },
         [segment, id, number](const Tables& now) { return now.has_record(segment, id, number); }});
    call.host.note_record(id, call.values.number(1), number);
  }
  if (done && text.rows) {
    change_rows(call, text.segment ? 4 : text.former ? 3 : 2);
    call.host.note_rows(call.partition(), call.values.number(1));
  }
  return one_row({number_cell(matches ? 1 : 0), number_cell(done ? 1 : 0)});
}

// --- what is known

struct KnownStatement {
  std::string_view pattern;
  StatementResult (*carry_out)(Call& call);
};

constexpr KnownStatement kKnown[] = {
    {"SELECT value FROM pawl_kv WHERE partition = $1::int4 AND space = $2::int2 AND key ="
     " $3::bytea",
     get_value},
    {"SELECT key*", scan_rows},
    {"WITH b AS (UPDATE pawl_node SET beat = beat + 1, last_seen = clock_timestamp(), stages ="
     " $3::text WHERE name = $1::text AND incarnation = $2::text::uuid RETURNING 1) SELECT (SELECT"
     " count(*) FROM b), name, incarnation::text, beat, url, version, (extract(epoch FROM"
     " started_at) * 1000)::int8, (extract(epoch FROM last_seen) * 1000)::int8, draining::int4,"
     " stages FROM pawl_node",
     beat},
    {"UPDATE pawl_node SET draining = $2::int4 = 1 WHERE name = $1::text RETURNING 1",
     set_draining},
    {"SELECT id, epoch, coalesce(owner, ''), coalesce(incarnation::text, '') FROM pawl_partition"
     " ORDER BY id",
     read_owners},
    {"SELECT epoch, coalesce(owner, ''), coalesce(incarnation::text, ''), trim_before,"
     " first_segment FROM pawl_partition WHERE id = $1::int4",
     read_owner},
    {"SELECT number, record FROM pawl_journal_# WHERE partition = $1::int4 AND number BETWEEN"
     " $2::int8 AND $3::int8 ORDER BY partition, number LIMIT $4::int8",
     read_records},
    {"BEGIN*", begin},
    {"SET LOCAL lock_timeout = '#s'", set_lock_timeout},
    {"SET LOCAL idle_in_transaction_session_timeout = '#s'", set_idle_timeout},
    {"SELECT 1 FROM pawl_node WHERE name = $1::text AND incarnation = $2::text::uuid AND beat ="
     " $3::int8 FOR SHARE",
     lock_node_at_beat},
    {"UPDATE pawl_partition SET owner = $3::text, incarnation = $4::text::uuid, epoch = epoch*",
     take_row},
    {"UPDATE pawl_partition SET trim_before = $3::int8, first_segment = $4::int4 WHERE id ="
     " $1::int4 AND epoch = $2::int8 RETURNING epoch",
     note_progress},
    {"UPDATE pawl_partition SET trim_before = $3::int8, first_segment = $4::int4 WHERE id ="
     " $1::int4 AND epoch = $2::int8 AND EXISTS (SELECT 1 FROM pawl_journal_# WHERE partition ="
     " $1::int4 AND number = $5::int8) RETURNING epoch",
     note_progress},
    {"UPDATE pawl_partition SET trim_before = $3::int8, first_segment = $4::int4, owner = NULL,"
     " incarnation = NULL, epoch = epoch + 1 WHERE id = $1::int4 AND epoch = $2::int8 AND EXISTS"
     " (SELECT 1 FROM pawl_journal_# WHERE partition = $1::int4 AND number = $5::int8) RETURNING"
     " epoch",
     give_up},
    {"UPDATE pawl_partition SET trim_before = $3::int8, first_segment = $4::int4, owner = NULL,"
     " incarnation = NULL, epoch = epoch + 1 WHERE id = $1::int4 AND epoch = $2::int8 RETURNING"
     " epoch",
     give_up},
    {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1::text"
     " AND pid <> pg_backend_pid()",
     terminate},
    {"INSERT INTO pawl_node VALUES ($1::text, $2::text::uuid, $3::text, $4::text, $6::text,"
     " clock_timestamp(), 1, clock_timestamp(), $7::int4 = 1, '') ON CONFLICT (name) DO UPDATE SET"
     " incarnation = excluded.incarnation, url = excluded.url, version = excluded.version, formats "
     "="
     " excluded.formats, started_at = excluded.started_at, beat = 1, last_seen ="
     " excluded.last_seen, stages = '' WHERE pawl_node.incarnation = $5::text::uuid RETURNING 1",
     enter_node},
    {"DELETE FROM pawl_node WHERE last_seen < clock_timestamp() - interval '10 minutes'", sweep},
    {"DELETE FROM pawl_node WHERE name = $1::text AND incarnation = $2::text::uuid", leave_node},
    {"SELECT id FROM pawl_segment WHERE id >= $1::int4 ORDER BY id", list_segments},
    {"SELECT min(number), max(number) FROM pawl_journal_# WHERE partition = $1::int4", bounds},
    {"SELECT id, extract(epoch FROM clock_timestamp() - made_at)::int8 FROM pawl_segment ORDER BY"
     " id DESC LIMIT 1",
     newest_segment},
    {"SELECT pg_total_relation_size('pawl_journal_#'), pg_total_relation_size('pawl_kv')", sizes},
    {"WITH f AS (SELECT 1 FROM pawl_partition WHERE id = $1::int4 AND epoch = $2::int8 FOR SHARE),"
     " c AS (INSERT INTO pawl_journal_# SELECT partition, number, record FROM f, pawl_journal_#"
     " WHERE partition = $1::int4 AND number >= $3::int8 ON CONFLICT DO NOTHING) SELECT count(*)"
     " FROM f",
     carry_over},
    {"SELECT id FROM pawl_segment WHERE id < (SELECT min(first_segment) FROM pawl_partition)"
     " ORDER BY id",
     old_segments},
    {"DROP TABLE IF EXISTS pawl_journal_#", drop_segment},
    {"DELETE FROM pawl_segment WHERE id = #", forget_segment},
    {"SELECT name, setting FROM pg_settings WHERE*", no_rows},
    {"SELECT value FROM pawl_meta WHERE name = $1::text", read_meta_value},
    {"INSERT INTO pawl_meta VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING", claim_meta_value},
    {"INSERT INTO pawl_meta VALUES ('partitions', '#'), ('cluster_id', '*", add_meta},
    {"INSERT INTO pawl_partition SELECT id, 0, NULL, NULL, 0, 1 FROM generate_series(0, #) AS id"
     " ON CONFLICT DO NOTHING",
     add_partitions},
    {"INSERT INTO pawl_segment VALUES (#, clock_timestamp()) ON CONFLICT DO NOTHING", add_segment},
    {"CREATE TABLE IF NOT EXISTS *", create_table},
    {"ALTER TABLE *", no_rows},
};

}  // namespace

static StatementResult carry_out_known(Call& call) {
  if (const auto text = read_commit(call.sql)) return commit(call, *text);
  for (const KnownStatement& known : kKnown) {
    auto numbers = match(known.pattern, call.sql);
    if (!numbers) continue;
    call.numbers = std::move(*numbers);
    return known.carry_out(call);
  }
  return refused("42601", "the simulated database does not know: " + std::string(call.sql));
}

}  // namespace statements

std::string partition_row(uint16_t partition) { return "partition " + std::to_string(partition); }
std::string node_row(std::string_view node) { return "node " + std::string(node); }

StatementResult carry_out(StatementHost& host, std::string_view sql,
                          std::span<const std::string> values) {
  statements::Call call{host, {values}, {}, sql};
  return statements::carry_out_known(call);
}

bool only_reads_rows(std::string_view sql) {
  return sql.starts_with("SELECT") && sql.find(" FOR SHARE") == std::string_view::npos &&
         sql.find("pg_terminate_backend") == std::string_view::npos;
}

}  // namespace pawl::sim
