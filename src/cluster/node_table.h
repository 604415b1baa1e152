// NodeTable: what nodes know of each other, which is what stands in the database. The seam below
// the leases: a test or a simulation gives its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/partition_report.h"

namespace pawl::cluster {

struct NodeIdentity {
  std::string name;
  std::string incarnation;  // a UUID, new at each start
  std::string url;          // where clients and other nodes reach it
  std::string version;
  uint64_t format = 1;  // the newest format of the journal that it speaks
};

struct NodeSeen {
  std::string name;
  std::string incarnation;
  uint64_t beat = 0;
  std::string url = {};
  std::string version = {};
  int64_t started_ms = 0;    // by the database's clock, for people
  int64_t last_seen_ms = 0;  // likewise
  bool draining = false;
  std::vector<PartitionReport> reports = {};
};

struct PartitionSeen {
  uint16_t id = 0;
  uint64_t epoch = 0;
  std::string node;  // "" = nobody
  std::string incarnation;
};

struct ClusterSeen {
  bool beaten = false;  // the own row was there, and has a new beat
  std::vector<NodeSeen> nodes;
  std::vector<PartitionSeen> partitions;
};

class NodeTable {
 public:
  virtual ~NodeTable() = default;
  // Puts the row of this node in the place of one of its name, if that one is still `former` ("" =
  // there is none); false: it is another one. A row that drains still does; a new one does if
  // `draining`.
  virtual Result<bool> enter(const NodeIdentity& node, const std::string& former,
                             bool draining) = 0;
  // Raises the own beat with what is reported, and reads all rows: the nodes at the same moment or
  // before, the partitions after it.
  virtual Result<ClusterSeen> beat(const NodeIdentity& node,
                                   const std::vector<PartitionReport>& reports) = 0;
  // False: there is no node of that name.
  virtual Result<bool> set_draining(const std::string& name, bool draining) = 0;
  virtual Status leave(const NodeIdentity& node) = 0;
};

}  // namespace pawl::cluster
