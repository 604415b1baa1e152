#include "cluster/postgres_node_table.h"

#include "base/read_number.h"
#include "store/postgres_schema.h"

namespace pawl::cluster {
namespace {

constexpr char kNoIncarnation[] = "00000000-0000-0000-0000-000000000000";

// Records of a newer format than this node knows may be in the journals.
Status settle_format(pg::Connection& database, uint64_t spoken) {
  PAWL_TRY(const std::string text, claim_meta(database, "format", std::to_string(spoken)));
  uint64_t in_force = 0;
  if (!read_number(text, in_force))
    return Error{ErrorCode::Corrupt, "pawl_meta: format is no number"};
  if (in_force <= spoken) return ok_status();
  return Error{ErrorCode::Unsupported, "the database has journal format " + text +
                                           ", this Pawl knows up to " + std::to_string(spoken) +
                                           ": a newer one writes it"};
}

class PostgresNodeTable : public NodeTable {
 public:
  PostgresNodeTable(pg::Access access, uint16_t partitions)
      : access_(std::move(access)), partitions_(partitions) {}

  Result<bool> enter(const NodeIdentity& node, const std::string& former, bool draining) override {
    PAWL_TRY_DO(connect());
    PAWL_TRY_DO(settle_schema(database_, partitions_));
    PAWL_TRY_DO(settle_format(database_, node.format));
    const std::string formats = std::to_string(node.format);
    PAWL_TRY(
        const pg::Rows entered,
        database_.run("INSERT INTO pawl_node VALUES ($1::text, $2::text::uuid, $3::text, $4::text,"
                      " $6::text, clock_timestamp(), 1, clock_timestamp(), $7::int4 = 1, '')"
                      " ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation,"
                      " url = excluded.url, version = excluded.version, formats = excluded.formats,"
                      " started_at = excluded.started_at, beat = 1, last_seen = excluded.last_seen,"
                      " stages = ''"
                      " WHERE pawl_node.incarnation = $5::text::uuid RETURNING 1",
                      pg::Params()
                          .bytes(node.name)
                          .bytes(node.incarnation)
                          .bytes(node.url)
                          .bytes(node.version)
                          .bytes(former.empty() ? kNoIncarnation : former)
                          .bytes(formats)
                          .int4(draining ? 1 : 0)));
    return entered.size() == 1;
  }

  Result<ClusterSeen> beat(const NodeIdentity& node,
                           const std::vector<PartitionReport>& reports) override {
    PAWL_TRY_DO(connect());
    ClusterSeen seen;
    const std::string stages = write_reports(reports);
    PAWL_TRY(
        const pg::Rows nodes,
        database_.run(kBeat, pg::Params().bytes(node.name).bytes(node.incarnation).bytes(stages)));
    for (size_t i = 0; i < nodes.size(); ++i) {
      seen.beaten = nodes.number(i, 0) == 1;
      seen.nodes.push_back({.name = std::string(nodes.bytes(i, 1)),
                            .incarnation = std::string(nodes.bytes(i, 2)),
                            .beat = nodes.number(i, 3),
                            .url = std::string(nodes.bytes(i, 4)),
                            .version = std::string(nodes.bytes(i, 5)),
                            .started_ms = static_cast<int64_t>(nodes.number(i, 6)),
                            .last_seen_ms = static_cast<int64_t>(nodes.number(i, 7)),
                            .draining = nodes.number(i, 8) != 0,
                            .reports = read_reports(nodes.bytes(i, 9))});
    }
    // Rows of nodes that never came back. One that was only asleep enters anew.
    if (++beats_ % kBeatsBetweenSweeps == 0) PAWL_TRY_DO(database_.run(kSweep));
    PAWL_TRY(const pg::Rows partitions, database_.run(kPartitions));
    for (size_t i = 0; i < partitions.size(); ++i)
      seen.partitions.push_back({static_cast<uint16_t>(partitions.number(i, 0)),
                                 partitions.number(i, 1), std::string(partitions.bytes(i, 2)),
                                 std::string(partitions.bytes(i, 3))});
    return seen;
  }

  Result<bool> set_draining(const std::string& name, bool draining) override {
    PAWL_TRY_DO(connect());
    return mark_draining(database_, name, draining);
  }

  Status leave(const NodeIdentity& node) override {
    PAWL_TRY_DO(connect());
    PAWL_TRY_DO(database_.run(
        "DELETE FROM pawl_node WHERE name = $1::text AND incarnation = $2::text::uuid",
        pg::Params().bytes(node.name).bytes(node.incarnation)));
    return ok_status();
  }

 private:
  Status connect() {
    if (database_.usable()) return ok_status();
    PAWL_TRY(database_, pg::Connection::open(access_));
    return ok_status();
  }

  inline static const pg::Query kBeat{
      "beat",
      "WITH b AS (UPDATE pawl_node SET beat = beat + 1, last_seen = clock_timestamp(),"
      " stages = $3::text"
      " WHERE name = $1::text AND incarnation = $2::text::uuid RETURNING 1)"
      " SELECT (SELECT count(*) FROM b), name, incarnation::text, beat, url, version,"
      " (extract(epoch FROM started_at) * 1000)::int8,"
      " (extract(epoch FROM last_seen) * 1000)::int8, draining::int4, stages FROM pawl_node"};
  static constexpr uint64_t kBeatsBetweenSweeps = 120;
  inline static const pg::Query kSweep{
      "sweep", "DELETE FROM pawl_node WHERE last_seen < clock_timestamp() - interval '10 minutes'"};
  inline static const pg::Query kPartitions{
      "partitions",
      "SELECT id, epoch, coalesce(owner, ''), coalesce(incarnation::text, '') FROM pawl_partition"
      " ORDER BY id"};

  const pg::Access access_;
  const uint16_t partitions_;
  pg::Connection database_;
  uint64_t beats_ = 0;
};

}  // namespace

Result<bool> mark_draining(pg::Connection& database, const std::string& name, bool draining) {
  PAWL_TRY(const pg::Rows marked,
           database.run("UPDATE pawl_node SET draining = $2::int4 = 1 WHERE name = $1::text"
                        " RETURNING 1",
                        pg::Params().bytes(name).int4(draining ? 1 : 0)));
  return marked.size() == 1;
}

std::unique_ptr<NodeTable> postgres_node_table(pg::Access access, uint16_t partitions) {
  return std::make_unique<PostgresNodeTable>(std::move(access), partitions);
}

}  // namespace pawl::cluster
