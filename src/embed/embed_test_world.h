// Support for the library's tests: a directory, quiet options, and waiting without clocks. Test
// code.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>

#include "base/value.h"
#include "pawl/engine.h"

namespace pawl::embed {

constexpr std::chrono::seconds kLong{60};  // never reached unless something is broken

class EmbedTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "pawl-embed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  EngineOptions durable() const {
    EngineOptions options;
    options.data_dir = directory_ + "/data";
    options.monitoring.log_executions = false;
    return options;
  }
  static EngineOptions in_memory() {
    EngineOptions options;
    options.persistence = false;
    options.monitoring.log_executions = false;
    return options;
  }
  std::string file_of(const std::string& instance) const {
    std::ifstream file(directory_ + "/data/" + instance + ".json");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string directory_;
};

// Closed until opened.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // False if it stayed closed.
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

inline Value parsed(const std::string& json) {
  auto value = Value::parse(json);
  EXPECT_TRUE(value.ok()) << json;
  return value.ok() ? std::move(value).value() : Value();
}

// The message of the WorkflowError that a call ends in; "" if it does not.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const WorkflowError& error) {
    return error.what();
  }
  return "";
}

// A workflow of one capability.
inline std::string one_step(const std::string& id, const std::string& capability,
                            const std::string& more = "") {
  return R"({"workflow_id":")" + id + R"(","steps":[{"step_id":"only","step_type":"capability",)" +
         R"("parameters":{"capability_id":")" + capability + R"(","params":{}})" +
         (more.empty() ? "" : "," + more) + "}]}";
}

}  // namespace pawl::embed
