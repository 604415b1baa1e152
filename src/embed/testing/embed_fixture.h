// Support for the library's tests: a directory, quiet options, and waiting without clocks.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "base/value.h"
#include "pawl/engine.h"

namespace pawl::embed {

constexpr std::chrono::seconds kLong{60};  // never reached unless something is broken

class EmbedTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  EngineOptions durable() const;
  static EngineOptions in_memory();
  std::string file_of(const std::string& instance) const;

  std::string directory_;
};

// Closed until opened.
class Gate {
 public:
  void open();
  // False if it stayed closed.
  bool pass();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

Value parsed(const std::string& json);

// The message of the WorkflowError that a call ends in; "" if it does not.
std::string refusal(auto call) {
  try {
    call();
  } catch (const WorkflowError& error) {
    return error.what();
  }
  return "";
}

// A workflow of one capability.
std::string one_step(const std::string& id, const std::string& capability,
                     const std::string& more = "");

}  // namespace pawl::embed
