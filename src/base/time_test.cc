#include "base/time.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pawl {
namespace {

// The value as text, or the message of the refusal: one readable line either way.
std::string told(const Result<int64_t>& result) {
  return result.ok() ? std::to_string(*result) : result.error().message;
}

TEST(Civil, KnownDays) {
  EXPECT_EQ(days_from_civil(1970, 1, 1), 0);
  EXPECT_EQ(days_from_civil(2000, 2, 29), 11016);
  EXPECT_EQ(days_from_civil(2000, 3, 1), 11017);
  EXPECT_EQ(days_from_civil(1, 1, 1), -719162);
  EXPECT_EQ(days_from_civil(9999, 12, 31), 2932896);
  EXPECT_EQ(weekday_from_days(0), 4);                              // a Thursday
  EXPECT_EQ(weekday_from_days(days_from_civil(2026, 7, 26)), 0);   // a Sunday
  EXPECT_EQ(weekday_from_days(days_from_civil(1899, 12, 31)), 0);  // a Sunday
  EXPECT_EQ(days_in_month(1900, 2), 28);
  EXPECT_EQ(days_in_month(2000, 2), 29);
  EXPECT_EQ(days_in_month(2024, 2), 29);
  EXPECT_EQ(days_in_month(2023, 2), 28);
}

// Walks every day of 400 years and a bit by the school rule; both directions must agree with it.
TEST(Civil, EveryDayOfACycle) {
  CivilTime expected{1599, 1, 1};
  for (int64_t day = days_from_civil(1599, 1, 1); expected.year < 2005; ++day) {
    ASSERT_EQ(days_from_civil(expected.year, expected.month, expected.day), day);
    ASSERT_EQ(civil_from_seconds(day * 86400), expected);
    const CivilTime evening{expected.year, expected.month, expected.day, 23, 59, 59};
    ASSERT_EQ(civil_from_seconds(day * 86400 + 86399), evening);
    if (++expected.day > days_in_month(expected.year, expected.month)) {
      expected.day = 1;
      if (++expected.month > 12) expected = {expected.year + 1, 1, 1};
    }
  }
}

TEST(Rfc3339, Prints) {
  EXPECT_EQ(format_rfc3339_ms(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339_ms(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339_ms(1709164800007), "2024-02-29T00:00:00.007Z");
  EXPECT_EQ(format_rfc3339_ms(kUnixMsMin), "0001-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339_ms(kUnixMsMax), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339_ms(INT64_MIN), "0001-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339_ms(INT64_MAX), "9999-12-31T23:59:59.999Z");
  std::string line = "at ";
  append_rfc3339_ms(line, 1000);
  EXPECT_EQ(line, "at 1970-01-01T00:00:01.000Z");
}

TEST(Rfc3339, Parses) {
  EXPECT_EQ(told(parse_rfc3339("1970-01-01T00:00:00Z")), "0");
  EXPECT_EQ(told(parse_rfc3339("1970-01-01t00:00:01z")), "1000");
  EXPECT_EQ(told(parse_rfc3339("2024-02-29T01:02:03.004Z")), "1709168523004");
  EXPECT_EQ(told(parse_rfc3339("2024-02-29T01:02:03.5+05:30")), "1709148723500");
  EXPECT_EQ(told(parse_rfc3339("2024-02-28T22:02:03-03:00")), "1709168523000");
  EXPECT_EQ(told(parse_rfc3339("1970-01-01T00:00:00.123456789Z")), "123");
  EXPECT_EQ(told(parse_rfc3339("1969-12-31T23:59:59.9999Z")), "-1");
  EXPECT_EQ(told(parse_rfc3339("1970-01-01T00:00:00-00:00")), "0");
}

TEST(Rfc3339, LeapSecondReadsAsTheLastMillisecondBefore) {
  EXPECT_EQ(*parse_rfc3339("2016-12-31T23:59:60Z"), *parse_rfc3339("2016-12-31T23:59:59.999Z"));
  EXPECT_EQ(*parse_rfc3339("2017-01-01T00:59:60.5+01:00"),
            *parse_rfc3339("2016-12-31T23:59:59.999Z"));
  EXPECT_EQ(
      told(parse_rfc3339("2016-12-31T23:58:60Z")),
      "\"2016-12-31T23:58:60Z\" is not an RFC 3339 timestamp: second 60 exists only at 23:59 UTC");
}

TEST(Rfc3339, Refuses) {
  const auto reason = [](std::string_view text) {
    const std::string message = told(parse_rfc3339(text));
    const size_t at = message.find("timestamp: ");
    return at == std::string::npos ? "accepted " + message : message.substr(at + 11);
  };
  const std::string form = "expected a form like 2026-01-31T12:00:00Z";
  for (const char* text :
       {"", "now", "2026-01-31", "2026-01-31 12:00:00Z", "2026-1-31T12:00:00Z",
        "+2026-01-31T12:00:00Z", "2026-01-31T12:00Z", "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00.1234567890Z", " 2026-01-31T12:00:00Z", "20260131T120000Z"}) {
    EXPECT_EQ(reason(text), form) << text;
  }
  const std::string ending = "it must end in Z or an offset like +02:00";
  for (const char* text :
       {"2026-01-31T12:00:00", "2026-01-31T12:00:00Z ", "2026-01-31T12:00:00+0200",
        "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+02:60", "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+02"}) {
    EXPECT_EQ(reason(text), ending) << text;
  }
  EXPECT_EQ(reason("0000-01-01T00:00:00Z"), "the year is outside 0001-9999");
  EXPECT_EQ(reason("2026-13-01T00:00:00Z"), "the month is outside 01-12");
  EXPECT_EQ(reason("2026-00-01T00:00:00Z"), "the month is outside 01-12");
  EXPECT_EQ(reason("2026-02-29T00:00:00Z"), "its month has no such day");
  EXPECT_EQ(reason("2026-01-00T00:00:00Z"), "its month has no such day");
  EXPECT_EQ(reason("2026-01-01T24:00:00Z"), "the hour is outside 00-23");
  EXPECT_EQ(reason("2026-01-01T00:60:00Z"), "the minute is outside 00-59");
  EXPECT_EQ(reason("2026-01-01T00:00:61Z"), "the second is outside 00-60");
  EXPECT_EQ(reason("0001-01-01T00:00:00+00:01"), "in UTC the year is outside 0001-9999");
  EXPECT_EQ(reason("9999-12-31T23:59:59-00:01"), "in UTC the year is outside 0001-9999");
}

TEST(Rfc3339, MessagesStayShortAndPrintable) {
  const auto message = told(parse_rfc3339(std::string(100000, '\n')));
  EXPECT_LT(message.size(), 200u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Rfc3339, EveryPrintedStampParsesBack) {
  std::mt19937_64 random(42);
  std::uniform_int_distribution<int64_t> any(kUnixMsMin, kUnixMsMax);
  for (int i = 0; i < 100000; ++i) {
    const int64_t ms = any(random);
    ASSERT_EQ(told(parse_rfc3339(format_rfc3339_ms(ms))), std::to_string(ms));
  }
}

TEST(IsoDuration, Parses) {
  EXPECT_EQ(told(parse_iso_duration_ms("PT0S")), "0");
  EXPECT_EQ(told(parse_iso_duration_ms("PT1.5S")), "1500");
  EXPECT_EQ(told(parse_iso_duration_ms("PT5M")), "300000");
  EXPECT_EQ(told(parse_iso_duration_ms("P1DT2H")), "93600000");
  EXPECT_EQ(told(parse_iso_duration_ms("P2W")), "1209600000");
  EXPECT_EQ(told(parse_iso_duration_ms("P1W1DT1H1M1.001S")), "694861001");
  EXPECT_EQ(told(parse_iso_duration_ms("PT0.5H")), "1800000");
  EXPECT_EQ(told(parse_iso_duration_ms("PT90M")), "5400000");
  EXPECT_EQ(told(parse_iso_duration_ms("P3652059D")), std::to_string(kDurationMsMax));
}

TEST(IsoDuration, ARestBelowAMillisecondRoundsUp) {
  EXPECT_EQ(told(parse_iso_duration_ms("PT0.000000001S")), "1");
  EXPECT_EQ(told(parse_iso_duration_ms("PT1.0005S")), "1001");
  EXPECT_EQ(told(parse_iso_duration_ms("PT1.0010S")), "1001");
}

TEST(IsoDuration, Refuses) {
  const auto reason = [](std::string_view text) {
    const std::string message = told(parse_iso_duration_ms(text));
    const size_t at = message.find("duration: ");
    return at == std::string::npos ? "accepted " + message : message.substr(at + 10);
  };
  const std::string form = "expected a form like PT1.5S, PT5M or P1DT2H";
  for (const char* text : {"",
                           "P",
                           "PT",
                           "P1DT",
                           "1S",
                           "PT1",
                           "PT1X",
                           "P1S",
                           "PT1D",
                           "PT1S1M",
                           "PT1M1M",
                           "PT.5S",
                           "PT1.S",
                           "-PT1S",
                           "P-1D",
                           "pt1s",
                           "PT1S ",
                           "PTT1S",
                           "PT1HT1M",
                           "PT1.1234567890S",
                           "PT99999999999999999999S",
                           "PT1,5S"}) {
    EXPECT_EQ(reason(text), form) << text;
  }
  const std::string calendar = "years and months have no fixed length; use weeks, days or hours";
  EXPECT_EQ(reason("P1Y"), calendar);
  EXPECT_EQ(reason("P1M"), calendar);
  EXPECT_EQ(reason("P1Y2M3DT4H"), calendar);
  EXPECT_EQ(reason("PT1.5M1S"), "only the last part may have a fraction");
  EXPECT_EQ(reason("P3652060D"), "it is longer than 9999 years");
  EXPECT_EQ(reason("P900000000000000000W"), "it is longer than 9999 years");
  EXPECT_EQ(reason("P3652059DT0.000000001S"), "it is longer than 9999 years");
}

TEST(IsoDuration, PrintsTheShortestForm) {
  EXPECT_EQ(format_iso_duration_ms(0), "PT0S");
  EXPECT_EQ(format_iso_duration_ms(1), "PT0.001S");
  EXPECT_EQ(format_iso_duration_ms(1500), "PT1.5S");
  EXPECT_EQ(format_iso_duration_ms(300000), "PT5M");
  EXPECT_EQ(format_iso_duration_ms(90061020), "P1DT1H1M1.02S");
  EXPECT_EQ(format_iso_duration_ms(86400000), "P1D");
  EXPECT_EQ(format_iso_duration_ms(-1000), "-PT1S");
  EXPECT_EQ(format_iso_duration_ms(INT64_MIN), "-P106751991167DT7H12M55.808S");
}

TEST(IsoDuration, EveryPrintedDurationParsesBack) {
  std::mt19937_64 random(43);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<int>(random() % 49);
    const auto ms = static_cast<int64_t>(random() % (uint64_t{1} << bits));
    ASSERT_EQ(told(parse_iso_duration_ms(format_iso_duration_ms(ms))), std::to_string(ms));
  }
}

TEST(Duration, Parses) {
  EXPECT_EQ(told(parse_duration_ms("0")), "0");
  EXPECT_EQ(told(parse_duration_ms("1h30m")), "5400000");
  EXPECT_EQ(told(parse_duration_ms("500ms")), "500");
  EXPECT_EQ(told(parse_duration_ms("2.5s")), "2500");
  EXPECT_EQ(told(parse_duration_ms("1.5d12h")), "172800000");
  EXPECT_EQ(told(parse_duration_ms("1500us")), "2");
  EXPECT_EQ(told(parse_duration_ms("2000µs")), "2");
  EXPECT_EQ(told(parse_duration_ms("2000μs")), "2");
  EXPECT_EQ(told(parse_duration_ms("1ns")), "1");
  EXPECT_EQ(told(parse_duration_ms("500us500us")), "1");
  EXPECT_EQ(told(parse_duration_ms("3652059d")), std::to_string(kDurationMsMax));
}

TEST(Duration, Refuses) {
  const auto reason = [](std::string_view text) {
    const std::string message = told(parse_duration_ms(text));
    const size_t at = message.find("duration: ");
    return at == std::string::npos ? "accepted " + message : message.substr(at + 10);
  };
  for (const char* text : {"", "s", ".5s", "1.s", "-1s", "+1s", " 1s", "1.1234567890s"}) {
    EXPECT_EQ(reason(text), "expected a form like 1h30m, 2.5s or 500ms") << text;
  }
  EXPECT_EQ(reason("5"), "a number lacks its unit (ns us ms s m h d)");
  EXPECT_EQ(reason("1h30"), "a number lacks its unit (ns us ms s m h d)");
  EXPECT_EQ(reason("1w"), "its units must be among ns us ms s m h d");
  EXPECT_EQ(reason("1 s"), "its units must be among ns us ms s m h d");
  EXPECT_EQ(reason("1S"), "its units must be among ns us ms s m h d");
  EXPECT_EQ(reason("3652059d1ns"), "it is longer than 9999 years");
  EXPECT_EQ(reason("900000000000000000d900000000000000000d"), "it is longer than 9999 years");
}

TEST(When, RelativeOrAbsolute) {
  EXPECT_EQ(told(parse_when("+PT2S", 1000)), "3000");
  EXPECT_EQ(told(parse_when("1970-01-01T00:00:09Z", 1000)), "9000");
  EXPECT_EQ(told(parse_when("+2s", 1000)),
            "\"2s\" is not an ISO 8601 duration: expected a form like PT1.5S, PT5M or P1DT2H");
  EXPECT_EQ(told(parse_when("+P3652059D", 1'700'000'000'000)),
            "\"+P3652059D\" is not a usable point in time: it lies after the year 9999");
  EXPECT_FALSE(parse_when("PT2S", 1000).ok());
  EXPECT_FALSE(parse_when("", 1000).ok());
}

}  // namespace
}  // namespace pawl
