#include "base/tz.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

std::shared_ptr<const TimeZone> loaded_zone(std::string_view name) {
  auto found = TimeZone::find(name);
  EXPECT_TRUE(found.ok()) << name;
  return *found;
}

int64_t utc(std::string_view stamp) { return *parse_rfc3339(stamp) / 1000; }

// "2026-03-29T03:00:00+02:00": what a wall clock in the zone shows, and its offset.
std::string local(const TimeZone& loaded_zone, std::string_view stamp) {
  const int64_t at = utc(stamp);
  const int32_t offset = loaded_zone.offset_at(at);
  std::string text = format_rfc3339_ms((at + offset) * 1000).substr(0, 19);
  const int32_t minutes = std::abs(offset) / 60;
  text += offset < 0 ? '-' : '+';
  for (int32_t part : {minutes / 60, minutes % 60})
    text += (part < 10 ? "0" : "") + std::to_string(part) + ":";
  text.pop_back();
  return text;
}

// "unique X", "gap, jump at X" or "overlap X Y" with instants in UTC.
std::string to_utc(const TimeZone& loaded_zone, const CivilTime& civil) {
  const TimeZone::LocalResult result = loaded_zone.to_utc(civil);
  const auto print = [](int64_t at) { return format_rfc3339_ms(at * 1000).substr(0, 19); };
  switch (result.kind) {
    case TimeZone::LocalResult::Unique:
      EXPECT_EQ(result.first, result.second);
      return "unique " + print(result.first);
    case TimeZone::LocalResult::Gap:
      EXPECT_EQ(result.first, result.second);
      return "gap, jump at " + print(result.first);
    case TimeZone::LocalResult::Overlap:
      return "overlap " + print(result.first) + " " + print(result.second);
  }
  return "impossible";
}

