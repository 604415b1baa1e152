#include "cluster/visit.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "cluster/postgres_node_table.h"
#include "store/postgres_schema.h"

namespace pawl::cluster {

Visit::Visit(pg::Access access, const NodeIdentity& self, uint16_t partitions)
    : access_(std::move(access)),
      keeper_(postgres_node_table(access_, partitions), self, "", [](const Error&) {}) {}

Visit::~Visit() { end(); }

void Visit::end() {
  stores_.clear();
  keeper_.stop();
}

Result<std::unique_ptr<Visit>> Visit::begin(const std::string& database, const std::string& name,
                                            uint16_t partitions) {
  SystemClock clock;
  SystemRandom random;
  const PartitionOwner owner{name,
                             Uuid::v7(clock.now_ms(), random.next(), random.next(), 0).text()};
  std::unique_ptr<Visit> visit(new Visit({database, owner.application()},
                                         {owner.node, owner.incarnation, "", ""}, partitions));
  PAWL_TRY_DO(visit->keeper_.start(true));
  PAWL_TRY_DO(visit->take_all(owner, partitions));
  return visit;
}

Status Visit::take_all(const PartitionOwner& owner, uint16_t partitions) {
  PAWL_TRY(pg::Connection database, pg::Connection::open(access_));
  PAWL_TRY(const uint16_t found, settle_schema(database, partitions));
  PostgresOptions options;
  options.url = access_.url;
  options.partitions = found;
  options.owner = owner;
  options.readers = std::make_shared<pg::Pool>(access_, options.readers_kept);
  options.keep_up_pause = std::chrono::milliseconds(0);
  while (stores_.size() < found) {
    options.partition = static_cast<uint16_t>(stores_.size());
    PAWL_TRY(auto store, open_postgres(options));
    stores_.push_back(std::move(store));
  }
  return ok_status();
}

}  // namespace pawl::cluster
