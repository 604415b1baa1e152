#include "journal/record.h"

#include <gtest/gtest.h>

#include "journal/peek.h"

namespace pawl {
namespace {

JobLeased leased() {
  JobLeased event;
  event.job = JobId(Uuid{0x0190aa, 0x8000000000000001});
  event.queue = "mail";
  event.type = "mail.send";
  event.from = JobState::Available;
  event.attempt = 1;
  event.worker = "w1";
  event.lease_until_ms = 1'000'000;
  return event;
}

std::string two_frames(uint64_t number) {
  journal::RecordWriter writer(number);
  writer.begin_frame(1000);
  writer.add(leased());
  writer.add(DocDeleted{DocKind::Schema, "a/1"});
  writer.end_frame();
  writer.begin_frame(1001);
  writer.end_frame();
  writer.begin_frame(1002);
  writer.add(CronDeleted{"nightly"});
  writer.end_frame();
  return writer.finish();
}

// What was written is what is read: order, stamps, sequence numbers and content.
TEST(Record, ReadsBackWhatWasWritten) {
  std::string record = two_frames(7);
  auto events = journal::read_record(7, record);
  ASSERT_TRUE(events.ok()) << events.error().message;
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ((*events)[0].sequence, journal::sequence(7, 0));
  EXPECT_EQ((*events)[2].sequence, journal::sequence(7, 2));
  EXPECT_EQ((*events)[1].time_ms, 1000);
  EXPECT_EQ((*events)[2].time_ms, 1002);
  EXPECT_TRUE((*events)[0].first_of_frame);
  EXPECT_FALSE((*events)[1].first_of_frame);
  JobLeased read;
  ASSERT_TRUE(codec::decode((*events)[0].bytes, read));
  EXPECT_EQ(codec::encoded(read), codec::encoded(leased()));
  EXPECT_EQ(read.worker, "w1");
}

// The kinds are found without decoding, and without reading past the end for any bytes.
TEST(Record, AGlanceTellsWhichKindsItHolds) {
  std::string record = two_frames(7);
  EXPECT_TRUE(journal::holds(record, EventType::JobLeased));
  EXPECT_TRUE(journal::holds(record, EventType::DocDeleted));
  EXPECT_TRUE(journal::holds(record, EventType::CronDeleted));
  EXPECT_FALSE(journal::holds(record, EventType::RunForgotten));
  for (size_t size = 0; size < record.size(); ++size)
    EXPECT_FALSE(journal::holds(record.substr(0, size), EventType::RunForgotten)) << size;
}

// One flipped bit anywhere is noticed, never misread.
TEST(Record, EveryFlippedBitIsCorrupt) {
  std::string good = two_frames(7);
  for (size_t i = 0; i < good.size() * 8; ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ 1 << (i % 8));
    auto events = journal::read_record(7, bad);
    ASSERT_FALSE(events.ok()) << "bit " << i;
    EXPECT_EQ(events.error().code, ErrorCode::Corrupt);
  }
}

TEST(Record, TruncationIsCorrupt) {
  std::string good = two_frames(7);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(journal::read_record(7, std::string_view(good).substr(0, size)).ok()) << size;
}

TEST(Record, NewerVersionIsRefusedByName) {
  std::string record = two_frames(7);
  record[2] = 2;
  auto events = journal::read_record(7, record);
  ASSERT_FALSE(events.ok());
  EXPECT_NE(events.error().message.find("version 2 is newer"), std::string::npos);
}

// A field that an older reader does not know is skipped, the rest is still read.
TEST(Codec, UnknownFieldsAreSkipped) {
  std::string bytes = codec::encoded(CronDeleted{"nightly"});
  codec::put_varint(bytes, 99 << 2 | 2);
  codec::put_varint(bytes, 3);
  bytes += "new";
  codec::put_varint(bytes, 98 << 2 | 0);
  codec::put_varint(bytes, 5);
  CronDeleted read;
  ASSERT_TRUE(codec::decode(bytes, read));
  EXPECT_EQ(read.name, "nightly");
}

TEST(Codec, NegativeNumbersAndDefaultsSurvive) {
  JobCreated event;
  event.priority = -100;
  event.expires_ms = -1;
  JobCreated read;
  ASSERT_TRUE(codec::decode(codec::encoded(event), read));
  EXPECT_EQ(read.priority, -100);
  EXPECT_EQ(read.expires_ms, -1);
  EXPECT_EQ(codec::encoded(JobEventHead{}), "");
}

}  // namespace
}  // namespace pawl
