// Terminal output: colours on a terminal only (NO_COLOR is honoured), tables, a progress bar.
// External text is printed without its control characters, so that no job can control the terminal
// of the person who lists it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

enum class Colour : uint8_t { None, Red, Green, Yellow, Blue, Grey };

bool colours_on(std::FILE* stream);
// The text in a colour, or as it is where colours are off.
std::string painted(std::string_view text, Colour colour, bool on);
Colour colour_of_state(std::string_view state);

// Control characters and broken UTF-8 become '?'.
std::string printable(std::string_view text);
size_t width_of(std::string_view text);  // code points

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> cells);
  // Columns two blanks apart, titles first; cells of the column named STATE are painted if
  // `colours`.
  std::string text(bool colours) const;
  bool empty() const { return rows_.size() == 1; }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "3 d 4 h", "12 s", "350 ms": for people, two units at most.
std::string span_text(int64_t ms);
std::string bytes_text(uint64_t bytes);

// A bar on stderr while something long runs; nothing at all where stderr is no terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar();
  ProgressBar& operator=(ProgressBar&&) = delete;
  void show(uint64_t done, uint64_t total);

  static std::string bar(std::string_view what, uint64_t done, uint64_t total);

 private:
  std::string what_;
  bool on_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// "pawl: message" on stderr.
void complain(std::string_view message);

}  // namespace pawl::cli
