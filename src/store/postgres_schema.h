// The tables of a database that Pawl uses, and what it must promise before Pawl relies on it.
//
//   pawl_meta(name, value)            'schema': version of this layout; 'partitions', 'cluster_id',
//                                     'format' (of the journal), 'key_check', 'vault'
//   pawl_node(name, …)                a row for each node: its beats (src/cluster). Layout 1 had no
//                                     `stages`
//   pawl_partition(id, epoch, owner, incarnation, trim_before, first_segment)
//                                     who may write: every commit checks the epoch
//   pawl_kv(partition, space, key, value)
//   pawl_segment(id, made_at)         the tables that hold the journal, in the order of their ids
//   pawl_journal_<id>(partition, number, record)
//
// The journal is cut into segments so that its old end is dropped as a table and not deleted row by
// row: that costs nothing and leaves nothing to clean up (store/postgres_segments.h).
#pragma once

#include <cstdint>
#include <string>

#include "store/postgres_connection.h"

namespace pawl {

inline constexpr uint32_t kPostgresSchema = 2;

// Makes the tables if there are none. `partitions`: of a new database; of one that is there it must
// be the same. 0: as many as it has, and nothing is made (NotFound). InvalidRequest if it has
// others, or acknowledges what it may lose; Unsupported if a newer Pawl wrote it. Gives the number
// of partitions.
Result<uint16_t> settle_schema(pg::Connection& database, uint16_t partitions);

// A copy into this database is under way: nobody else opens it until it is whole (settle_schema:
// Conflict).
Status mark_copying(pg::Connection& database);
Status unmark_copying(pg::Connection& database);
// Takes all of Pawl's tables away.
Status drop_schema(pg::Connection& database);

// What is written under a name of pawl_meta: `value`, unless something stands there already.
Result<std::string> claim_meta(pg::Connection& database, std::string_view name,
                               std::string_view value);

// A table for the journal; no error if it is there.
Status make_segment(pg::Connection& database, uint32_t id);
std::string segment_table(uint32_t id);

}  // namespace pawl
