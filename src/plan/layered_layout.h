// Layered layout: boxes in rows, every edge from a higher row to a lower one where the graph allows
// it, long edges led around the rows between. Whole numbers only, so that a picture is the same on
// every machine. Pure; bounded: past kBendsMax edges are drawn straight.
#pragma once

#include <cstdint>
#include <vector>

namespace pawl::plan {

struct Point {
  int64_t x = 0;
  int64_t y = 0;
};

struct LayoutBox {
  int64_t width = 0;
  int64_t height = 0;
  Point at;  // found: the upper left corner
};

struct LayoutEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  bool weak = false;         // does not influence the rows; may be part of a cycle
  std::vector<Point> bends;  // found: where it passes the rows between
};

struct Layout {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  int64_t width = 0;
  int64_t height = 0;
};

// Edges that are not weak must not form a cycle.
void lay_out(Layout& layout);

}  // namespace pawl::plan
