#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/silent_log.h"
#include "base/time.h"

namespace pawl::log {
namespace {

std::atomic<bool> as_json{false};
std::atomic<int> silent{0};
constexpr std::string_view kNames[] = {"info", "warning", "error"};

// U+0080 to U+009F in UTF-8: terminals take them for escape sequences, too.
bool is_high_control(std::string_view text, size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() &&
         static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
         static_cast<unsigned char>(text[at + 1]) <= 0x9f;
}

// Nothing that would end the line or steer the operator's terminal.
bool is_printable(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < ' ' || byte == 0x7f || is_high_control(text, at)) return false;
  }
  return true;
}

// As JSON, and without the control characters that JSON lets pass.
void append_escaped(std::string& line, std::string_view text) {
  std::string in_quotes;
  json::append_quoted(in_quotes, text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t at = 0; at < in_quotes.size(); ++at) {
    const auto byte = static_cast<unsigned char>(in_quotes[at]);
    if (byte == 0x7f) {
      line.append("\\u007f");
    } else if (is_high_control(in_quotes, at)) {
      const auto low = static_cast<unsigned char>(in_quotes[++at]);
      line.append("\\u00").push_back(kDigits[low >> 4]);
      line.push_back(kDigits[low & 15]);
    } else {
      line.push_back(in_quotes[at]);
    }
  }
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
    append_escaped(line, message);
  }
  for (const auto& [name, value] : fields) {
    line.append(" ").append(name).append("=");
    if (is_plain(value)) {
      line.append(value);
    } else {
      append_escaped(line, value);
    }
  }
  return line;
}

std::string json_line(std::string_view level, std::string_view message,
                      std::initializer_list<Field> fields) {
  json::ObjectWriter w;
  w.field_time("time", SystemClock().now_ms()).field("level", level).field("message", message);
  for (const auto& [name, value] : fields) w.field(name, value);
  return w.close();
}

}  // namespace

SilentLog::SilentLog() { ++silent; }
SilentLog::~SilentLog() { --silent; }

void use_json(bool json) { as_json = json; }

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (silent != 0) return;
  std::string_view name = kNames[static_cast<int>(level)];
  std::string line = as_json ? json_line(name, message, fields) : text_line(name, message, fields);
  line.push_back('\n');
  // One write, so that lines of several threads do not mix. A full pipe loses the line, not the
  // server.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace pawl::log
