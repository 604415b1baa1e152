#include "cluster/visit.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "cluster/postgres_node_table.h"

namespace pawl::cluster {

Visit::Visit(pg::Access access, const NodeIdentity& self, uint16_t partitions)
    : access_(std::move(access)),
      keeper_(postgres_node_table(access_, partitions), self, "", [](const Error&) {}) {}

Visit::~Visit() { end(); }

void Visit::end() {
  store_.reset();
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
  PAWL_TRY_DO(visit->keeper_.start());
  PostgresOptions options;
  options.url = database;
  options.partitions = partitions;
  options.owner = owner;
  options.keep_up_pause = std::chrono::milliseconds(0);
  PAWL_TRY(visit->store_, open_postgres(options));
  return visit;
}

}  // namespace pawl::cluster
