#include "runtime/runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernel/frame.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"

namespace pawl {
namespace {

class RuntimeTest : public ::testing::Test {
 protected:
  ~RuntimeTest() override { std::filesystem::remove_all(place_); }

  RuntimeSetup on_disk() const {
    RuntimeSetup setup;
    setup.data_dir = place_ + "/data";
    setup.vault_key = setup.data_dir + "/vault.key";
    setup.threads = 1;
    return setup;
  }
  static Status put(Runtime& runtime, const std::string& key) {
    return runtime.decide([&](Frame& frame) {
      put_doc(frame, DocKind::Definition, key, "x");
      return ok_status();
    });
  }
  static bool has(Runtime& runtime, const std::string& key) {
    bool found = false;
    Status read = runtime.decide([&](Frame& frame) {
      found = frame.state().find_doc(DocKind::Definition, key) != nullptr;
      return ok_status();
    });
    return read.ok() && found;
  }

  const std::string place_ = testing::TempDir() + "pawl_runtime_" + std::to_string(::getpid());
};

TEST_F(RuntimeTest, WhatWasDecidedIsThereInTheNextOne) {
  {
    Runtime runtime(on_disk());
    ASSERT_TRUE(runtime.open().ok());
    EXPECT_EQ(runtime.records_found(), 0u);
    EXPECT_TRUE(put(runtime, "a").ok());
    EXPECT_NE(runtime.vault(), nullptr);
  }
  Runtime runtime(on_disk());
  ASSERT_TRUE(runtime.open().ok());
  EXPECT_TRUE(has(runtime, "a"));
  EXPECT_GT(runtime.records_found(), 0u);
}

// The cause of a failed open may be gone the next time; added actions stay.
TEST_F(RuntimeTest, OpeningMayBeTriedAgain) {
  std::filesystem::create_directories(place_);
  std::ofstream(place_ + "/data") << "in the way";
  Runtime runtime(on_disk());
  actions::ActionInfo own;
  own.name = "own.act";
  auto nothing = [](const actions::ActionRequest&) { return actions::ActionOutcome{}; };
  ASSERT_TRUE(runtime.runner().add(own, nothing).ok());
  EXPECT_EQ(runtime.open().error().code, ErrorCode::StoreFailed);
  std::filesystem::remove(place_ + "/data");
  EXPECT_TRUE(runtime.open().ok());
  EXPECT_TRUE(put(runtime, "a").ok() && has(runtime, "a"));
  EXPECT_EQ(runtime.runner().add(own, nothing).error().code, ErrorCode::Conflict);
}

TEST_F(RuntimeTest, OnlyOneHasTheDirectory) {
  const auto own = [&] {
    RuntimeSetup setup = on_disk();
    setup.owner_only = true;
    return setup;
  };
  Runtime first(own());
  ASSERT_TRUE(first.open().ok());
  EXPECT_EQ(std::filesystem::status(on_disk().data_dir).permissions(),
            std::filesystem::perms::owner_all);
  Runtime second(own());
  EXPECT_FALSE(second.open().ok());
  EXPECT_TRUE(put(first, "a").ok());
}

}  // namespace
}  // namespace pawl
