// @text, @json, @csv and the others.
#include <array>

#include "expr/jq/machine.h"
#include "expr/text.h"

namespace pawl::expr::jq {
namespace {

using Writer = bool (*)(Machine& m, const Datum& value, std::string& out);

std::string plain(Machine& m, const Datum& value) {
  return value.is_string() ? value.as_string() : json_text(value, m.budget);
}

bool text(Machine& m, const Datum& value, std::string& out) {
  out += plain(m, value);
  return true;
}

bool json(Machine& m, const Datum& value, std::string& out) {
  out += json_text(value, m.budget);
  return true;
}

void escape_characters(std::string_view in, std::string_view special,
                       const std::initializer_list<std::string_view>& as, std::string& out) {
  for (const char c : in) {
    const size_t at = special.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += as.begin()[at];
    }
  }
}

bool html(Machine& m, const Datum& value, std::string& out) {
  escape_characters(plain(m, value), "<>&'\"", {"&lt;", "&gt;", "&amp;", "&#39;", "&quot;"}, out);
  return true;
}

bool uri(Machine& m, const Datum& value, std::string& out) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : plain(m, value)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                            (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '~';
    if (unreserved) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return true;
}

bool uri_decoded(Machine& m, const Datum& value, std::string& out) {
  const std::string in = plain(m, value);
  std::string bytes;
  const auto digit = [&](size_t i) {
    const char c = i < in.size() ? in[i] : '\0';
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '%') {
      bytes += in[i];
      continue;
    }
    if (digit(i + 1) < 0 || digit(i + 2) < 0)
      return m.raise(described(value, m.budget) + " is not a valid uri encoding");
    bytes += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
    i += 2;
  }
  if (!is_utf8(bytes)) return m.raise(described(value, m.budget) + " is not a valid uri encoding");
  out += bytes;
  return true;
}

bool row(Machine& m, const Datum& value, std::string& out, char separator, std::string_view name,
         void (*quote)(const std::string& text, std::string& out)) {
  if (!value.is_array())
    return m.raise(described(value, m.budget) + " cannot be " + std::string(name) +
                   "-formatted, only an array can be");
  for (const Datum& cell : value.as_array()) {
    const uint64_t bytes = cell.is_string() ? cell.as_string().size() : 0;
    if (!m.step(1 + price::scanning(bytes)) || !m.budget.spend_bytes(1 + 2 * bytes)) return false;
    if (&cell != &value.as_array().front()) out += separator;
    if (cell.is_string()) {
      quote(cell.as_string(), out);
    } else if (cell.is_number() || cell.is_bool()) {
      out += json_text(cell, m.budget);
    } else if (!cell.is_null()) {
      return m.raise(described(cell, m.budget) + " is not valid in a " + std::string(name) +
                     " row");
    }
  }
  return true;
}

bool csv(Machine& m, const Datum& value, std::string& out) {
  return row(m, value, out, ',', "csv", [](const std::string& cell, std::string& to) {
    to += '"';
    escape_characters(cell, "\"", {"\"\""}, to);
    to += '"';
  });
}

bool tsv(Machine& m, const Datum& value, std::string& out) {
  return row(m, value, out, '\t', "tsv", [](const std::string& cell, std::string& to) {
    escape_characters(cell, "\t\n\r\\", {"\\t", "\\n", "\\r", "\\\\"}, to);
  });
}

bool shell_word(Machine& m, const Datum& value, std::string& out) {
  if (value.is_array() || value.is_object())
    return m.raise(described(value, m.budget) + " can not be escaped for shell");
  if (!value.is_string()) return json(m, value, out);
  out += '\'';
  escape_characters(value.as_string(), "'", {"'\\''"}, out);
  out += '\'';
  return true;
}

