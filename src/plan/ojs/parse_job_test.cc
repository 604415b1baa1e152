#include "plan/ojs/parse_job.h"

#include <gtest/gtest.h>

#include "plan/ojs/queue_name.h"

namespace pawl {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;

Result<NewJob> parse(const std::string& text, std::string_view tenant = "",
                     std::string_view cron = "") {
  auto doc = json::parse(text);
  PAWL_CHECK(doc.ok());
  return parse_job(doc->root(), {.now_ms = kNow, .tenant = tenant, .cron_name = cron});
}

// "400 args must be an array", or "ok".
std::string verdict(const std::string& text) {
  auto job = parse(text);
  if (job.ok()) return "ok";
  return std::to_string(http_status(job.error().code)) + " " + job.error().message;
}

JobSpec spec_of(const NewJob& job) {
  JobSpec spec;
  PAWL_CHECK(codec::decode(job.spec, spec));
  return spec;
}

std::string with_options(const std::string& options) {
  return R"({"type":"a.b","args":[],"options":)" + options + "}";
}

TEST(ParseJob, RefusesWithTheNameOfWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"([])", "400 the job must be an object"},
      {R"({"args":[]})", "400 type is required"},
      {R"({"type":null,"args":[]})", "400 type is required"},
      {R"({"type":7,"args":[]})", "400 type must be a string"},
      {R"({"type":"a"})", "400 args is required"},
      {R"({"type":"a","args":null})", "400 args must be an array"},
      {R"({"type":"a","args":{}})", "400 args must be an array"},
      {R"({"type":"a","args":[],"id":""})", "400 id must be a UUIDv7 in lower case"},
      {R"({"type":"a","args":[],"id":"01965000-0000-4000-8000-000000000000"})",
       "400 id must be a UUIDv7 in lower case"},
      {R"({"type":"a","args":[],"id":"01965000-0000-7000-8000-00000000000A"})",
       "400 id must be a UUIDv7 in lower case"},
      {R"({"type":"a","args":[],"meta":[]})", "400 meta must be an object"},
      {R"({"type":"a","args":[],"options":3})", "400 options must be an object"},
  };
  for (const auto& [text, expected] : kCases) EXPECT_EQ(verdict(text), expected) << text;
}

TEST(ParseJob, RefusesOptionsThatCannotBeHonoured) {
  for (const char* options :
       {R"({"queue":"Upper"})", R"({"queue":""})", R"({"queue":"-a"})", R"({"queue":7})",
        R"({"priority":101})", R"({"priority":-101})", R"({"priority":1.5})",
        R"({"timeout_ms":-1})", R"({"delay_until":"tomorrow"})", R"({"delay_until":"+P1Y"})",
        R"({"expires_at":17})", R"({"tags":"x"})", R"({"tags":[1]})", R"({"rate_limit":7})",
        R"({"rate_limit":{"key":"k","concurrency":0}})", R"({"metadata":[]})"})
    EXPECT_EQ(verdict(with_options(options)).substr(0, 4), "400 ") << options;
}

TEST(ParseJob, TypesAreLowerCaseWordsJoinedByDots) {
  for (const char* type : {"a", "a.b", "email-x.send_2", "a1.b2-c"})
    EXPECT_TRUE(is_job_type(type)) << type;
  for (const char* type : {"", "A", "a.", ".a", "a..b", "1a", "a.1", "a b", "a/b", "é"})
    EXPECT_FALSE(is_job_type(type)) << type;
  EXPECT_FALSE(is_job_type(std::string(256, 'a')));
}

TEST(ParseJob, RelativeTimesCountFromNowAndAbsoluteOnesAreEchoed) {
  auto relative = parse(with_options(R"({"delay_until":"+PT2S"})"));
  ASSERT_TRUE(relative.ok());
  EXPECT_EQ(relative->scheduled_ms, kNow + 2000);
  EXPECT_EQ(spec_of(*relative).scheduled_text, "");
  auto absolute = parse(with_options(R"({"scheduled_at":"2099-12-31T23:59:59Z"})"));
  ASSERT_TRUE(absolute.ok());
  EXPECT_EQ(spec_of(*absolute).scheduled_text, "2099-12-31T23:59:59Z");
}

