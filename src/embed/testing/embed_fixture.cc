#include "embed/testing/embed_fixture.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pawl::embed {

void EmbedTest::SetUp() {
  std::string name = (std::filesystem::temp_directory_path() / "pawl-embed-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  directory_ = name;
}

void EmbedTest::TearDown() { std::filesystem::remove_all(directory_); }

EngineOptions EmbedTest::durable() const {
  EngineOptions options;
  options.data_dir = directory_ + "/data";
  options.monitoring.log_executions = false;
  return options;
}

EngineOptions EmbedTest::in_memory() {
  EngineOptions options;
  options.persistence = false;
  options.monitoring.log_executions = false;
  return options;
}

std::string EmbedTest::file_of(const std::string& instance) const {
  std::ifstream file(directory_ + "/data/" + instance + ".json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Gate::open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

bool Gate::pass() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kLong, [&] { return open_; });
}

Value parsed(const std::string& json) {
  auto value = Value::parse(json);
  EXPECT_TRUE(value.ok()) << json;
  return value.ok() ? std::move(value).value() : Value();
}

std::string one_step(const std::string& id, const std::string& capability,
                     const std::string& more) {
  return R"({"workflow_id":")" + id + R"(","steps":[{"step_id":"only","step_type":"capability",)" +
         R"("parameters":{"capability_id":")" + capability + R"(","params":{}})" +
         (more.empty() ? "" : "," + more) + "}]}";
}

}  // namespace pawl::embed
