#include "base/cron.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <string>

#include "base/time.h"

namespace pawl {
namespace {

std::shared_ptr<const TimeZone> zone(std::string_view name) { return *TimeZone::find(name); }

// The next `count` due instants after the stamp, in UTC and to the minute, or the refusal.
std::string due(std::string_view expression, std::string_view after, int count = 1,
                std::string_view zone_name = "UTC") {
  const auto schedule = CronSchedule::parse(expression);
  if (!schedule.ok()) return schedule.error().message;
  int64_t at = *parse_rfc3339(after);
  std::string out;
  for (int i = 0; i < count; ++i) {
    const auto next = schedule->next_after(at, *zone(zone_name));
    out += out.empty() ? "" : " ";
    if (!next) return out + "never";
    out.append(format_rfc3339_ms(*next).substr(0, 16));
    at = *next;
  }
  return out;
}

TEST(Cron, FieldsSelect) {
  const std::string_view now = "2026-01-31T12:34:56.789Z";  // a Saturday
  EXPECT_EQ(due("* * * * *", now), "2026-01-31T12:35");
  EXPECT_EQ(due("*/15 * * * *", now, 3), "2026-01-31T12:45 2026-01-31T13:00 2026-01-31T13:15");
  EXPECT_EQ(due("5/20 * * * *", now, 3), "2026-01-31T12:45 2026-01-31T13:05 2026-01-31T13:25");
  EXPECT_EQ(due("10-30/10,50 9 * * *", now, 5),
            "2026-02-01T09:10 2026-02-01T09:20 2026-02-01T09:30 2026-02-01T09:50 2026-02-02T09:10");
  EXPECT_EQ(due("0 9 * * mon-FRI", now, 2), "2026-02-02T09:00 2026-02-03T09:00");
  EXPECT_EQ(due("0 0 1 jan,Jul *", now, 2), "2026-07-01T00:00 2027-01-01T00:00");
  EXPECT_EQ(due("0 0 31 * *", now, 3), "2026-03-31T00:00 2026-05-31T00:00 2026-07-31T00:00");
  EXPECT_EQ(due("0 0 ? * 7", now, 2), "2026-02-01T00:00 2026-02-08T00:00");
  EXPECT_EQ(due("0 0 * * 0", now, 2), "2026-02-01T00:00 2026-02-08T00:00");
  EXPECT_EQ(due("0 0 * * FRI-SUN", now, 3), "2026-02-01T00:00 2026-02-06T00:00 2026-02-07T00:00");
  EXPECT_EQ(due("0 0 * * */2", now, 4),
            "2026-02-01T00:00 2026-02-03T00:00 2026-02-05T00:00 2026-02-07T00:00");
  EXPECT_EQ(due(" \t30  4\t* * *  ", now), "2026-02-01T04:30");
  EXPECT_EQ(due("05 04 * * *", now), "2026-02-01T04:05");
}

TEST(Cron, NamedSchedules) {
  const std::string_view now = "2026-01-31T12:34:56Z";
  EXPECT_EQ(due("@yearly", now), "2027-01-01T00:00");
  EXPECT_EQ(due("@annually", now), "2027-01-01T00:00");
  EXPECT_EQ(due("@monthly", now), "2026-02-01T00:00");
  EXPECT_EQ(due("@weekly", now), "2026-02-01T00:00");
  EXPECT_EQ(due("@daily", now), "2026-02-01T00:00");
  EXPECT_EQ(due("@midnight", now), "2026-02-01T00:00");
  EXPECT_EQ(due("@hourly", now), "2026-01-31T13:00");
}

TEST(Cron, EveryAddsElapsedTime) {
  EXPECT_EQ(*CronSchedule::parse("@every 1.5s")->next_after(1234, TimeZone::utc()), 2734);
  EXPECT_EQ(*CronSchedule::parse("@every PT5M")->next_after(-1, TimeZone::utc()), 299999);
  EXPECT_EQ(due("@every 1h", "2026-03-29T00:30:00Z", 2, "Europe/Berlin"),
            "2026-03-29T01:30 2026-03-29T02:30");
  EXPECT_EQ(due("@every 24h", "9999-12-31T00:00:00Z"), "never");
}

// Vixie's rule: two restricted day fields widen each other, a starred one narrows.
TEST(Cron, DayOfMonthOrDayOfWeek) {
  const std::string_view now = "2026-01-31T12:00:00Z";
  EXPECT_EQ(due("0 0 13 * FRI", now, 4),
            "2026-02-06T00:00 2026-02-13T00:00 2026-02-20T00:00 2026-02-27T00:00");
  EXPECT_EQ(due("0 0 12 * FRI", now, 3), "2026-02-06T00:00 2026-02-12T00:00 2026-02-13T00:00");
  EXPECT_EQ(due("0 0 */2 * MON", now, 3), "2026-02-09T00:00 2026-02-23T00:00 2026-03-09T00:00");
  EXPECT_EQ(due("0 0 13 * ?", now), "2026-02-13T00:00");
  EXPECT_EQ(due("0 0 30 2 MON", now, 2), "2026-02-02T00:00 2026-02-09T00:00");
}

TEST(Cron, ExactlyDueIsNotAfter) {
  EXPECT_EQ(due("0 12 * * *", "2026-01-31T12:00:00Z"), "2026-02-01T12:00");
  EXPECT_EQ(due("0 12 * * *", "2026-01-31T11:59:59.999Z"), "2026-01-31T12:00");
  EXPECT_EQ(due("0 0 1 1 *", "1969-12-31T23:59:59.999Z"), "1970-01-01T00:00");
  EXPECT_EQ(due("59 23 31 12 *", "1969-12-31T23:58:59.500Z"), "1969-12-31T23:59");
}

TEST(Cron, RareDatesAreFound) {
  EXPECT_EQ(due("0 0 29 2 *", "2096-03-01T00:00:00Z"), "2104-02-29T00:00");  // 2100 is no leap year
  EXPECT_EQ(due("0 0 29 2 */7", "2026-01-01T00:00:00Z", 2), "2032-02-29T00:00 2060-02-29T00:00");
  EXPECT_EQ(due("0 0 29 2 */7", "2088-03-01T00:00:00Z"), "2128-02-29T00:00");
  EXPECT_EQ(due("0 0 29 2 *", "9996-03-01T00:00:00Z"), "never");
  EXPECT_EQ(due("* * * * *", "9999-12-31T23:58:30Z", 2), "9999-12-31T23:59 never");
  EXPECT_EQ(CronSchedule::parse("* * * * *")->next_after(INT64_MAX, TimeZone::utc()), std::nullopt);
  EXPECT_EQ(*CronSchedule::parse("* * * * *")->next_after(INT64_MIN, TimeZone::utc()),
            kUnixMsMin + 60000);
}

// 02:30 does not exist in Berlin on 29 March 2026: nothing runs that night, neither early nor late.
TEST(Cron, ASkippedTimeDoesNotRun) {
  EXPECT_EQ(due("30 2 * * *", "2026-03-27T12:00:00Z", 2, "Europe/Berlin"),
            "2026-03-28T01:30 2026-03-30T00:30");
  EXPECT_EQ(due("*/30 * * * *", "2026-03-29T00:00:00Z", 3, "Europe/Berlin"),
            "2026-03-29T00:30 2026-03-29T01:00 2026-03-29T01:30");
  EXPECT_EQ(due("30 2 29 3 *", "2026-01-01T00:00:00Z", 1, "Europe/Berlin"), "2027-03-29T00:30");
  EXPECT_EQ(due("0 12 30 12 *", "2011-01-01T00:00:00Z", 1, "Pacific/Apia"), "2012-12-29T22:00");
}

// 02:30 comes twice in Berlin on 25 October 2026, at 00:30 and 01:30 UTC.
TEST(Cron, ARepeatedTimeRunsOnce) {
  EXPECT_EQ(due("30 2 * * *", "2026-10-24T12:00:00Z", 2, "Europe/Berlin"),
            "2026-10-25T00:30 2026-10-26T01:30");
  EXPECT_EQ(due("30 2 * * *", "2026-10-25T01:00:00Z", 1, "Europe/Berlin"), "2026-10-26T01:30");
  EXPECT_EQ(due("0 * * * *", "2026-10-24T23:30:00Z", 2, "Europe/Berlin"),
            "2026-10-25T00:00 2026-10-25T02:00");
  EXPECT_EQ(due("*/10 1 * * *", "2026-04-04T14:25:00Z", 5, "Australia/Lord_Howe"),
            "2026-04-04T14:30 2026-04-04T14:40 2026-04-04T14:50 2026-04-05T14:30 2026-04-05T14:40");
}

TEST(Cron, Refuses) {
  const std::string_view now = "2026-01-01T00:00:00Z";
  EXPECT_EQ(due("99 25 32 13 8", now), "minute: 99 is outside 0-59");
  EXPECT_EQ(due("0 25 32 13 8", now), "hour: 25 is outside 0-23");
  EXPECT_EQ(due("0 0 32 13 8", now), "day of month: 32 is outside 1-31");
  EXPECT_EQ(due("0 0 0 * *", now), "day of month: 0 is outside 1-31");
  EXPECT_EQ(due("0 0 1 13 8", now), "month: 13 is outside 1-12");
  EXPECT_EQ(due("0 0 1 1 8", now), "day of week: 8 is outside 0-7");
  EXPECT_EQ(due("x * * * *", now), "minute: \"x\" is not a number");
  EXPECT_EQ(due("-1 * * * *", now), "minute: \"\" is not a number");
  EXPECT_EQ(due("1- * * * *", now), "minute: \"\" is not a number");
  EXPECT_EQ(due("1-2-3 * * * *", now), "minute: \"2-3\" is not a number");
  EXPECT_EQ(due("99999999999999999999 * * * *", now),
            "minute: \"99999999999999999999\" is not a number");
  EXPECT_EQ(due("0 0 L * *", now), "day of month: \"L\" is not a number");
  EXPECT_EQ(due("0 0 1 FOO *", now), "month: \"FOO\" is not a number or a name (JAN-DEC)");
  EXPECT_EQ(due("0 0 * * MON#1", now),
            "day of week: \"MON#1\" is not a number or a name (SUN-SAT)");
  EXPECT_EQ(due("0 0 * JAN MONDAY", now),
            "day of week: \"MONDAY\" is not a number or a name (SUN-SAT)");
  EXPECT_EQ(due("5-3 * * * *", now), "minute: range \"5-3\" runs backwards");
  EXPECT_EQ(due("*/0 * * * *", now), "minute: step 0 is outside 1-59");
  EXPECT_EQ(due("*/90 * * * *", now), "minute: step 90 is outside 1-59");
  EXPECT_EQ(due("*/x * * * *", now), "minute: step \"x\" is not a number");
  EXPECT_EQ(due("*/ * * * *", now), "minute: step \"\" is not a number");
  EXPECT_EQ(due("1,,2 * * * *", now), "minute: a list has an empty place: \"1,,2\"");
  EXPECT_EQ(due("1, * * * *", now), "minute: a list has an empty place: \"1,\"");
  EXPECT_EQ(due("? * * * *", now), "minute: \"?\" is only for day of month and day of week");
  EXPECT_EQ(due("** * * * *", now), "minute: \"**\" is not a number");
  EXPECT_EQ(due("0 0 31 FEB *", now), "day of month: \"31\" does not exist in the selected months");
  EXPECT_EQ(due("0 0 31 2,4,6,9,11 *", now),
            "day of month: \"31\" does not exist in the selected months");
  EXPECT_EQ(due("0 0 30 2 ?", now), "day of month: \"30\" does not exist in the selected months");
}

TEST(Cron, RefusesTheWrongShape) {
  const std::string_view now = "2026-01-01T00:00:00Z";
  const std::string five =
      "a cron expression has 5 fields (minute hour day-of-month month day-of-week), not ";
  EXPECT_EQ(due("", now), five + "0");
  EXPECT_EQ(due("not a valid cron", now), five + "4");
  EXPECT_EQ(due("0 0 0 * * *", now), five + "6; seconds and years are not supported");
  EXPECT_EQ(due("0 0 0 0 0 0 0", now), five + "7; seconds and years are not supported");
  EXPECT_EQ(due("* * * * *\n", now), "day of week: \"*?\" is not a number or a name (SUN-SAT)");
  const std::string macros =
      " is not one of @yearly @annually @monthly @weekly @daily @midnight @hourly, or @every with "
      "a duration";
  EXPECT_EQ(due("@reboot", now), "\"@reboot\"" + macros);
  EXPECT_EQ(due("@daily 5", now), "\"@daily 5\"" + macros);
  EXPECT_EQ(due("@every", now), "@every takes one duration, such as @every 1h30m");
  EXPECT_EQ(due("@every 1h 30m", now), "@every takes one duration, such as @every 1h30m");
  EXPECT_EQ(due("@every 999ms", now), "@every: 999ms is shorter than 1s");
  EXPECT_EQ(due("@every 0", now), "@every: 0 is shorter than 1s");
  EXPECT_EQ(due("@every P1M", now),
            "\"P1M\" is not an ISO 8601 duration: years and months have no fixed length; use "
            "weeks, days or hours");
  EXPECT_EQ(due(std::string(257, '*'), now), "a cron expression has at most 256 characters");
}

// A random field: its text, and what it selects as the generator, not the parser, sees it.
struct RandomField {
  std::string text;
  std::set<int> values;
  bool star = false;
};

RandomField random_field(std::mt19937_64& random, int min, int max) {
  RandomField field;
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
  };
  if (random() % 3 == 0) {
    field.text = "*";
    field.star = true;
    for (int v = min; v <= max; ++v) field.values.insert(v);
    return field;
  }
  const int items = pick(1, 3);
  for (int i = 0; i < items; ++i) {
    if (i > 0) field.text += ",";
    const int low = pick(min, max);
    const int high = pick(low, max);
    const int step = pick(1, max);
    switch (random() % 4) {
      case 0:
        field.text += std::to_string(low);
        field.values.insert(low);
        break;
      case 1:
        field.text += std::to_string(low) + "-" + std::to_string(high);
        for (int v = low; v <= high; ++v) field.values.insert(v);
        break;
      case 2:
        field.text += std::to_string(low) + "-" + std::to_string(high) + "/" + std::to_string(step);
        for (int v = low; v <= high; v += step) field.values.insert(v);
        break;
      default:
        field.star = field.star || i == 0;
        field.text += "*/" + std::to_string(step);
        for (int v = min; v <= max; v += step) field.values.insert(v);
    }
  }
  return field;
}

struct RandomCron {
  std::array<RandomField, 5> fields;

