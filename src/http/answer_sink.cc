#include "http/answer_sink.h"

#include <cstring>
#include <new>

namespace pawl::http {

// One block holds the table of headers and behind it all texts, as for a request from a socket.
Request make_request(RequestParts parts) {
  const size_t table_bytes = parts.headers.size() * sizeof(Header);
  size_t bytes = parts.method.size() + parts.target.size() + parts.peer.size() + parts.id.size();
  for (const auto& [name, value] : parts.headers) bytes += name.size() + value.size();
  Request made;
  made.head_bytes = std::make_unique_for_overwrite<std::byte[]>(table_bytes + bytes + 1);
  char* end = reinterpret_cast<char*>(made.head_bytes.get() + table_bytes);
  const auto keep = [&](std::string_view text) {
    if (!text.empty()) std::memcpy(end, text.data(), text.size());
    const std::string_view kept(end, text.size());
    end += text.size();
    return kept;
  };
  auto* table = reinterpret_cast<Header*>(made.head_bytes.get());
  size_t count = 0;
  for (const auto& [name, value] : parts.headers) {
    const std::string_view kept = keep(name);
    new (table + count++) Header{kept, keep(value)};
  }
  made.headers = {table, count};
  made.method = keep(parts.method);
  made.target = keep(parts.target);
  made.path = made.target.substr(0, made.target.find('?'));
  if (made.path.size() < made.target.size()) made.query = made.target.substr(made.path.size() + 1);
  made.peer = keep(parts.peer);
  made.id = keep(parts.id);
  made.body_bytes = std::move(parts.body);
  made.body = made.body_bytes;
  return made;
}

}  // namespace pawl::http
