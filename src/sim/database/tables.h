// The tables of a simulated database (store/postgres_schema.h has the real ones). A copy shares the
// bytes of rows and records with its original.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace pawl::sim {

using SharedBytes = std::shared_ptr<const std::string>;
using KvRows = std::map<std::pair<uint8_t, std::string>, SharedBytes>;  // (space, key) → value

struct NodeRow {
  std::string incarnation;
  std::string url;
  std::string version;
  int64_t started_ms = 0;
  uint64_t beat = 0;
  int64_t last_seen_ms = 0;
  bool draining = false;
  std::string stages = {};
};

struct OwnerRow {
  uint64_t epoch = 0;
  std::string node;  // "" = null
  std::string incarnation;
  uint64_t trim_before = 0;
  uint32_t first_segment = 1;
};

// What one partition has in one segment.
using SegmentRecords = std::map<uint64_t, SharedBytes>;

struct Tables {
  std::set<std::string> made;  // names of tables that are there
  std::map<std::string, std::string> meta;
  std::map<std::string, NodeRow> nodes;
  std::map<uint16_t, OwnerRow> partitions;
  std::map<uint16_t, std::shared_ptr<const KvRows>> kv;
  std::map<uint32_t, int64_t> segments;                             // id → made_at
  std::map<uint32_t, std::map<uint16_t, SegmentRecords>> journals;  // by segment

  const KvRows& kv_of(uint16_t partition) const {
    static const KvRows none;
    const auto found = kv.find(partition);
    return found == kv.end() ? none : *found->second;
  }
  // Readers of an older state keep theirs.
  KvRows& kv_to_change(uint16_t partition) {
    auto& rows = kv[partition];
    if (!rows || rows.use_count() > 1)
      rows = rows ? std::make_shared<const KvRows>(*rows) : std::make_shared<const KvRows>();
    return const_cast<KvRows&>(*rows);
  }
  // Of the whole journal; 0: there is no record.
  uint64_t last_record(uint16_t partition) const {
    uint64_t last = 0;
    for (const auto& [id, parts] : journals) {
      const auto records = parts.find(partition);
      if (records != parts.end() && !records->second.empty())
        last = std::max(last, records->second.rbegin()->first);
    }
    return last;
  }
  bool has_record(uint32_t segment, uint16_t partition, uint64_t number) const {
    const auto parts = journals.find(segment);
    if (parts == journals.end()) return false;
    const auto records = parts->second.find(partition);
    return records != parts->second.end() && records->second.count(number) != 0;
  }
};

}  // namespace pawl::sim
