#include "reply_scan.h"

#include <charconv>
#include <cstring>

namespace pawl::bench {
namespace {

constexpr size_t kMissing = std::string_view::npos;

size_t find(std::string_view text, std::string_view needle, size_t from = 0) {
  if (from >= text.size()) return kMissing;
  // memmem is vectorised in glibc; string_view::find is a memchr per candidate, and JSON is full of
  // quotes.
  const void* at = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  return at == nullptr ? kMissing : static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

// `at` is the index after an opening quote; returns that of the closing one.
size_t string_end(std::string_view text, size_t at) {
  while (at < text.size()) {
    const void* quote = memchr(text.data() + at, '"', text.size() - at);
    if (quote == nullptr) return kMissing;
    const size_t end = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
    size_t slashes = 0;
    while (end - slashes > at && text[end - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return end;
    at = end + 1;
  }
  return kMissing;
}

// Reads the object that begins at `at`; returns the index after its closing brace.
size_t scan_object(std::string_view text, size_t at, ScannedJob& job) {
  const size_t begin = at;
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      const size_t end = string_end(text, at + 1);
      if (end == kMissing) return kMissing;
      if (depth == 1 && job.id.empty() && text.substr(at, 6) == "\"id\":\"") {
        const size_t id_end = string_end(text, at + 6);
        if (id_end == kMissing) return kMissing;
        job.id = text.substr(at + 6, id_end - at - 6);
        at = id_end + 1;
        continue;
      }
      at = end + 1;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) {
      job.text = text.substr(begin, at - begin);
      return job.id.empty() ? kMissing : at;
    }
  }
  return kMissing;
}

}  // namespace

bool scan_jobs(std::string_view body, std::vector<ScannedJob>& jobs) {
  constexpr std::string_view kKey = "\"jobs\":[";
  size_t at = find(body, kKey);
  if (at == kMissing) return false;
  at += kKey.size();
  if (at < body.size() && body[at] == ']') return true;
  while (at < body.size() && body[at] == '{') {
    ScannedJob job;
    at = scan_object(body, at, job);
    if (at == kMissing || at >= body.size()) return false;
    jobs.push_back(job);
    if (body[at] == ']') return true;
    if (body[at] != ',') return false;
    ++at;
  }
  return false;
}

int64_t count_of(std::string_view text, std::string_view needle) {
  int64_t count = 0;
  for (size_t at = find(text, needle); at != kMissing;
       at = find(text, needle, at + needle.size())) {
    ++count;
  }
  return count;
}

bool contains(std::string_view text, std::string_view needle) {
  constexpr size_t kTail = 64;
  if (text.size() > kTail && find(text.substr(text.size() - kTail), needle) != kMissing)
    return true;
  return find(text, needle) != kMissing;
}

std::optional<int64_t> scan_metric(std::string_view text, std::string_view name) {
  for (size_t at = find(text, name); at != kMissing; at = find(text, name, at + name.size())) {
    const bool line_start = at == 0 || text[at - 1] == '\n';
    const size_t value_at = at + name.size();
    if (!line_start || value_at >= text.size() || text[value_at] != ' ') continue;
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + value_at + 1, text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  return std::nullopt;
}

}  // namespace pawl::bench
