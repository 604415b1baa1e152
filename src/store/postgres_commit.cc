#include "store/postgres_commit.h"

#include <fmt/format.h>

#include <set>

#include "store/postgres_schema.h"

namespace pawl {
namespace {

// Of each key its last write: a statement changes a row once.
struct Changes {
  std::vector<int16_t> deleted_spaces, put_spaces;
  std::vector<std::string_view> deleted_keys, put_keys, values;

  explicit Changes(const std::vector<Write>& writes) {
    std::set<std::pair<uint8_t, std::string_view>> seen;
    for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
      if (!seen.emplace(write->space, write->key).second) continue;
      const std::string* value = write->bytes();
      (value != nullptr ? put_spaces : deleted_spaces).push_back(write->space);
      (value != nullptr ? put_keys : deleted_keys).push_back(write->key);
      if (value != nullptr) values.push_back(*value);
    }
  }
};

// What a commit is checked against, and does.
struct Shape {
  bool record = false;
  bool former = false;  // a record must be there: the one before, or, of rows alone, the newest
  bool rows = false;
};

// $1 partition, $2 epoch; the record's number and the record; the rows. Rows alone are of a journal
// up to $3, and must not come to stand in a database that has lost its end.
std::string commit_sql(const CommitPlace& place, const Shape& shape) {
  std::string sql =
      "WITH f AS (SELECT 1 FROM pawl_partition WHERE id = $1::int4"
      " AND epoch = $2::int8 FOR SHARE), g AS (SELECT 1 FROM f";
  if (shape.former)
    sql += fmt::format(
        " WHERE EXISTS (SELECT 1 FROM {} WHERE partition = $1::int4 AND number = $3::int8{})",
        segment_table(place.former_segment), shape.record ? " - 1" : "");
  sql += ")";
  int next = shape.former ? 4 : 3;
  if (shape.record) {
    sql += fmt::format(", j AS (INSERT INTO {} SELECT $1::int4, $3::int8, $4::bytea FROM g)",
                       segment_table(place.segment));
    next = 5;
  }
  if (shape.rows) {
    sql += fmt::format(
        ", d AS (DELETE FROM pawl_kv k USING g, unnest(${}::int2[], ${}::bytea[]) x(s, b)"
        " WHERE (k.partition, k.space, k.key) = ($1::int4, s, b))"
        ", u AS (INSERT INTO pawl_kv SELECT $1::int4, s, b, v FROM g,"
        " unnest(${}::int2[], ${}::bytea[], ${}::bytea[]) x(s, b, v)"
        " ON CONFLICT (partition, space, key) DO UPDATE SET value = excluded.value)",
        next, next + 1, next + 2, next + 3, next + 4);
  }
  return sql + " SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM g)";
}

}  // namespace

Result<CommitEnd> commit_batch(pg::Connection& database, const CommitPlace& place,
                               const Batch& batch) {
  Shape shape{.record = batch.number != 0, .rows = !batch.writes.empty()};
  const bool first = batch.number == 1 || batch.begins_journal;
  shape.former = shape.record ? !first : place.last != 0;
  const Changes changes(batch.writes);
  std::string name = "commit";
  if (shape.former) name += fmt::format("_{}", place.former_segment);
  if (shape.record) name += fmt::format("_into_{}", place.segment);
  if (shape.rows) name += "_rows";
  pg::Params params;
  params.int4(place.partition).int8(place.epoch);
  if (shape.record) {
    params.int8(batch.number).bytes(batch.journal);
  } else if (shape.former) {
    params.int8(place.last);
  }
  if (shape.rows)
    params.int2_array(changes.deleted_spaces)
        .bytes_array(changes.deleted_keys)
        .int2_array(changes.put_spaces)
        .bytes_array(changes.put_keys)
        .bytes_array(changes.values);
  PAWL_TRY(const pg::Rows ended, database.run({name, commit_sql(place, shape)}, params));
  if (ended.size() != 1 || ended.number(0, 0) != 1) return CommitEnd::Fenced;
  return ended.number(0, 1) == 1 ? CommitEnd::Done : CommitEnd::Gap;
}

}  // namespace pawl
