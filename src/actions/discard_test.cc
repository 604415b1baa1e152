#include "actions/discard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <set>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

namespace fs = std::filesystem;

// The entries, links not followed: "run/a.txt run/sub".
std::string listed(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    names.insert(entry.path().string().substr(directory.size() + 1));
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

void finish(Discard& discard) {
  while (discard.step(3)) {
  }
}

TEST(Discard, LinksAreRemovedAndNotFollowed) {
  TestDirectory outside, root;
  outside.write("precious/file", "x");
  root.write("run/sub/file", "y");
  fs::create_directory_symlink(outside.path(), root.at("run/out"));
  fs::create_directory_symlink(outside.at("precious"), root.at("run/sub/out"));
  fs::create_symlink(outside.at("precious/file"), root.at("run/sub/file-out"));
  fs::create_symlink("nowhere", root.at("run/dangling"));
  root.write("other/file", "z");
  Discard discard(root.path());
  ASSERT_TRUE(discard.take("run").ok());
  EXPECT_FALSE(fs::exists(root.at("run")));  // at once, before anything is removed
  finish(discard);
  EXPECT_EQ(listed(root.path()), ".gone other other/file");
  EXPECT_EQ(listed(outside.path()), "precious precious/file");
}

TEST(Discard, OnlyADirectoryOfTheRootIsTaken) {
  TestDirectory outside, root;
  outside.write("file", "x");
  fs::create_directory_symlink(outside.path(), root.at("link"));
  root.write("file", "y");
  root.write("a/b/file", "z");
  Discard discard(root.path());
  for (const char* name : {"link", "file", "none", "", ".", "..", "a/b", "/"})
    EXPECT_FALSE(discard.take(name).ok()) << name;
  finish(discard);
  EXPECT_EQ(listed(root.path()), "a a/b a/b/file file link");
  EXPECT_EQ(listed(outside.path()), "file");
}

// A link instead of .gone would redirect the removal elsewhere.
TEST(Discard, ALinkInThePlaceOfItsOwnDirectoryIsRefused) {
  TestDirectory outside, root;
  outside.write("file", "x");
  root.write("run/file", "y");
  fs::create_directory_symlink(outside.path(), root.at(Discard::kPlace));
  Discard discard(root.path());
  EXPECT_FALSE(discard.take("run").ok());
  finish(discard);
  EXPECT_EQ(listed(outside.path()), "file");
  EXPECT_EQ(root.read("run/file"), "y");
}

TEST(Discard, AnyDepthAnyModeAndABoundedNumberAtATime) {
  TestDirectory root;
  std::string deep = "run";
  for (int i = 0; i < 300; ++i) deep += "/d";
  root.write(deep + "/file", "x");
  for (int i = 0; i < 50; ++i) root.write("run/" + std::to_string(i), "x");
  root.write("run/locked/inner/file", "x");
  ASSERT_EQ(::chmod(root.at("run/locked/inner").c_str(), 0), 0);
  ASSERT_EQ(::chmod(root.at("run/locked").c_str(), 0), 0);
  Discard discard(root.path());
  ASSERT_TRUE(discard.take("run").ok());
  EXPECT_TRUE(discard.step(10));
  EXPECT_GE(std::distance(fs::recursive_directory_iterator(root.path()), {}), 300);
  // Another process continues where this one stopped.
  Discard next(root.path());
  finish(next);
  EXPECT_EQ(listed(root.path()), ".gone");
}

}  // namespace
}  // namespace pawl::actions
