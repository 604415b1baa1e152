#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/named.h"
#include "base/utf8.h"

namespace pawl::cli {
namespace {

constexpr Named<Colour> kColourCodes[] = {{"0", Colour::None},   {"31", Colour::Red},
                                          {"32", Colour::Green}, {"33", Colour::Yellow},
                                          {"34", Colour::Blue},  {"90", Colour::Grey}};

}  // namespace

bool colours_on(std::FILE* stream) {
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && (no == nullptr || *no == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string painted(std::string_view text, Colour colour, bool on) {
  if (!on || colour == Colour::None) return std::string(text);
  return "\x1b[" + std::string(name_of(kColourCodes, colour)) + "m" + std::string(text) + "\x1b[0m";
}

Colour colour_of_state(std::string_view state) {
  if (state == "completed" || state == "running" || state == "ok" || state == "open" ||
      state == "stepped")
    return Colour::Green;
  if (state == "discarded" || state == "failed" || state == "terminate" || state == "quarantined" ||
      state == "rejected")
    return Colour::Red;
  if (state == "retryable" || state == "paused" || state == "quiet") return Colour::Yellow;
  if (state == "active" || state == "waiting" || state == "inflight") return Colour::Blue;
  if (state == "cancelled" || state == "scheduled" || state == "pending" || state == "queued" ||
      state == "skipped")
    return Colour::Grey;
  return Colour::None;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = utf8::sequence_length(text);
    auto first = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080 to U+009F) are two bytes, the first 0xc2.
    bool control = first < 0x20 || first == 0x7f ||
                   (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(rows_[0].size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(bool colours) const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = rows_[r][i];
      Colour colour = r == 0                   ? Colour::Grey
                      : rows_[0][i] == "STATE" ? colour_of_state(cell)
                                               : Colour::None;
      line += painted(cell, colour, colours);
      if (i + 1 < widths.size()) line += std::string(widths[i] - width_of(cell) + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string span_text(int64_t ms) {
  if (ms < 0) return "-" + span_text(-ms);
  if (ms < 1000) return std::to_string(ms) + " ms";
  constexpr struct {
    int64_t ms;
    const char* unit;
  } kUnits[] = {{86'400'000, " d"}, {3'600'000, " h"}, {60'000, " min"}, {1000, " s"}};
  std::string out;
  int shown = 0;
  for (const auto& unit : kUnits) {
    int64_t count = ms / unit.ms;
    ms %= unit.ms;
    if (count == 0 && shown == 0) continue;
    if (count != 0) out += (out.empty() ? "" : " ") + std::to_string(count) + unit.unit;
    if (++shown == 2) break;
  }
  return out;
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  uint64_t tenths = bytes * 10;
  while (tenths >= 10240 && unit < 4) tenths /= 1024, ++unit;
  if (unit == 0) return std::to_string(bytes) + " B";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + kUnits[unit];
}

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), on_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

std::string ProgressBar::bar(std::string_view what, uint64_t done, uint64_t total) {
  constexpr uint64_t kCells = 30;
  if (total == 0) return std::string(what) + " …";
  done = std::min(done, total);
  auto full = static_cast<size_t>(static_cast<double>(done) / static_cast<double>(total) * kCells);
  auto percent = static_cast<int>(static_cast<double>(done) / static_cast<double>(total) * 100);
  return std::string(what) + " [" + std::string(full, '#') + std::string(kCells - full, '.') +
         "] " + std::to_string(percent) + " %";
}

void ProgressBar::show(uint64_t done, uint64_t total) {
  if (!on_) return;
  auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < std::chrono::milliseconds(50) && done < total) return;
  last_ = now;
  drawn_ = true;
  std::fprintf(stderr, "\r\x1b[K%s", bar(what_, done, total).c_str());
  std::fflush(stderr);
}

void complain(std::string_view message) {
  std::string line =
      painted("pawl:", Colour::Red, colours_on(stderr)) + " " + std::string(message) + "\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace pawl::cli