bool shell(Machine& m, const Datum& value, std::string& out) {
  if (!value.is_array()) return shell_word(m, value, out);
  for (const Datum& word : value.as_array()) {
    if (&word != &value.as_array().front()) out += ' ';
    const uint64_t bytes = word.is_string() ? word.as_string().size() : 0;
    if (!m.step(1 + price::scanning(bytes)) || !m.budget.spend_bytes(1 + 2 * bytes) ||
        !shell_word(m, word, out))
      return false;
  }
  return true;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

// Groups of bits become letters; `pad` letters make a whole group of bytes.
void encode(std::string_view in, std::string_view alphabet, uint32_t bits, size_t pad,
            std::string& out) {
  uint64_t held = 0;
  uint32_t count = 0;
  size_t letters = 0;
  const auto put = [&](uint64_t index) {
    out += alphabet[index & ((1u << bits) - 1)];
    ++letters;
  };
  for (const char c : in) {
    held = (held << 8 | static_cast<unsigned char>(c)) & 0xFFFF;
    for (count += 8; count >= bits; count -= bits) put(held >> (count - bits));
  }
  if (count > 0) put(held << (bits - count));
  for (; letters % pad != 0; ++letters) out += '=';
}

bool decode(Machine& m, const Datum& value, std::string_view alphabet, uint32_t bits,
            std::string_view name, std::string& out) {
  std::string in = plain(m, value);
  while (!in.empty() && in.back() == '=') in.pop_back();
  std::string bytes;
  uint64_t held = 0;
  uint32_t count = 0;
  const bool torn = bits == 6 && in.size() % 4 == 1;
  std::array<int8_t, 256> index_of;
  index_of.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i)
    index_of[static_cast<unsigned char>(alphabet[i])] = static_cast<int8_t>(i);
  for (const char c : in) {
    const int8_t found = index_of[static_cast<unsigned char>(c)];
    const size_t index = static_cast<size_t>(found);
    if (found < 0 || torn)
      return m.raise(described(value, m.budget) + " is not valid " + std::string(name) + " data");
    held = (held << bits | index) & 0xFFFF;
    count += bits;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(held >> count & 0xFF);
    }
  }
  // Each byte of invalid UTF-8 becomes U+FFFD.
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::string_view rest = std::string_view(bytes).substr(i);
    size_t good = 0;
    for (size_t length = 1; length <= 4 && length <= rest.size() && good == 0; ++length) {
      if (is_utf8(rest.substr(0, length))) good = length;
    }
    out.append(good == 0 ? "\xEF\xBF\xBD" : rest.substr(0, good));
    i += good == 0 ? 0 : good - 1;
  }
  return true;
}

bool base64(Machine& m, const Datum& value, std::string& out) {
  encode(plain(m, value), kBase64, 6, 4, out);
  return true;
}
bool base64d(Machine& m, const Datum& value, std::string& out) {
  return decode(m, value, kBase64, 6, "base64", out);
}
bool base32(Machine& m, const Datum& value, std::string& out) {
  encode(plain(m, value), kBase32, 5, 8, out);
  return true;
}
bool base32d(Machine& m, const Datum& value, std::string& out) {
  return decode(m, value, kBase32, 5, "base32", out);
}

constexpr std::array<std::pair<std::string_view, Writer>, 12> kFormats{{
    {"text", text},
    {"json", json},
    {"html", html},
    {"uri", uri},
    {"urid", uri_decoded},
    {"csv", csv},
    {"tsv", tsv},
    {"sh", shell},
    {"base64", base64},
    {"base64d", base64d},
    {"base32", base32},
    {"base32d", base32d},
}};

Writer find(std::string_view name) {
  for (const auto& [known, writer] : kFormats) {
    if (known == name) return writer;
  }
  return nullptr;
}

}  // namespace

bool is_format(std::string_view name) { return find(name) != nullptr; }

bool format_value(Machine& machine, std::string_view name, const Datum& value, std::string& out) {
  const Writer writer = find(name);
  PAWL_CHECK(writer != nullptr);
  const uint64_t size = value.is_string() ? value.as_string().size() : 0;
  if (!machine.step(1 + price::scanning(4 * size)) || !machine.budget.spend_bytes(size * 2))
    return false;
  return writer(machine, value, out) && !machine.spent();
}

}  // namespace pawl::expr::jq
