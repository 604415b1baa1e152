#include "plan/layered_layout.h"

#include <algorithm>

namespace pawl::plan {
namespace {

constexpr int64_t kGapX = 28;
constexpr int64_t kGapY = 44;
constexpr int64_t kBendWidth = 14;
constexpr size_t kBendsMax = 20'000;
constexpr int kSweeps = 4;
constexpr int64_t kFine = 1024;  // places within a row, in fractions of a box

class Rows {
 public:
  explicit Rows(Layout& layout) : layout_(layout) {}

  void run() {
    find_levels();
    make_rows();
    for (int i = 0; i < kSweeps; ++i) sort_rows(i % 2 == 0);
    place();
  }

 private:
  // A box, or the place where a long edge passes a row.
  struct Item {
    int64_t width = 0;
    int64_t height = 0;
    std::vector<uint32_t> above;
    std::vector<uint32_t> below;
    int64_t rank = 0;  // in its row
    Point at;
  };

  void find_levels() {
    const size_t count = layout_.boxes.size();
    levels_.assign(count, 0);
    std::vector<uint32_t> missing(count, 0);
    std::vector<std::vector<uint32_t>> below(count);
    for (const LayoutEdge& edge : layout_.edges) {
      if (edge.weak) continue;
      ++missing[edge.to];
      below[edge.from].push_back(edge.to);
    }
    std::vector<uint32_t> ready;
    for (uint32_t i = 0; i < count; ++i) {
      if (missing[i] == 0) ready.push_back(i);
    }
    for (size_t next = 0; next < ready.size(); ++next) {
      for (const uint32_t to : below[ready[next]]) {
        levels_[to] = std::max(levels_[to], levels_[ready[next]] + 1);
        if (--missing[to] == 0) ready.push_back(to);
      }
    }
    // A box that only a weak edge reaches is placed below the start of that edge.
    for (const LayoutEdge& edge : layout_.edges) {
      const bool loose = edge.weak && below[edge.to].empty();
      if (loose) levels_[edge.to] = std::max(levels_[edge.to], levels_[edge.from] + 1);
    }
  }

  void make_rows() {
    for (uint32_t i = 0; i < layout_.boxes.size(); ++i) {
      items_.push_back({layout_.boxes[i].width, layout_.boxes[i].height, {}, {}, 0, {}});
      add_to_row(levels_[i], i);
    }
    passes_.resize(layout_.edges.size());
    size_t bends = 0;
    for (size_t e = 0; e < layout_.edges.size(); ++e) {
      const LayoutEdge& edge = layout_.edges[e];
      const size_t from = levels_[edge.from];
      const size_t to = levels_[edge.to];
      if (from >= to) continue;
      bends += to - from - 1;
      uint32_t last = edge.from;
      for (size_t level = from + 1; level < to && bends <= kBendsMax; ++level) {
        const auto item = static_cast<uint32_t>(items_.size());
        items_.push_back({kBendWidth, 0, {}, {}, 0, {}});
        add_to_row(level, item);
        passes_[e].push_back(item);
        connect(last, item);
        last = item;
      }
      connect(last, edge.to);
    }
  }

  void add_to_row(size_t level, uint32_t item) {
    if (rows_.size() <= level) rows_.resize(level + 1);
    items_[item].rank = static_cast<int64_t>(rows_[level].size()) * kFine;
    rows_[level].push_back(item);
  }

  void connect(uint32_t above, uint32_t below) {
    items_[above].below.push_back(below);
    items_[below].above.push_back(above);
  }

  // Sorts each row by the mean position of its neighbours in the previous row.
  void sort_rows(bool downwards) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::vector<uint32_t>& row = rows_[downwards ? i : rows_.size() - 1 - i];
      std::vector<std::pair<int64_t, uint32_t>> wanted;
      for (const uint32_t item : row) {
        const std::vector<uint32_t>& near = downwards ? items_[item].above : items_[item].below;
        int64_t sum = 0;
        for (const uint32_t other : near) sum += items_[other].rank;
        const auto count = static_cast<int64_t>(near.size());
        wanted.emplace_back(count == 0 ? items_[item].rank : sum / count, item);
      }
      std::stable_sort(wanted.begin(), wanted.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t k = 0; k < row.size(); ++k) {
        row[k] = wanted[k].second;
        // Ranks of rows of different length are compared, so each row spans the same breadth.
        items_[row[k]].rank = (2 * static_cast<int64_t>(k) + 1) * kFine * 1000 /
                              (2 * static_cast<int64_t>(row.size()));
      }
    }
  }

  void place() {
    std::vector<int64_t> widths;
    for (const std::vector<uint32_t>& row : rows_) {
      int64_t width = -kGapX;
      for (const uint32_t item : row) width += items_[item].width + kGapX;
      widths.push_back(width);
      layout_.width = std::max(layout_.width, width);
    }
    int64_t y = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      int64_t x = (layout_.width - widths[i]) / 2;
      int64_t height = 0;
      for (const uint32_t item : rows_[i]) height = std::max(height, items_[item].height);
      for (const uint32_t item : rows_[i]) {
        items_[item].at = {x, y + (height - items_[item].height) / 2};
        x += items_[item].width + kGapX;
      }
      layout_.height = y + height;
      y += height + kGapY;
    }
    for (size_t i = 0; i < layout_.boxes.size(); ++i) layout_.boxes[i].at = items_[i].at;
    for (size_t e = 0; e < passes_.size(); ++e) {
      for (const uint32_t item : passes_[e]) {
        layout_.edges[e].bends.push_back({items_[item].at.x + kBendWidth / 2, items_[item].at.y});
      }
    }
  }

  Layout& layout_;
  std::vector<size_t> levels_;
  std::vector<Item> items_;
  std::vector<std::vector<uint32_t>> rows_;
  std::vector<std::vector<uint32_t>> passes_;  // of each edge
};

}  // namespace

void lay_out(Layout& layout) { Rows(layout).run(); }

}  // namespace pawl::plan
