// Text: a text of a definition's run that may be large.
//
// On disk a large text has a row of its own, written once (run_parts.h): existing texts must not be
// written again with every addition. A text of a run that is read back stays on disk until str() is
// called, so that it costs time only where it is used. size() and empty() never read. Once its row
// is durable, a text may leave memory again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"

namespace pawl {

class Cold;

// Tracks runs with texts in memory that also have rows, and their approximate bytes.
class TextsInMemory {
 public:
  void note(const RunId& run, size_t bytes);
  size_t bytes() const { return bytes_; }
  std::vector<RunId> take();  // with duplicates; clears the record

 private:
  std::vector<RunId> runs_;
  size_t bytes_ = 0;
};

// The large texts of one run on disk.
class TextRows {
 public:
  TextRows(Cold& cold, TextsInMemory& in_memory, const RunId& run)
      : cold_(cold), in_memory_(in_memory), run_(run) {}
  // Throws Unreadable, like every read of the state.
  std::string read(uint64_t part) const;

 private:
  Cold& cold_;
  TextsInMemory& in_memory_;
  RunId run_;
};

class Text {
 public:
  Text() = default;
  Text(std::string text) : here_(std::move(text)) {}  // NOLINT(runtime/explicit)
  Text& operator=(std::string text) { return *this = Text(std::move(text)); }
  void clear();

  bool empty() const { return size() == 0; }
  size_t size() const { return (shared_ ? shared_->size() : here_.size()) + bytes_on_disk_; }
  const std::string& str() const;
  operator const std::string&() const { return str(); }  // NOLINT(runtime/explicit)
  operator std::string_view() const { return str(); }    // NOLINT(runtime/explicit)
  bool operator==(const Text& other) const { return str() == other.str(); }

  // --- for run_parts.h

  // The text, shared with a batch that writes it.
  std::shared_ptr<const std::string> share() const;
  // The number of the row that holds it; 0 = none yet. Its upper half is the size of the text, so
  // that the size is known without reading; the first layout had zero there.
  uint64_t part() const { return part_; }
  void set_part(uint32_t serial);
  // While set, a reference to its row is encoded instead of the text.
  void stand_aside(bool aside) { aside_ = aside; }
  bool on_disk() const { return bytes_on_disk_ != 0; }
  void connect(std::shared_ptr<const TextRows> rows);
  // Its row, if it has one, is durable: the next use reads it from there.
  void leave_memory(std::shared_ptr<const TextRows> rows);

  // --- for base/codec.h

  using Reference = std::array<char, 9>;
  std::string_view stored(Reference& room) const;  // lives as long as both
  void take_stored(std::string_view bytes);

 private:
  void drop();

  mutable std::string here_;
  mutable std::shared_ptr<const std::string> shared_;  // in place of here_
  mutable uint64_t bytes_on_disk_ = 0;
  mutable std::shared_ptr<const TextRows> rows_;  // where to read it; null once it is here
  uint64_t part_ = 0;
  bool aside_ = false;
};

}  // namespace pawl