  explicit RandomCron(std::mt19937_64& random)
      : fields{random_field(random, 0, 59), random_field(random, 0, 23),
               random_field(random, 1, 31), random_field(random, 1, 12),
               random_field(random, 0, 6)} {}

  std::string text() const {
    std::string out = fields[0].text;
    for (size_t i = 1; i < fields.size(); ++i) out += " " + fields[i].text;
    return out;
  }
  bool matches(int64_t wall_seconds) const {
    const CivilTime at = civil_from_seconds(wall_seconds);
    if (at.second != 0 || !fields[0].values.contains(at.minute) ||
        !fields[1].values.contains(at.hour) || !fields[3].values.contains(at.month)) {
      return false;
    }
    const int64_t days = (wall_seconds - at.hour * 3600 - at.minute * 60) / 86400;
    const bool day = fields[2].values.contains(at.day);
    const bool weekday = fields[4].values.contains(static_cast<int>((days + 4) % 7));
    return fields[2].star || fields[4].star ? day && weekday : day || weekday;
  }
};

// Scans minute by minute. A wall time counts only if the clock never showed it, or a later one,
// before.
std::optional<int64_t> scan(const RandomCron& cron, int64_t after, int64_t horizon,
                            const TimeZone& zone) {
  int64_t shown = INT64_MIN;
  for (int64_t at = after - after % 60 - 2 * 86400; at <= horizon; at += 60) {
    const int64_t wall = at + zone.offset_at(at);
    if (wall <= shown) continue;
    shown = wall;
    if (at > after && cron.matches(wall)) return at;
  }
  return std::nullopt;
}

TEST(Cron, AgreesWithAMinuteScan) {
  std::mt19937_64 random(20260726);
  // Instants shortly before clock changes, so that most scans cross one.
  const std::array<std::pair<const char*, const char*>, 6> places = {{
      {"Europe/Berlin", "2026-03-28T20:00:00Z"},
      {"Europe/Berlin", "2026-10-24T20:00:00Z"},
      {"America/New_York", "2027-11-06T20:00:00Z"},
      {"Australia/Lord_Howe", "2026-10-03T04:00:00Z"},
      {"Australia/Lord_Howe", "2040-03-31T04:00:00Z"},
      {"+05:45", "2024-02-28T00:00:00Z"},
  }};
  int found = 0;
  for (int i = 0; i < 600; ++i) {
    const RandomCron cron(random);
    const auto schedule = CronSchedule::parse(cron.text());
    if (!schedule.ok()) {
      EXPECT_NE(schedule.error().message.find("does not exist"), std::string::npos) << cron.text();
      continue;
    }
    const auto& [name, begin] = places[random() % places.size()];
    const auto place = zone(name);
    int64_t after = *parse_rfc3339(begin) / 1000 + static_cast<int64_t>(random() % 36000);
    const int64_t horizon = after + 5 * 86400;
    for (int k = 0; k < 8; ++k) {
      const auto expected = scan(cron, after, horizon, *place);
      const auto actual = schedule->next_after(after * 1000 + 500, *place);
      if (!expected) {
        ASSERT_TRUE(!actual || *actual > horizon * 1000)
            << cron.text() << " in " << name << " after " << after;
        break;
      }
      ASSERT_TRUE(actual) << cron.text() << " in " << name << " after " << after;
      ASSERT_EQ(*actual, *expected * 1000) << cron.text() << " in " << name << " after " << after;
      ++found;
      // Half of the walks jump ahead, so that instants between due times are asked about too.
      after = *expected + static_cast<int64_t>(random() % 2 * (random() % 7200));
    }
  }
  EXPECT_GT(found, 600);  // the comparison covered enough cases
}

}  // namespace
}  // namespace pawl
