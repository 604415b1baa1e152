// Log lines for operators: one line an event, on stderr, as text or JSON. Never holds secrets:
// callers pass what may be seen. Thread: any.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

namespace pawl::log {

enum class Level { Info, Warning, Error };
using Field = std::pair<std::string_view, std::string_view>;

void use_json(bool json);
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Info, message, fields);
}
inline void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Warning, message, fields);
}
inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Error, message, fields);
}

}  // namespace pawl::log