TEST(ParseJob, UnknownMembersPassThroughAndServerMembersDoNot) {
  auto job = parse(R"({"type":"a","args":[1],"x_own":{"k":1},"state":"completed","attempt":9})");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(spec_of(*job).extra, R"("x_own":{"k":1})");
}

TEST(ParseJob, TheTenantAndTheCronNameCannotBeForged) {
  std::string text =
      R"({"type":"a","args":[],"meta":{"tenant_id":"evil","cron_name":"evil","k":1}})";
  auto job = parse(text, "acme", "nightly");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(spec_of(*job).meta, R"({"k":1,"tenant_id":"acme","cron_name":"nightly"})");
  EXPECT_EQ(job->queue, scoped_queue("acme", "default"));
}

TEST(ParseRetry, ReadsEverySpelling) {
  for (
      const char* retry :
      {R"({"max_attempts":5,"initial_interval":"PT2S","max_interval":"PT10S"})",
       R"({"max_attempts":5,"initial_interval_ms":2000,"max_interval_ms":10000})",
       R"({"max_attempts":5,"strategy":"exponential","initial_delay_ms":2000,"max_delay_ms":10000})",
       R"({"max_attempts":5,"backoff":"exponential","base_delay_ms":2000,"max_delay_ms":10000})",
       R"({"maxAttempts":5,"initialInterval":"PT2S","maxInterval":"PT10S"})"}) {
    auto doc = json::parse(retry);
    auto policy = parse_retry(doc->root());
    ASSERT_TRUE(policy.ok()) << retry;
    EXPECT_EQ(policy->max_attempts, 5u) << retry;
    EXPECT_EQ(policy->initial_ms, 2000) << retry;
    EXPECT_EQ(policy->max_ms, 10000) << retry;
  }
}

// The specification's spelling is echoed unchanged, other spellings are converted.
TEST(ParseRetry, IsShownInTheWordsOfTheSpecification) {
  auto shown = [](const std::string& retry) {
    return spec_of(*parse(with_options(R"({"retry":)" + retry + "}"))).retry_text;
  };
  EXPECT_EQ(shown(R"({"max_attempts": 2, "max_interval":"PT90S"})"),
            R"({"max_attempts": 2, "max_interval":"PT90S"})");
  EXPECT_EQ(shown(R"({"maxAttempts":2,"initial_interval_ms":1500,"onExhaustion":"discard"})"),
            R"({"max_attempts":2,"initial_interval":"PT1.5S","backoff_coefficient":2,)"
            R"("max_interval":"PT300S","jitter":true,"non_retryable_errors":[],)"
            R"("on_exhaustion":"discard"})");
  EXPECT_EQ(spec_of(*parse(with_options("{}"))).retry_text, "");
}

// The default is the dead letter list; only `discard` discards.
TEST(ParseRetry, WhatIsExhaustedIsDeadUnlessItSaidDiscard) {
  auto fate = [](const std::string& retry) {
    auto doc = json::parse(retry);
    return parse_retry(doc->root())->on_exhaustion;
  };
  EXPECT_EQ(fate("{}"), OnExhaustion::DeadLetter);
  EXPECT_EQ(fate(R"({"max_attempts":1})"), OnExhaustion::DeadLetter);
  EXPECT_EQ(fate(R"({"on_exhaustion":"discard"})"), OnExhaustion::Discard);
  EXPECT_EQ(RetryPolicy::standard().on_exhaustion, OnExhaustion::DeadLetter);
}

TEST(ParseJob, DefaultsHoldWhereTheEnvelopeSaysNothing) {
  auto defaults = json::parse(R"({"queue":"night","priority":7})");
  auto outer = json::parse(R"({"priority":3,"tags":["x"]})");
  auto doc = json::parse(R"({"type":"a.b","args":[],"options":{"queue":"mine"}})");
  auto job = parse_job(
      doc->root(), {.now_ms = kNow, .tenant = "", .defaults = {defaults->root(), outer->root()}});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->queue, "mine");
  EXPECT_EQ(job->priority, 7);
  EXPECT_EQ(spec_of(*job).tags, R"(["x"])");
  EXPECT_EQ(spec_of(*job).options, R"({"queue":"mine","priority":7,"tags":["x"]})");
}

