#include "effects/work_directories.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "actions/testing/action_world.h"
#include "api/testing/api_world.h"
#include "effects/effect_dispatcher.h"
#include "kernel/scripts/run.h"

namespace pawl::api {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kDayMs = 24LL * 3600 * 1000;

// A server whose runs use a directory of the test.
class WorkDirectoriesTest : public ::testing::Test {
 protected:
  void open(uint16_t partitions = 1) {
    runner_ = std::make_unique<actions::ActionRunner>(actions::ActionPolicy{}, 2);
    effects_ = std::make_unique<EffectDispatcher>(
        *runner_, nullptr, WorkRoot{.path = root_.path(), .partitions = partitions});
    world_ = std::make_unique<ApiWorld>(AppConfig{}, disk_, effects_.get());
    effects_->attach(*world_->engine);
  }
  void close() {
    effects_->stop();
    world_.reset();
    runner_.reset();
    effects_.reset();
  }
  // A run that writes a file in its directory, and then ends or waits. Returns the directory's
  // name.
  std::string run(const std::string& id, const std::string& more = "") {
    world_->body("POST", "/v1/runs",
                 R"({"id":")" + id + R"(","definition":{"name":"d","steps":[)" +
                     R"({"id":"w","action":"fs.write","params":{"path":"f","content":"x"}})" +
                     more + "]}}");
    std::string wanted = more.empty() ? "completed" : "suspended";
    while (text_of(world_->body("GET", "/v1/runs/" + id), "status") != wanted)
      std::this_thread::yield();
    std::set<std::string> now = names();
    for (const std::string& name : now)
      if (!seen_.contains(name)) return *seen_.insert(name).first;
    return "";
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(root_.path()))
      all.insert(entry.path().filename().string());
    all.erase(actions::Discard::kPlace);
    return all;
  }
  bool gone(const std::string& name) const {
    while (fs::exists(root_.at(name))) std::this_thread::yield();
    return true;
  }
  bool nothing_left() const {
    while (!fs::is_empty(root_.at(actions::Discard::kPlace))) std::this_thread::yield();
    return true;
  }

  actions::TestDirectory root_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<actions::ActionRunner> runner_;
  std::unique_ptr<EffectDispatcher> effects_;
  std::unique_ptr<ApiWorld> world_;
  std::set<std::string> seen_;
};

const char* const kWait =
    R"(,{"id":"s","type":"wait","config":{"signal":"go"},"depends_on":["w"]})";

TEST_F(WorkDirectoriesTest, ADirectoryGoesWhenItsRunIsForgottenAndNotBefore) {
  open();
  std::string over = run("over");
  std::string waiting = run("waiting", kWait);
  EXPECT_EQ(root_.read(over + "/f") + root_.read(waiting + "/f"), "xx");
  world_->advance(6 * kDayMs);
  std::string young = run("young");
  EXPECT_EQ(names(), (std::set<std::string>{over, waiting, young}));
  world_->advance(2 * kDayMs);
  EXPECT_TRUE(gone(over) && nothing_left());
  EXPECT_EQ(world_->call("GET", "/v1/runs/over").substr(9, 3), "404");
  EXPECT_EQ(names(), (std::set<std::string>{waiting, young}));
  // Its id may be used again; the files of the first run are gone.
  seen_ = names();
  EXPECT_EQ(run("over"), over);
  EXPECT_EQ(names(), (std::set<std::string>{over, waiting, young}));
  close();
}

TEST_F(WorkDirectoriesTest, TheDirectoriesOfOtherPartitionsAreLeftAlone) {
  const std::string ours = "0190f5fe-7c00-7a00-8000-012345670002";
  const std::string others = "0190f5fe-7c00-7a00-8000-012345670003";
  root_.write(ours + "/f", "x");
  root_.write(others + "/f", "x");
  open(2);
  EXPECT_TRUE(gone(ours) && nothing_left());
  EXPECT_EQ(names(), (std::set<std::string>{others}));
  close();
}

TEST_F(WorkDirectoriesTest, WhatACrashLeftIsSweptAndNothingElse) {
  open();
  std::string kept = run("kept");
  close();
  const std::string left = "0190f5fe-7c00-7a00-8000-0123456789ab";
  const std::string linked = "0190f5fe-7c00-7a00-8000-0123456789ac";
  const std::string file = "0190f5fe-7c00-7a00-8000-0123456789ad";
  actions::TestDirectory outside;
  outside.write("precious", "x");
  root_.write(left + "/sub/f", "x");
  root_.write("somebody's/f", "x");
  root_.write(std::string(actions::Discard::kPlace) + "/half/f", "x");
  root_.write(file, "x");
  fs::create_directory_symlink(outside.path(), root_.at(linked));
  open();
  EXPECT_TRUE(gone(left) && nothing_left());
  EXPECT_EQ(names(), (std::set<std::string>{kept, linked, file, "somebody's"}));
  EXPECT_EQ(outside.read("precious") + root_.read(kept + "/f"), "xx");
  close();
}

TEST_F(WorkDirectoriesTest, APlaceOfAStoreInMemoryIsItsOwnAndGoesWithIt) {
  WorkRoot root = WorkRoot::in("");
  EXPECT_NE(root.path, WorkRoot::in("").path);
  {
    WorkDirectories directories(root);
    std::string made = directories.open(*RunId::parse("0190f5fe-7c00-7a00-8000-0123456789ab"));
    EXPECT_TRUE(fs::is_directory(made));
    EXPECT_EQ(fs::status(root.path).permissions(), fs::perms::owner_all);
  }
  EXPECT_FALSE(fs::exists(root.path));
}

}  // namespace
}  // namespace pawl::api
