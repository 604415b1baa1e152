// Large texts of a definition's run on disk: each has its own row, written once. The row of the run
// or of the list holds a reference instead of the text (text.h).
#pragma once

#include <vector>

#include "kernel/cold.h"
#include "kernel/run.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/text.h"

namespace pawl {

std::string scope_row_key(const RunId& run, std::string_view path);
std::string part_row_key(const RunId& run, uint64_t part);
RunId run_of_part(std::string_view row_key);

// While it lives, texts of `large_bytes` and more are encoded as references. Texts without a row
// get one in `out`; unused rows of `parts` are removed there.
class TextsAside {
 public:
  TextsAside(Run& run, size_t large_bytes, std::vector<uint64_t>& parts, std::vector<Row>& out)
      : run_(run), large_bytes_(large_bytes), parts_(parts), out_(out) {}
  ~TextsAside();
  TextsAside& operator=(TextsAside&&) = delete;

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

// Connects texts to their rows, so that they are read on demand.
void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, ScriptRun& script);
void connect_texts(Cold& cold, TextsInMemory& in_memory, const RunId& run, Scope& scope);

// Drops texts of `large_bytes` and more from memory; all their rows must be durable.
void release_texts(Cold& cold, TextsInMemory& in_memory, Run& run, size_t large_bytes);

// Bytes of texts of `large_bytes` and more that have no row yet.
size_t bytes_without_row(Run& run, size_t large_bytes);
// Writes such rows before the rows of their owners, at least one, until `bytes_max` is reached.
void write_texts_ahead(Run& run, size_t large_bytes, std::vector<Row>& out, size_t bytes_max);

}  // namespace pawl