TEST(ParseRetry, RefusesWith422AndTheMembersName) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"max_attempts":-1})", "max_attempts"},
      {R"({"max_attempts":"3"})", "max_attempts"},
      {R"({"initial_interval":"1s"})", "initial_interval"},
      {R"({"initial_interval_ms":-5})", "initial_interval_ms"},
      {R"({"backoff_coefficient":0.5})", "backoff_coefficient"},
      {R"({"backoff_strategy":"magic"})", "backoff_strategy"},
      {R"({"jitter":"yes"})", "jitter"},
      {R"({"on_exhaustion":"explode"})", "on_exhaustion"},
      {R"({"non_retryable_errors":[1]})", "non_retryable_errors"},
  };
  for (const auto& [retry, member] : kCases) {
    std::string found = verdict(with_options(R"({"retry":)" + std::string(retry) + "}"));
    EXPECT_EQ(found.substr(0, 4), "422 ") << retry;
    EXPECT_NE(found.find(member), std::string::npos) << found;
  }
}

std::string key_of(const std::string& args, const std::string& unique, const char* type = "a",
                   std::string_view tenant = "") {
  auto job = parse(R"({"type":")" + std::string(type) + R"(","args":)" + args +
                       R"(,"meta":{"m":1,"n":2},"options":{"unique":)" + unique + "}}",
                   tenant);
  PAWL_CHECK(job.ok());
  return job->unique.key;
}

TEST(UniqueKey, DependsOnWhatItNamesAndOnNothingElse) {
  std::string plain = key_of(R"([{"a":1,"b":2}])", "{}");
  EXPECT_EQ(plain, key_of(R"([ {"b":2.0, "a":1} ])", "{}"));
  EXPECT_NE(plain, key_of(R"([{"a":1,"b":3}])", "{}"));
  EXPECT_NE(plain, key_of(R"([{"a":1,"b":2}])", "{}", "b"));
  EXPECT_NE(plain, key_of(R"([{"a":1,"b":2}])", "{}", "a", "acme"));
  std::string chosen = R"({"args_keys":["a"]})";
  EXPECT_EQ(key_of(R"([{"a":1,"b":2}])", chosen), key_of(R"([{"a":1,"b":9}])", chosen));
  EXPECT_NE(key_of(R"([{"a":1,"b":2}])", chosen), key_of(R"([{"a":2,"b":2}])", chosen));
  EXPECT_EQ(key_of("[1]", R"({"keys":["type"]})"), key_of("[2]", R"({"keys":["type"]})"));
  EXPECT_EQ(key_of("[1]", R"({"meta_keys":["m"]})"), key_of("[2]", R"({"meta_keys":["m"]})"));
}

// `key` means parts of the envelope if its entries name such parts, else members of the arguments.
TEST(UniqueKey, KeyIsEitherOfThem) {
  std::string args = R"([{"a":1,"type":2}])";
  EXPECT_EQ(key_of(args, R"({"key":["type","args"]})"),
            key_of(args, R"({"keys":["type","args"]})"));
  EXPECT_EQ(key_of(args, R"({"key":["a"]})"), key_of(args, R"({"args_keys":["a"]})"));
  EXPECT_EQ(key_of(args, R"({"key":["type","a"]})"), key_of(args, R"({"args_keys":["type","a"]})"));
  EXPECT_EQ(key_of(args, R"({"key":[]})"), key_of(args, "{}"));
  EXPECT_EQ(key_of(args, R"({"key":["type","meta"],"meta_keys":["m"]})"),
            key_of(args, R"({"keys":["type","meta"],"meta_keys":["m"]})"));
}

TEST(UniqueKey, RefusesWhatItDoesNotKnow) {
  for (const char* unique :
       {R"(7)", R"({"keys":["type","tpye"]})", R"({"keys":["meta"]})", R"({"key":["type","meta"]})",
        R"({"key":"a"})", R"({"key":[1]})", R"({"states":["asleep"]})", R"({"states":[]})",
        R"({"period":"soon"})", R"({"on_conflict":"fight"})", R"({"keys":"args"})"})
    EXPECT_EQ(verdict(with_options(R"({"unique":)" + std::string(unique) + "}")).substr(0, 4),
              "422 ")
        << unique;
}

}  // namespace
}  // namespace pawl
