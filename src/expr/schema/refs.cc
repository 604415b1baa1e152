// Names inside a schema document: URI references, JSON pointers.

#include "base/read_number.h"
#include "expr/schema/node.h"

namespace pawl::expr::schema {
namespace {

struct Uri {
  std::string_view scheme;     // with its colon
  std::string_view authority;  // with its slashes
  std::string_view path;
  std::string_view query;  // with its question mark
};

Uri split(std::string_view text) {
  Uri uri;
  const size_t colon = text.find_first_of(":/?");
  if (colon != std::string_view::npos && colon > 0 && text[colon] == ':') {
    uri.scheme = text.substr(0, colon + 1);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    const size_t end = std::min(text.find_first_of("/?", 2), text.size());
    uri.authority = text.substr(0, end);
    text.remove_prefix(end);
  }
  const size_t query = std::min(text.find('?'), text.size());
  uri.path = text.substr(0, query);
  uri.query = text.substr(query);
  return uri;
}

// Takes "." and ".." out of a path.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  const bool rooted = path.starts_with("/");
  bool directory = false;
  for (size_t at = rooted ? 1 : 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    directory = part == "." || part == "..";
    if (part == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (part != ".") {
      kept.push_back(part);
    }
    at = end + 1;
  }
  std::string out = rooted ? "/" : "";
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0) out += '/';
    out += kept[i];
  }
  if (directory && !kept.empty()) out += '/';
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Uri own = split(reference);
  if (!own.scheme.empty()) return std::string(reference);
  const Uri from = split(base);
  std::string out(from.scheme);
  if (!own.authority.empty()) return out.append(reference);
  out += from.authority;
  if (own.path.empty()) {
    out += from.path;
    return out.append(own.query.empty() ? from.query : own.query);
  }
  if (own.path.front() == '/') {
    out += without_dots(own.path);
  } else {
    const size_t slash = from.path.rfind('/');
    std::string merged(slash == std::string_view::npos ? (from.authority.empty() ? "" : "/")
                                                       : from.path.substr(0, slash + 1));
    merged += own.path;
    out += without_dots(merged);
  }
  return out.append(own.query);
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

const Value* follow_pointer(const Value& root, std::string_view pointer) {
  const Value* at = &root;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string part;
    for (size_t i = 1; i < end; ++i) {
      const bool escape = pointer[i] == '~' && i + 1 < end;
      part += !escape ? pointer[i] : pointer[i + 1] == '1' ? '/' : '~';
      i += escape ? 1 : 0;
    }
    pointer.remove_prefix(end);
    if (at->is_array()) {
      size_t index = 0;
      if (!read_number(part, index) || index >= at->as_array().size()) return nullptr;
      at = &at->as_array()[index];
    } else {
      at = at->find(part);
      if (at == nullptr) return nullptr;
    }
  }
  return at;
}

}  // namespace pawl::expr::schema
