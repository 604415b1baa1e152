#include "base/tz.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/ascii.h"
#include "base/quote.h"

namespace pawl {
namespace {

constexpr std::string_view kZoneDirectory = "/usr/share/zoneinfo/";
constexpr size_t kNameMax = 64;
constexpr size_t kFileBytesMax = 64 * 1024;  // the largest zone file there is has 4 KiB
constexpr int32_t kOffsetMax = 26 * 3600;  // RFC 8536: offsets lie strictly between -25 h and 26 h
// Lookups reach this far past the printable years, so that to_utc() sees its whole window.
constexpr int64_t kMargin = 2 * kOffsetMax;

// ---- the TZif container, RFC 8536

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool skip(size_t count) {
    if (count > rest_.size()) return false;
    rest_.remove_prefix(count);
    return true;
  }
  bool has(size_t count) const { return count <= rest_.size(); }
  // The caller has checked has().
  uint64_t big_endian(size_t width) {
    PAWL_CHECK(has(width));
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(width);
    return value;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Header {
  char version = 0;
  size_t ut_flags = 0, standard_flags = 0, leaps = 0, times = 0, types = 0, letters = 0;

  size_t body_bytes(size_t time_width) const {
    return times * (time_width + 1) + types * 6 + letters + leaps * (time_width + 4) +
           standard_flags + ut_flags;
  }
};

std::optional<Header> read_header(ByteReader& reader) {
  constexpr size_t kHeaderBytes = 44;
  if (!reader.has(kHeaderBytes) || !reader.rest().starts_with("TZif")) return std::nullopt;
  Header header;
  header.version = reader.rest()[4];
  reader.skip(20);
  for (size_t* count : {&header.ut_flags, &header.standard_flags, &header.leaps, &header.times,
                        &header.types, &header.letters}) {
    *count = reader.big_endian(4);
    if (*count > kFileBytesMax) return std::nullopt;
  }
  return header;
}

Error not_a_zone(std::string_view name, std::string_view reason) {
  std::string message = "time zone " + in_quotes(name);
  message.append(" ").append(reason);
  return Error{ErrorCode::InvalidContent, std::move(message)};
}

// ---- names

bool is_well_formed(std::string_view name) {
  if (name.empty() || name.size() > kNameMax) return false;
  // No dot is ever part of a name, so no part of a path can lead upwards.
  const auto allowed = [](char c) {
    return is_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '/';
  };
  return std::all_of(name.begin(), name.end(), allowed) && name.front() != '/' &&
         name.back() != '/' && name.find("//") == std::string_view::npos;
}

bool is_machine_bound(std::string_view name) {
  return name == "localtime" || name == "posixrules" || name.starts_with("right/");
}

// "+hh:mm", "-hh:mm" or "hh:mm" as seconds east.
std::optional<int32_t> parse_fixed_offset(std::string_view name) {
  const bool west = name.starts_with('-');
  if (west || name.starts_with('+')) name.remove_prefix(1);
  if (name.size() != 5 || name[2] != ':') return std::nullopt;
  for (size_t i : {0, 1, 3, 4}) {
    if (!is_digit(name[i])) return std::nullopt;
  }
  const int32_t hours = (name[0] - '0') * 10 + (name[1] - '0');
  const int32_t minutes = (name[3] - '0') * 10 + (name[4] - '0');
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (hours * 60 + minutes) * (west ? -60 : 60);
}

std::optional<std::string> read_bounded(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string bytes(kFileBytesMax, '\0');
  size_t filled = 0;
  ssize_t got = 0;
  while (filled < bytes.size() &&
         (got = ::read(fd, bytes.data() + filled, bytes.size() - filled)) > 0) {
    filled += static_cast<size_t>(got);
  }
  ::close(fd);
  if (got < 0 || filled == bytes.size()) return std::nullopt;
  bytes.resize(filled);
  return bytes;
}

}  // namespace

TimeZone::TimeZone(std::string name, int32_t first_offset, std::vector<Transition> transitions,
                   std::optional<YearlyRule> rule)
    : name_(std::move(name)),
      first_offset_(first_offset),
      transitions_(std::move(transitions)),
      rule_(rule) {}

Result<std::shared_ptr<const TimeZone>> TimeZone::from_tzif(std::string_view name,
                                                            std::string_view bytes) {
  ByteReader reader(bytes);
  // The first block has 32-bit times, for old readers; the second repeats it with 64 bits.
  std::optional<Header> header = read_header(reader);
  if (!header || header->version < '2')
    return not_a_zone(name, "is not in TZif version 2 or later");
  if (!reader.skip(header->body_bytes(4))) return not_a_zone(name, "is cut short");
  header = read_header(reader);
  if (!header || !reader.has(header->body_bytes(8))) return not_a_zone(name, "is cut short");
  if (header->leaps != 0) return not_a_zone(name, "counts leap seconds");
  if (header->types == 0) return not_a_zone(name, "has no local time type");

  std::vector<Transition> listed(header->times);
  std::vector<size_t> type_of(header->times);
  std::vector<int32_t> offsets(header->types);
  for (Transition& transition : listed) transition.at = static_cast<int64_t>(reader.big_endian(8));
  for (size_t& type : type_of) type = reader.big_endian(1);
  for (int32_t& offset : offsets) {
    offset = static_cast<int32_t>(static_cast<uint32_t>(reader.big_endian(4)));
    reader.skip(2);
    if (offset <= -kOffsetMax || offset >= kOffsetMax)
      return not_a_zone(name, "has an absurd offset");
  }
  reader.skip(header->letters + header->standard_flags + header->ut_flags);

  std::vector<Transition> transitions;
  for (size_t i = 0; i < listed.size(); ++i) {
    if (type_of[i] >= offsets.size()) return not_a_zone(name, "names a missing local time type");
    if (i > 0 && listed[i].at <= listed[i - 1].at) return not_a_zone(name, "is out of order");
    const int32_t before = transitions.empty() ? offsets[0] : transitions.back().offset;
    if (offsets[type_of[i]] != before) transitions.push_back({listed[i].at, offsets[type_of[i]]});
  }

  std::string_view footer = reader.rest();
  if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') {
    return not_a_zone(name, "lacks its closing rule");
  }
  footer = footer.substr(1, footer.size() - 2);
  std::optional<YearlyRule> rule;
  if (!footer.empty()) {
    rule = YearlyRule::parse(footer);
    if (!rule) return not_a_zone(name, "has an unreadable closing rule");
  }
  return std::shared_ptr<const TimeZone>(
      new TimeZone(std::string(name), offsets[0], std::move(transitions), rule));
}

const TimeZone& TimeZone::utc() {
  static const TimeZone zone("UTC", 0, {}, std::nullopt);
  return zone;
}

Result<std::shared_ptr<const TimeZone>> TimeZone::find(std::string_view iana_name) {
  if (iana_name.empty() || iana_name == "UTC" || iana_name == "Z") {
    return std::shared_ptr<const TimeZone>(std::shared_ptr<const TimeZone>(), &utc());
  }
  if (const std::optional<int32_t> offset = parse_fixed_offset(iana_name)) {
    return std::shared_ptr<const TimeZone>(
        new TimeZone(std::string(iana_name), *offset, {}, std::nullopt));
  }
  if (!is_well_formed(iana_name)) return not_a_zone(iana_name, "is not an IANA zone name");
  if (is_machine_bound(iana_name))
    return not_a_zone(iana_name, "depends on the machine; name a place");

  // Holds only zones that exist, so the directory bounds it. The lock is kept while reading: a
  // small local file, once per name.
  static std::mutex mutex;
  static auto& cache = *new std::map<std::string, std::shared_ptr<const TimeZone>, std::less<>>();
  const std::lock_guard lock(mutex);
  if (const auto found = cache.find(iana_name); found != cache.end()) return found->second;
  const std::optional<std::string> bytes =
      read_bounded(std::string(kZoneDirectory).append(iana_name));
  if (!bytes) return not_a_zone(iana_name, "is unknown");
  PAWL_TRY(auto zone, from_tzif(iana_name, *bytes));
  cache.emplace(iana_name, zone);
  return zone;
}

OffsetSpan TimeZone::span_at(int64_t unix_seconds) const {
  unix_seconds = std::clamp(unix_seconds, kUnixSecondsMin - kMargin, kUnixSecondsMax + kMargin);
  const auto next =
      std::upper_bound(transitions_.begin(), transitions_.end(), unix_seconds,
                       [](int64_t at, const Transition& transition) { return at < transition.at; });
  const int64_t begin = next == transitions_.begin() ? INT64_MIN : std::prev(next)->at;
  if (next != transitions_.end() || !rule_) {
    const int64_t end = next == transitions_.end() ? INT64_MAX : next->at;
    return {begin, end, next == transitions_.begin() ? first_offset_ : std::prev(next)->offset};
  }
  OffsetSpan span = rule_->span_at(unix_seconds);
  span.begin = std::max(span.begin, begin);
  return span;
}

int32_t TimeZone::offset_at(int64_t unix_seconds) const { return span_at(unix_seconds).offset; }

CivilTime TimeZone::to_local(int64_t unix_seconds) const {
  return civil_from_seconds(unix_seconds + offset_at(unix_seconds));
}

TimeZone::LocalResult TimeZone::to_utc(const CivilTime& local) const {
  const int64_t wall = std::clamp(seconds_from_civil(local), kUnixSecondsMin, kUnixSecondsMax);
  // Whatever the offset, the instant lies in this window: try each span that reaches into it.
  const int64_t window_end = wall + kOffsetMax;
  std::optional<int64_t> first;
  int64_t last = 0;
  int64_t jump = wall;
  for (int64_t at = wall - kOffsetMax; at <= window_end;) {
    const OffsetSpan span = span_at(at);
    const int64_t instant = wall - span.offset;
    if (instant >= span.begin && instant < span.end) {
      if (!first) first = instant;
      last = instant;
    }
    // In a gap the old offset points past the end of its span: the jump is that end.
    if (!first && instant >= span.end) jump = span.end;
    if (span.end > window_end) break;
    at = span.end;
  }
  if (!first) return {LocalResult::Gap, jump, jump};
  return {*first == last ? LocalResult::Unique : LocalResult::Overlap, *first, last};
}

}  // namespace pawl
