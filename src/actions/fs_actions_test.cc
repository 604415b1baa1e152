#include "actions/fs_actions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "actions/file_tree.h"
#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

namespace fs = std::filesystem;

class FsActions : public ::testing::Test {
 protected:
  ActionOutcome act(const std::string& name, const char* params) { return act(name, json(params)); }
  ActionOutcome act(const std::string& name, Value params) {
    ActionRequest request;
    request.name = name;
    request.params = std::move(params);
    request.work_directory = work_.path();
    StopSignal stop;
    return run_fs_action(request, policy_, stop);
  }
  std::string told(const std::string& name, const std::string& params) {
    return story(act(name, json(params)));
  }
  std::string listing(const std::string& params) {
    ActionOutcome outcome = act("fs.list", json(params));
    if (!outcome.ok) return story(outcome);
    std::string out;
    for (const Value& entry : outcome.output.find("entries")->as_array())
      out += entry.find("path")->as_string().substr(work_.path().size() + 1) +
             (entry.find("is_dir")->as_bool() ? "/ " : " ");
    return out;
  }

  TestDirectory work_, outside_;
  ActionPolicy policy_;
};

TEST_F(FsActions, WritesReadsAndAppends) {
  EXPECT_EQ(told("fs.write", R"({"path":"a.txt","content":"hällo"})"),
            R"({"path":")" + work_.at("a.txt") + R"(","size":6})");
  EXPECT_EQ(told("fs.append", R"({"path":"a.txt","content":"!"})"),
            R"({"path":")" + work_.at("a.txt") + R"(","size":7})");
  EXPECT_EQ(told("fs.read", R"({"path":"./x/../a.txt"})"), "PATH_DENIED");
  EXPECT_EQ(
      told("fs.read", R"({"path":"a.txt"})"),
      R"({"path":")" + work_.at("a.txt") + R"(","content":"hällo!","encoding":"text","size":7})");
  EXPECT_EQ(told("fs.write", R"({"path":"o.json","content":{"a":1}})"),
            R"({"path":")" + work_.at("o.json") + R"(","size":7})");
  EXPECT_EQ(work_.read("o.json"), R"({"a":1})");
  EXPECT_EQ(told("fs.read", R"({"path":"none"})"), "NOT_FOUND");
  EXPECT_EQ(told("fs.read", R"({"path":"."})"), "VALIDATION_ERROR");
}

TEST_F(FsActions, ReadsBytesAsBase64) {
  work_.write("nul", std::string("a\0b", 3));
  work_.write("latin", "\xe4");
  auto read = [&](const std::string& params) {
    ActionOutcome outcome = act("fs.read", json(params));
    return outcome.ok ? outcome.output.find("content")->as_string() + " " +
                            outcome.output.find("encoding")->as_string()
                      : story(outcome);
  };
  EXPECT_EQ(read(R"({"path":"nul"})"), "YQBi base64");
  EXPECT_EQ(read(R"({"path":"latin"})"), "5A== base64");
  EXPECT_EQ(read(R"({"path":"latin","encoding":"text"})"), "VALIDATION_ERROR");
  work_.write("plain", "x");
  EXPECT_EQ(read(R"({"path":"plain","encoding":"base64"})"), "eA== base64");
}

