// Large texts of a definition's run on disk: each has a row of its own, which is written once. The
// row of the run or of the list says where they are: in the place of the text stands a byte that
// begins no JSON, and the row's number.
#pragma once

#include <vector>

#include "kernel/cold.h"
#include "kernel/run.h"

namespace pawl {

constexpr size_t kPartBytesMin = 16u << 10;  // smaller texts stand in the row itself

std::string part_row_key(const RunId& run, uint64_t part);

// Takes the large texts out while a row is encoded, and puts them back. What has no row yet gets
// one in `out`; rows of `parts` that hold nothing any more are removed there.
class TextsAside {
 public:
  TextsAside(const Run& run, std::vector<uint64_t>& parts, std::vector<Row>& out)
      : run_(run), parts_(parts), out_(out) {}
  ~TextsAside();
  TextsAside(const TextsAside&) = delete;
  TextsAside& operator=(const TextsAside&) = delete;

  void take(ScriptRun& script);
  void take(Scope& scope);

 private:
  void take(Text& text);

  const Run& run_;
  std::vector<uint64_t>& parts_;
  std::vector<Row>& out_;
  std::vector<uint64_t> now_;
  std::vector<std::pair<Text*, std::string>> aside_;
};

// Reads back what stands elsewhere.
void bring_texts(Cold& cold, const RunId& run, ScriptRun& script);
void bring_texts(Cold& cold, const RunId& run, Scope& scope);

}  // namespace pawl