TEST(TimeZone, BerlinChangesAtOneUtc) {
  const auto berlin = loaded_zone("Europe/Berlin");
  EXPECT_EQ(local(*berlin, "2026-03-29T00:59:59Z"), "2026-03-29T01:59:59+01:00");
  EXPECT_EQ(local(*berlin, "2026-03-29T01:00:00Z"), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(local(*berlin, "2026-10-25T00:59:59Z"), "2026-10-25T02:59:59+02:00");
  EXPECT_EQ(local(*berlin, "2026-10-25T01:00:00Z"), "2026-10-25T02:00:00+01:00");
  EXPECT_EQ(to_utc(*berlin, {2026, 3, 29, 2, 30, 0}), "gap, jump at 2026-03-29T01:00:00");
  EXPECT_EQ(to_utc(*berlin, {2026, 3, 29, 3, 0, 0}), "unique 2026-03-29T01:00:00");
  EXPECT_EQ(to_utc(*berlin, {2026, 10, 25, 2, 30, 0}),
            "overlap 2026-10-25T00:30:00 2026-10-25T01:30:00");
  EXPECT_EQ(to_utc(*berlin, {2026, 10, 25, 3, 0, 0}), "unique 2026-10-25T02:00:00");
}

TEST(TimeZone, NewYorkChangesAtTwoLocal) {
  const auto york = loaded_zone("America/New_York");
  EXPECT_EQ(local(*york, "2024-03-10T06:59:59Z"), "2024-03-10T01:59:59-05:00");
  EXPECT_EQ(local(*york, "2024-03-10T07:00:00Z"), "2024-03-10T03:00:00-04:00");
  EXPECT_EQ(local(*york, "2024-11-03T05:59:59Z"), "2024-11-03T01:59:59-04:00");
  EXPECT_EQ(local(*york, "2024-11-03T06:00:00Z"), "2024-11-03T01:00:00-05:00");
  EXPECT_EQ(to_utc(*york, {2024, 3, 10, 2, 0, 0}), "gap, jump at 2024-03-10T07:00:00");
  EXPECT_EQ(to_utc(*york, {2024, 11, 3, 1, 59, 59}),
            "overlap 2024-11-03T05:59:59 2024-11-03T06:59:59");
}

// Lord Howe moves its clocks by half an hour only, and south of the equator: summer spans new year.
TEST(TimeZone, LordHoweShiftsHalfAnHour) {
  const auto howe = loaded_zone("Australia/Lord_Howe");
  EXPECT_EQ(local(*howe, "2026-01-01T00:00:00Z"), "2026-01-01T11:00:00+11:00");
  EXPECT_EQ(local(*howe, "2026-04-04T14:59:59Z"), "2026-04-05T01:59:59+11:00");
  EXPECT_EQ(local(*howe, "2026-04-04T15:00:00Z"), "2026-04-05T01:30:00+10:30");
  EXPECT_EQ(local(*howe, "2026-10-03T15:30:00Z"), "2026-10-04T02:30:00+11:00");
  EXPECT_EQ(to_utc(*howe, {2026, 10, 4, 2, 15, 0}), "gap, jump at 2026-10-03T15:30:00");
  EXPECT_EQ(to_utc(*howe, {2026, 4, 5, 1, 45, 0}),
            "overlap 2026-04-04T14:45:00 2026-04-04T15:15:00");
}

// Samoa crossed the date line: 30 December 2011 never happened there.
TEST(TimeZone, ADayCanBeMissing) {
  const auto apia = loaded_zone("Pacific/Apia");
  EXPECT_EQ(to_utc(*apia, {2011, 12, 29, 23, 59, 59}), "unique 2011-12-30T09:59:59");
  EXPECT_EQ(to_utc(*apia, {2011, 12, 30, 12, 0, 0}), "gap, jump at 2011-12-30T10:00:00");
  EXPECT_EQ(to_utc(*apia, {2011, 12, 31, 0, 0, 0}), "unique 2011-12-30T10:00:00");
}

// Dublin's rule is stated backwards (winter time is the "daylight" saving, by minus an hour).
TEST(TimeZone, NegativeDaylightSaving) {
  const auto dublin = loaded_zone("Europe/Dublin");
  EXPECT_EQ(local(*dublin, "2060-01-15T12:00:00Z"), "2060-01-15T12:00:00+00:00");
  EXPECT_EQ(local(*dublin, "2060-07-15T12:00:00Z"), "2060-07-15T13:00:00+01:00");
}

TEST(TimeZone, TheClosingRuleHoldsInTheFarFuture) {
  const auto berlin = loaded_zone("Europe/Berlin");
  EXPECT_EQ(local(*berlin, "2400-03-26T00:59:59Z"), "2400-03-26T01:59:59+01:00");
  EXPECT_EQ(local(*berlin, "2400-03-26T01:00:00Z"), "2400-03-26T03:00:00+02:00");
  EXPECT_EQ(local(*berlin, "9999-07-01T00:00:00Z"), "9999-07-01T02:00:00+02:00");
  EXPECT_EQ(to_utc(*berlin, {2400, 10, 29, 2, 0, 0}),
            "overlap 2400-10-29T00:00:00 2400-10-29T01:00:00");
  EXPECT_EQ(berlin->offset_at(INT64_MAX), 3600);
  EXPECT_EQ(berlin->offset_at(INT64_MIN), 53 * 60 + 28);  // local mean time, before zones
  // Gaza and Nuuk use times of change outside the day.
  EXPECT_EQ(local(*loaded_zone("America/Nuuk"), "2050-03-27T00:59:59Z"),
            "2050-03-26T22:59:59-02:00");
  EXPECT_EQ(local(*loaded_zone("America/Nuuk"), "2050-03-27T01:00:00Z"),
            "2050-03-27T00:00:00-01:00");
}

TEST(TimeZone, LocalTimesAtTheEdgesOfTheCalendarEnd) {
  for (const char* name : {"Europe/Berlin", "Australia/Lord_Howe", "+14:00", "-12:00"}) {
    const auto edge = loaded_zone(name);
    EXPECT_EQ(edge->to_utc({9999, 12, 31, 23, 59, 59}).kind, TimeZone::LocalResult::Unique);
    EXPECT_EQ(edge->to_utc({1, 1, 1, 0, 0, 0}).kind, TimeZone::LocalResult::Unique);
    EXPECT_EQ(edge->to_utc({INT32_MAX, 1, 1, 0, 0, 0}).kind, TimeZone::LocalResult::Unique);
    EXPECT_EQ(edge->to_utc({INT32_MIN, 1, 1, 0, 0, 0}).kind, TimeZone::LocalResult::Unique);
  }
}

TEST(TimeZone, FixedOffsetsNeedNoFile) {
  EXPECT_EQ(loaded_zone("")->offset_at(0), 0);
  EXPECT_EQ(loaded_zone("UTC")->offset_at(0), 0);
  EXPECT_EQ(loaded_zone("+05:30")->offset_at(0), 19800);
  EXPECT_EQ(loaded_zone("05:30")->offset_at(0), 19800);
  EXPECT_EQ(loaded_zone("-03:00")->offset_at(0), -10800);
  EXPECT_EQ(to_utc(*loaded_zone("-03:30"), {2026, 1, 1, 0, 0, 0}), "unique 2026-01-01T03:30:00");
}

TEST(TimeZone, NamesThatAreNoZone) {
  const auto refusal = [](std::string_view name) {
    const auto found = TimeZone::find(name);
    return found.ok() ? std::string("accepted") : found.error().message;
  };
  EXPECT_EQ(refusal("Mars/Olympus"), "time zone \"Mars/Olympus\" is unknown");
  EXPECT_EQ(refusal("Europe"), "time zone \"Europe\" is unknown");
  EXPECT_EQ(refusal("../../etc/passwd"), "time zone \"../../etc/passwd\" is not an IANA zone name");
  EXPECT_EQ(refusal("/etc/passwd"), "time zone \"/etc/passwd\" is not an IANA zone name");
  EXPECT_EQ(refusal("Europe//Berlin"), "time zone \"Europe//Berlin\" is not an IANA zone name");
  EXPECT_EQ(refusal("Europe/Berlin/"), "time zone \"Europe/Berlin/\" is not an IANA zone name");
  EXPECT_EQ(refusal(std::string_view("Europe/Berlin\0", 14)),
            "time zone \"Europe/Berlin?\" is not an IANA zone name");
  EXPECT_EQ(refusal("+24:00"), "time zone \"+24:00\" is not an IANA zone name");
  EXPECT_EQ(refusal("+05:60"), "time zone \"+05:60\" is not an IANA zone name");
  EXPECT_EQ(refusal("+5:30"), "time zone \"+5:30\" is not an IANA zone name");
  EXPECT_EQ(refusal("localtime"), "time zone \"localtime\" depends on the machine; name a place");
  EXPECT_EQ(refusal("right/UTC"), "time zone \"right/UTC\" depends on the machine; name a place");
  EXPECT_EQ(refusal("leapseconds"), "time zone \"leapseconds\" is not in TZif version 2 or later");
  EXPECT_LT(refusal(std::string(100000, 'a')).size(), 200u);
}

// A file with two types (+1 h, +2 h), one transition at 1000, and the given closing rule.
std::string tzif(std::string_view rule) {
  const auto big = [](uint64_t value, int width) {
    std::string out;
    for (int i = width - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  const std::string magic = std::string("TZif2") + std::string(15, '\0');
  const std::string zeros(24, '\0');
  std::string second =
      magic + big(0, 4) + big(0, 4) + big(0, 4) + big(1, 4) + big(2, 4) + big(4, 4);
  second += big(1000, 8) + big(1, 1);
  second += big(3600, 4) + big(0, 2) + big(7200, 4) + big(0, 2);
  second += std::string("ABC\0", 4);
  return magic + zeros + second + "\n" + std::string(rule) + "\n";
}

TEST(TimeZone, ReadsAFileByTheBook) {
  const auto made = TimeZone::from_tzif("Test", tzif("ABC-2"));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)->offset_at(999), 3600);
  EXPECT_EQ((*made)->offset_at(1000), 7200);
  EXPECT_EQ((*TimeZone::from_tzif("Test", tzif("")))->offset_at(int64_t{1} << 40), 7200);
}

TEST(TimeZone, HostileFilesAreRefused) {
  const std::string good = tzif("ABC-2");
  for (size_t length = 0; length < good.size(); ++length) {
    // Cutting is refused everywhere: even a cut inside the closing rule loses its last newline.
    EXPECT_FALSE(TimeZone::from_tzif("Test", good.substr(0, length)).ok()) << length;
  }
  for (const char* rule :
       {"A-2", "ABC", "ABC-25", "ABC-2DEF", "ABC-2DEF,M13.1.0,M3.1.0", "ABC-2DEF,M3.1.0",
        "ABC-2DEF,M3.0.0,M4.1.0", "ABC-2DEF,J0,J5", "ABC-2DEF,366,5", "<ABC-2",
        "ABC-2DEF,M3.1.0/168,M4.1.0", "ABC-2DEF,M3.1.0,M4.1.0x", "ABC-1000000000000"}) {
    EXPECT_FALSE(TimeZone::from_tzif("Test", tzif(rule)).ok()) << rule;
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = tzif("ABC-2DEF,M3.1.0/-167,J365/167");
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto made = TimeZone::from_tzif("Test", bytes);
    if (!made.ok()) continue;
    const CivilTime civil{static_cast<int32_t>(random() % 10000), 12, 31, 23, 0, 0};
    const TimeZone::LocalResult result = (*made)->to_utc(civil);
    EXPECT_LE(result.first, result.second);
  }
}

TEST(TimeZone, RulesByDayOfTheYear) {
  const auto leapless = *TimeZone::from_tzif("Test", tzif("ABC0DEF,J60/0,J365/23"));
  // J60 is 1 March in every year.
  EXPECT_EQ(local(*leapless, "2024-02-29T23:59:59Z"), "2024-02-29T23:59:59+00:00");
  EXPECT_EQ(local(*leapless, "2024-03-01T00:00:00Z"), "2024-03-01T01:00:00+01:00");
  EXPECT_EQ(local(*leapless, "2023-03-01T00:00:00Z"), "2023-03-01T01:00:00+01:00");
  // Day 59 from zero is 29 February where there is one.
  const auto counted = *TimeZone::from_tzif("Test", tzif("ABC0DEF,59/0,364"));
  EXPECT_EQ(local(*counted, "2024-02-29T00:00:00Z"), "2024-02-29T01:00:00+01:00");
  // RFC 8536's way to say "daylight time all year".
  const auto always = *TimeZone::from_tzif("Test", tzif("EST5EDT,0/0,J365/25"));
  for (const char* stamp :
       {"2024-01-01T04:00:00Z", "2024-07-01T00:00:00Z", "2024-12-31T23:00:00Z"}) {
    EXPECT_EQ(always->offset_at(utc(stamp)), -4 * 3600) << stamp;
  }
}

// to_utc must agree with what offset_at says about every instant, whatever the zone did at the
// time.
TEST(TimeZone, LocalAndBackForRandomInstants) {
  std::mt19937_64 random(1);
  for (const char* name :
       {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Gaza",
        "Africa/Casablanca", "America/Nuuk", "Pacific/Apia", "Antarctica/Troll"}) {
    const auto place = loaded_zone(name);
    for (int i = 0; i < 5000; ++i) {
      const int64_t at = static_cast<int64_t>(random() % 8'000'000'000) - 3'000'000'000;
      const TimeZone::LocalResult back = place->to_utc(place->to_local(at));
      ASSERT_NE(back.kind, TimeZone::LocalResult::Gap) << name << " " << at;
      ASSERT_TRUE(back.first == at || back.second == at) << name << " " << at;
      ASSERT_EQ(back.first == back.second, back.kind == TimeZone::LocalResult::Unique);
    }
  }
}

TEST(TimeZone, ManyThreadsShareOneZone) {
  std::vector<std::thread> threads;
  std::vector<const TimeZone*> seen(8);
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&seen, i] { seen[i] = TimeZone::find("Asia/Kolkata")->get(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TimeZone* one : seen) EXPECT_EQ(one, seen[0]);
  EXPECT_EQ(seen[0]->offset_at(0), 19800);
}

}  // namespace
}  // namespace pawl
