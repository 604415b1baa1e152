#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace pawl::log {
namespace {

std::atomic<bool> as_json{false};
constexpr std::string_view kNames[] = {"info", "warning", "error"};

// Nothing that would end the line or steer the operator's terminal.
bool is_printable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

bool is_plain(std::string_view text) {
  return !text.empty() && is_printable(text) &&
         text.find_first_of(" \"=") == std::string_view::npos;
}

std::string text_line(std::string_view level, std::string_view message,
                      std::initializer_list<Field> fields) {
  std::string line;
  append_rfc3339_ms(line, SystemClock().now_ms());
  line.append(" ").append(level).append(" ");
  if (is_printable(message)) {
    line.append(message);
  } else {
    json::append_quoted(line, message);
  }
  for (const auto& [name, value] : fields) {
    line.append(" ").append(name).append("=");
    if (is_plain(value)) {
      line.append(value);
    } else {
      json::append_quoted(line, value);
    }
  }
  return line;
}

std::string json_line(std::string_view level, std::string_view message,
                      std::initializer_list<Field> fields) {
  std::string line;
  json::Writer w(line);
  w.begin_object()
      .field_time("time", SystemClock().now_ms())
      .field("level", level)
      .field("message", message);
  for (const auto& [name, value] : fields) w.field(name, value);
  w.end_object();
  return line;
}

}  // namespace

void use_json(bool json) { as_json = json; }

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  std::string_view name = kNames[static_cast<int>(level)];
  std::string line = as_json ? json_line(name, message, fields) : text_line(name, message, fields);
  line.push_back('\n');
  // One write, so that lines of several threads do not mix. A full pipe loses the line, not the
  // server.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace pawl::log
