// Large texts of a definition's run on disk: each has a row of its own, which is written once. In
// the row of the run or of the list a reference stands in the place of the text (text.h).
#pragma once

#include <vector>

#include "kernel/cold.h"
#include "kernel/run.h"

namespace pawl {

std::string scope_row_key(const RunId& run, std::string_view path);
std::string part_row_key(const RunId& run, uint64_t part);
RunId run_of_part(std::string_view row_key);

// While it lives, references to texts of `large_bytes` and more are encoded in their place. What
// has no row yet gets one in `out`; rows of `parts` that hold nothing any more are removed there.
class TextsAside {
 public:
  TextsAside(Run& run, size_t large_bytes, std::vector<uint64_t>& parts, std::vector<Row>& out)
      : run_(run), large_bytes_(large_bytes), parts_(parts), out_(out) {}
  ~TextsAside();
  TextsAside(const TextsAside&) = delete;
  TextsAside& operator=(const TextsAside&) = delete;

  void take(ScriptRun& script);
  void take(Scope& scope);

 private:
  void take(Text& text);

  Run& run_;
  const size_t large_bytes_;
  std::vector<uint64_t>& parts_;
  std::vector<Row>& out_;
  std::vector<uint64_t> now_;
  std::vector<Text*> aside_;
};

// Lets texts that stand in rows of their own be read when they are asked for.
void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, ScriptRun& script);
void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, Scope& scope);

// Takes out of memory what texts of `large_bytes` and more have in rows, all of which are durable.
void release_texts(Cold& cold, TextsInMemory& in_memory, Run& run, size_t large_bytes);

// Bytes of texts of `large_bytes` and more that have no row yet.
size_t bytes_without_row(Run& run, size_t large_bytes);
// Writes such rows ahead of the rows of those that hold the texts, one at least, until `bytes_max`
// is reached.
void write_texts_ahead(Run& run, size_t large_bytes, std::vector<Row>& out, size_t bytes_max);

}  // namespace pawl
