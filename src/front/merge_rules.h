// Merge rules: how the answers of several partitions become one, for each route that asks all of
// them. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "api/router.h"
#include "api/workers.h"
#include "front/merge_list.h"
#include "front/merge_values.h"

namespace pawl::front {

// What a merge may need besides the answers.
struct MergeAbout {
  uint16_t partitions = 1;
  std::vector<api::WorkerInfo> workers = {};  // of all nodes
  int64_t now_ms = 0;
  std::vector<uint16_t> here = {};  // the partitions of the node that answers
  Value::Object node = {};          // what it knows by itself (api::write_node_of_system)
  int64_t connections = 0;          // of the node
};

struct MergeRule {
  std::string_view method;
  std::string_view pattern;
  enum class Shape : uint8_t { List, Thing, Bulk } shape;
  const ListRule* list = nullptr;                               // of a list
  const Recipe* recipe = nullptr;                               // of a thing
  void (*finish)(Value::Object&, const MergeAbout&) = nullptr;  // of a thing; null: not needed
  bool needs_workers = false;
  bool needs_node = false;
  // Of a thing: changes what a partition told before it is joined; null: not needed.
  void (*prepare)(Value::Object&, uint16_t partition, const MergeAbout&) = nullptr;
};

// Null for a route that is not merged by a rule.
const MergeRule* merge_rule_of(const api::Route& route);

// The two lists of workflows: by page number, and by cursor.
const ListRule& workflows_by_page();
const ListRule& workflows_by_cursor();

}  // namespace pawl::front
