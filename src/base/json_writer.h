// Appends JSON text to a string. Commas are placed by looking at the last character written, so raw
// fragments, nested writers and loops all work without bookkeeping.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/make_room.h"
#include "base/uuid.h"

namespace pawl::json {

void append_quoted(std::string& out, std::string_view text);

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object() { return open('{'); }
  Writer& begin_array() { return open('['); }
  Writer& end_object() { return out_.push_back('}'), *this; }
  Writer& end_array() { return out_.push_back(']'), *this; }

  Writer& key(std::string_view name);
  Writer& string(std::string_view text) { return separate(), append_quoted(out_, text), *this; }
  Writer& raw(std::string_view text) {
    return separate(), make_room(out_, text.size()), out_.append(text), *this;
  }
  Writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  Writer& null() { return raw("null"); }
  Writer& integer(std::integral auto value) { return number(static_cast<int64_t>(value)); }
  Writer& real(double value);
  Writer& uuid(const Uuid& id) {
    separate();
    out_.push_back('"');
    id.append_text(out_);
    out_.push_back('"');
    return *this;
  }
  Writer& time(int64_t unix_ms);  // RFC 3339, UTC, milliseconds

  // "name": value in one call; null-like values are the caller's choice to omit.
  Writer& field(std::string_view name, std::string_view text) { return key(name).string(text); }
  Writer& field_int(std::string_view name, std::integral auto value) {
    return key(name).integer(value);
  }
  Writer& field_bool(std::string_view name, bool value) { return key(name).boolean(value); }
  Writer& field_raw(std::string_view name, std::string_view json) { return key(name).raw(json); }
  Writer& field_time(std::string_view name, int64_t unix_ms) { return key(name).time(unix_ms); }

  // A time of 0 is unset and left out.
  Writer& field_time_if_set(std::string_view name, int64_t unix_ms) {
    return unix_ms == 0 ? *this : field_time(name, unix_ms);
  }

  std::string& out() { return out_; }

 private:
  bool needs_comma() const {
    if (out_.empty()) return false;
    const char last = out_.back();
    return last != '{' && last != '[' && last != ':';
  }
  void separate() {
    if (needs_comma()) out_.push_back(',');
  }
  Writer& open(char c) {
    separate();
    out_.push_back(c);
    return *this;
  }
  Writer& number(int64_t value) {
    separate();
    char buffer[24];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    out_.append(buffer, end);
    return *this;
  }

  std::string& out_;
};

// Writes one object into a text of its own: open for members until close() returns the text.
class ObjectWriter : public Writer {
 public:
  ObjectWriter() : Writer(text_) { begin_object(); }
  ObjectWriter& operator=(ObjectWriter&&) = delete;

  std::string close() { return end_object(), std::move(text_); }

 private:
  std::string text_;
};

}  // namespace pawl::json