TEST_F(FsActions, AWriteIsWholeAndLeavesNothingBeside) {
  work_.write("f", "old");
  fs::permissions(work_.at("f"), fs::perms(0600));
  EXPECT_TRUE(act("fs.write", R"({"path":"f","content":"new"})").ok);
  struct stat info;
  ASSERT_EQ(::stat(work_.at("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);  // its mode is kept
  EXPECT_TRUE(act("fs.write", R"({"path":"f","content":"x","mode":"0640"})").ok);
  ASSERT_EQ(::stat(work_.at("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(told("fs.write", R"({"path":"f","content":"x","mode":2541})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("fs.write", R"({"path":"no/f","content":"x"})"), "NOT_FOUND");
  EXPECT_TRUE(act("fs.write", R"({"path":"p/q/f","content":"x","create_dirs":true})").ok);
  EXPECT_EQ(told("fs.write", R"({"path":"p","content":"x"})"), "VALIDATION_ERROR");
  EXPECT_EQ(listing(R"({"path":".","recursive":true})"), "f p/ p/q/ p/q/f ");
}

TEST_F(FsActions, ListsStatsCopiesMovesAndDeletes) {
  work_.write("d/b.txt", "bb");
  work_.write("d/a.md", "a");
  work_.write("d/sub/c.txt", "ccc");
  EXPECT_EQ(listing(R"({"path":"d"})"), "d/a.md d/b.txt d/sub/ ");
  EXPECT_EQ(listing(R"({"path":"d","pattern":"*.txt","recursive":true})"), "d/b.txt d/sub/c.txt ");
  EXPECT_EQ(listing(R"({"path":"none"})"), "NOT_FOUND");
  Value info = act("fs.stat", R"({"path":"d/b.txt"})").output;
  EXPECT_EQ(info.find("size")->as_int(), 2);
  EXPECT_EQ(info.find("is_dir")->as_bool(), false);
  EXPECT_EQ(info.find("permissions")->as_string().size(), 4u);
  std::string base = R"({"src":")" + work_.path();
  EXPECT_EQ(told("fs.copy", R"({"src":"d","dst":"e/f","create_dirs":true})"),
            base + R"(/d","dst":")" + work_.at("e/f") + R"(","size":6,"is_dir":true})");
  EXPECT_EQ(work_.read("e/f/sub/c.txt"), "ccc");
  EXPECT_EQ(told("fs.copy", R"({"src":"d/a.md","dst":"e/f/b.txt"})"),
            base + R"(/d/a.md","dst":")" + work_.at("e/f/b.txt") + R"(","size":1,"is_dir":false})");
  EXPECT_EQ(work_.read("e/f/b.txt"), "a");
  EXPECT_EQ(told("fs.move", R"({"src":"e/f/b.txt","dst":"moved"})"),
            base + R"(/e/f/b.txt","dst":")" + work_.at("moved") + R"(","size":1,"is_dir":false})");
  EXPECT_EQ(work_.read("e/f/b.txt"), "(none)");
  EXPECT_EQ(told("fs.copy", R"({"src":"d","dst":"d/inside"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("fs.move", R"({"src":"none","dst":"x"})"), "NOT_FOUND");
  EXPECT_EQ(told("fs.delete", R"({"path":"d"})"), "CONFLICT");
  EXPECT_EQ(told("fs.delete", R"({"path":"d","recursive":true})"),
            R"({"path":")" + work_.at("d") + R"(","deleted":true})");
  EXPECT_TRUE(act("fs.delete", R"({"path":"d","recursive":true})").ok);  // a missing entry is fine
  EXPECT_EQ(told("fs.delete", R"({"path":"d"})"), "NOT_FOUND");
}

TEST_F(FsActions, ConfinedMeansConfined) {
  outside_.write("secret", "s");
  fs::create_symlink(outside_.at("secret"), work_.at("file_link"));
  fs::create_directory_symlink(outside_.path(), work_.at("dir_link"));
  fs::create_symlink(outside_.at("fresh"), work_.at("dangling"));
  fs::create_symlink("loop", work_.at("loop"));
  work_.write("in", "x");
  for (const std::string& path :
       {std::string("../x"), std::string("a/../../x"), outside_.at("secret"), std::string("/"),
        std::string("file_link"), std::string("dir_link/secret"), std::string("dir_link"),
        std::string("dangling"), std::string("loop"), std::string("none/../../x"),
        std::string("in\0x", 4), std::string("/proc/self/environ"), std::string(5000, 'a')}) {
    EXPECT_EQ(story(act("fs.read", Value::Object{{"path", path}})), "PATH_DENIED") << path;
    EXPECT_EQ(story(act("fs.write", Value::Object{{"path", path}, {"content", "x"}})),
              "PATH_DENIED")
        << path;
    EXPECT_EQ(story(act("fs.copy", Value::Object{{"src", path}, {"dst", "copy"}})), "PATH_DENIED");
    EXPECT_EQ(story(act("fs.copy", Value::Object{{"src", "in"}, {"dst", path}})), "PATH_DENIED");
  }
  EXPECT_EQ(outside_.read("secret") + outside_.read("fresh"), "s(none)");
  // The link itself is inside, and may be deleted.
  EXPECT_TRUE(act("fs.delete", R"({"path":"file_link"})").ok);
  EXPECT_TRUE(act("fs.delete", R"({"path":"dir_link","recursive":true})").ok);
  EXPECT_EQ(outside_.read("secret"), "s");
  EXPECT_EQ(told("fs.delete", R"({"path":".","recursive":true})"), "PATH_DENIED");
  EXPECT_EQ(told("fs.move", R"({"src":".","dst":"x"})"), "PATH_DENIED");
}

TEST_F(FsActions, LinksThatStayInsideAreFollowed) {
  work_.write("d/f", "inside");
  fs::create_symlink(work_.at("d/f"), work_.at("absolute"));
  fs::create_symlink("d", work_.at("relative"));
  EXPECT_EQ(act("fs.read", R"({"path":"absolute"})").output.find("content")->as_string(), "inside");
  EXPECT_TRUE(act("fs.write", R"({"path":"relative/f","content":"new"})").ok);
  EXPECT_EQ(work_.read("d/f"), "new");
  EXPECT_TRUE(act("fs.write", R"({"path":"absolute","content":"newer"})").ok);
  EXPECT_EQ(work_.read("d/f"), "newer");
  EXPECT_TRUE(fs::is_symlink(work_.at("absolute")));
}

TEST_F(FsActions, TheListsAreObeyed) {
  TestDirectory shared;
  shared.write("r/f", "r");
  shared.write("w/f", "w");
  shared.write("w/deny/f", "d");
  shared.write("w/fixed/f", "x");
  policy_.fs.writable = {shared.at("w")};
  policy_.fs.read_only = {shared.at("r"), shared.at("w/fixed")};
  policy_.fs.deny = {shared.at("w/deny")};
  auto with = [&](const std::string& action, const std::string& path) {
    return story(act(action, Value::Object{{"path", shared.at(path)}, {"content", "x"}}))
        .substr(0, 11);
  };
  EXPECT_EQ(with("fs.read", "r/f"), R"({"path":"/t)");
  EXPECT_EQ(with("fs.write", "r/f"), "PATH_DENIED");
  EXPECT_EQ(with("fs.write", "w/f"), R"({"path":"/t)");
  EXPECT_EQ(with("fs.read", "w/fixed/f"), R"({"path":"/t)");
  EXPECT_EQ(with("fs.write", "w/fixed/f"), "PATH_DENIED");
  EXPECT_EQ(with("fs.read", "w/deny/f"), "PATH_DENIED");
  EXPECT_EQ(with("fs.read", "w"), "VALIDATION_");
  EXPECT_EQ(with("fs.read", "wrong"), "PATH_DENIED");
  // A tree with a protected entry cannot be deleted, moved or copied as a whole.
  fs::create_directories(shared.at("w/t"));
  policy_.fs.deny = {shared.at("w/t/deny")};
  shared.write("w/t/deny/f", "d");
  shared.write("w/t/g", "g");
  EXPECT_EQ(with("fs.delete", "w/t"), "PATH_DENIED");
  EXPECT_EQ(story(act("fs.move", Value::Object{{"src", shared.at("w/t")}, {"dst", "here"}})),
            "PATH_DENIED");
  EXPECT_EQ(story(act("fs.copy", Value::Object{{"src", shared.at("w/t")}, {"dst", "here"}})),
            "PATH_DENIED");
  EXPECT_EQ(work_.read("here/deny/f"), "(none)");
  ActionOutcome list =
      act("fs.list", Value::Object{{"path", shared.at("w/t")}, {"recursive", true}});
  EXPECT_EQ(list.output.find("entries")->as_array().size(), 1u);
  // `deny` also holds without confinement.
  policy_.fs.confined = false;
  EXPECT_EQ(with("fs.read", "w/t/deny/f"), "PATH_DENIED");
  EXPECT_EQ(with("fs.write", "r/f"), "PATH_DENIED");
  EXPECT_EQ(with("fs.read", "w/t/g"), R"({"path":"/t)");
}

// As many "/.." as lead from the current directory to the root.
std::string up_to_root() {
  std::string up;
  for (fs::path at = fs::current_path(); at != at.root_path(); at = at.parent_path()) up += "/..";
  return up;
}

// A data directory inside a writable directory stays closed.
TEST_F(FsActions, WhatIsSealedStaysSo) {
  TestDirectory root;
  root.write("data/vault.key", "key");
  root.write("data/work/other/f", "theirs");
  root.write("data/work/own/f", "mine");
  root.write("g", "g");
  fs::create_symlink(root.at("data/vault.key"), root.at("link"));
  fs::create_directory_symlink(root.at("data"), root.at("dir_link"));
  fs::create_hard_link(root.at("data/vault.key"), root.at("hard_link"));
  policy_.fs.writable = {root.path(), "/proc", "/"};
  policy_.fs.off_limits = {root.at("data")};
  auto with = [&](const std::string& action, const std::string& path) {
    ActionRequest request;
    request.name = action;
    request.params = Value::Object{{"path", path},
                                   {"content", "x"},
                                   {"src", path},
                                   {"dst", root.at("stolen")},
                                   {"recursive", true}};
    request.work_directory = root.at("data/work/own");
    StopSignal stop;
    ActionOutcome outcome = run_fs_action(request, policy_, stop);
    return outcome.ok ? "done" : outcome.code;
  };
  for (const std::string& path :
       {root.at("data/vault.key"), root.at("data"), root.at("data/work/other/f"), root.at("link"),
        root.at("data/work"), root.at("dir_link/vault.key"), root.at("hard_link"),
        std::string("../../vault.key"), std::string("../other/f"),
        "/proc/self/root" + root.at("data/vault.key"),
        "/proc/self/cwd" + up_to_root() + root.at("data/vault.key"), std::string("/proc/self/mem"),
        std::string("/proc/thread-self/environ"), "/proc/" + std::to_string(::getpid()) + "/maps"})
    for (const char* action : {"fs.read", "fs.append", "fs.copy", "fs.list", "fs.stat"})
      EXPECT_EQ(with(action, path), "PATH_DENIED") << action << " " << path;
  for (const char* action : {"fs.write", "fs.delete", "fs.move"}) {
    EXPECT_EQ(with(action, root.at("data/vault.key")), "PATH_DENIED") << action;
    EXPECT_EQ(with(action, root.at("data/work/other/f")), "PATH_DENIED") << action;
  }
  EXPECT_EQ(with("fs.delete", root.path()), "PATH_DENIED");  // it contains off_limits entries
  EXPECT_EQ(with("fs.move", root.path()), "PATH_DENIED");
  EXPECT_EQ(with("fs.read", root.at("g")), "done");
  EXPECT_EQ(with("fs.read", "f"), "done");
  EXPECT_EQ(with("fs.read", root.at("data/work/own/f")), "done");
  EXPECT_EQ(root.read("data/vault.key") + root.read("stolen"), "key(none)");
}

TEST_F(FsActions, SpecialFilesDoNotHoldTheThread) {
  ASSERT_EQ(::mkfifo(work_.at("fifo").c_str(), 0600), 0);
  EXPECT_EQ(told("fs.read", R"({"path":"fifo"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("fs.write", R"({"path":"fifo","content":"x"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told("fs.copy", R"({"src":"fifo","dst":"x"})"), "VALIDATION_ERROR");
}

TEST_F(FsActions, LimitsAreErrors) {
  policy_.output_bytes_max = 10;
  work_.write("fits", "0123456789");
  work_.write("large", "0123456789x");
  EXPECT_TRUE(act("fs.read", R"({"path":"fits"})").ok);
  EXPECT_EQ(told("fs.read", R"({"path":"large"})"), "NON_RETRYABLE");
  EXPECT_EQ(story(act("fs.write", Value::Object{{"path", "x"},
                                                {"content", std::string(kFileBytesMax + 1, 'x')}})),
            "NON_RETRYABLE");
  EXPECT_EQ(work_.read("x"), "(none)");
}

TEST_F(FsActions, CancelledWorkStops) {
  work_.write("d/f", "x");
  ActionRequest request;
  request.work_directory = work_.path();
  StopSignal stop;
  stop.raise();
  for (const char* name : {"fs.read", "fs.list", "fs.copy", "fs.delete"}) {
    request.name = name;
    request.params = json(R"({"path":"d","src":"d","dst":"e","recursive":true})");
    if (request.name == "fs.read") request.params = json(R"({"path":"d/f"})");
    EXPECT_EQ(story(run_fs_action(request, policy_, stop)), "CANCELLED") << name;
  }
  EXPECT_EQ(work_.read("d/f"), "x");
}

// A thread repeatedly swaps a directory for a link to the outside while files are written and read
// through it. Every write stays inside or is refused.
TEST_F(FsActions, ALinkPutInBetweenIsNotFollowed) {
  outside_.write("f", "secret");
  work_.write("d/f", "mine");
  fs::create_directory_symlink(outside_.path(), work_.at("evil"));
  std::atomic<bool> over{false};
  std::thread swapper([&] {
    while (!over)
      ::renameat2(AT_FDCWD, work_.at("d").c_str(), AT_FDCWD, work_.at("evil").c_str(),
                  RENAME_EXCHANGE);
  });
  int written = 0, refused = 0;
  for (int i = 0; i < 3000 || written == 0 || refused == 0; ++i) {
    ActionOutcome write = act("fs.write", R"({"path":"d/f","content":"mine"})");
    written += write.ok;
    refused += write.code == "PATH_DENIED";
    ActionOutcome read = act("fs.read", R"({"path":"d/f"})");
    if (read.ok && read.output.find("content")->as_string() != "mine") {
      ADD_FAILURE() << "read outside after " << i;
      break;
    }
    act("fs.append", R"({"path":"d/g","content":"g"})");
    act("fs.delete", R"({"path":"d/g"})");
  }
  over = true;
  swapper.join();
  EXPECT_EQ(outside_.read("f"), "secret");
  EXPECT_EQ(outside_.read("g"), "(none)");
}

}  // namespace
}  // namespace pawl::actions
