// The sample worlds of examples/worlds: their manifests are what a server takes, whether or not
// this machine can build or run their modules.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/world_directory.h"
#include "rehearse/worlds/world_test_file.h"
#include "worlds/program.h"
#include "worlds/testing/judging_host.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sample_worlds() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator("examples/worlds"))
    if (entry.path().filename() == "manifest.yaml") found.push_back(entry.path().parent_path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A copy of a sample, with a file in the place of each of its modules.
class SampleCopy {
 public:
  explicit SampleCopy(const fs::path& sample)
      : path_(fs::path(::testing::TempDir()) / ("sample-" + sample.filename().string())) {
    fs::remove_all(path_);
    fs::copy(sample, path_, fs::copy_options::recursive);
    for (const auto& entry : fs::directory_iterator(sample))
      if (entry.path().extension() == ".cc")
        std::ofstream(path_ / entry.path().filename().replace_extension(".wasm")) << "code";
  }
  ~SampleCopy() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(WorldSamples, TheirManifestsAreValid) {
  const std::vector<fs::path> samples = sample_worlds();
  ASSERT_GE(samples.size(), 9u);
  for (const fs::path& sample : samples) {
    const SampleCopy copy(sample);
    const auto directory = cli::WorldDirectory::read(copy.path().string());
    ASSERT_TRUE(directory.ok()) << sample;
    ASSERT_EQ(directory->faults(), std::vector<std::string>{}) << sample;
    const std::string members = "{" + directory->members() + "}";
    const auto doc = json::parse(members);
    ASSERT_TRUE(doc.ok());
    worlds::JudgingHost host;
    const auto nothing = [](std::string_view) { return std::optional<std::string>(); };
    const auto text = worlds::read_program(doc->root().find("manifest"), doc->root().find("nodes"),
                                           nothing, nothing, host);
    ASSERT_TRUE(text.ok()) << sample;
    EXPECT_EQ(text->faults, std::vector<Complaint>{}) << sample;
    EXPECT_EQ(text->warnings, std::vector<Complaint>{}) << sample;
  }
}

TEST(WorldSamples, EverySampleHasATestThatReads) {
  for (const fs::path& sample : sample_worlds()) {
    if (sample.filename() == "v2") continue;  // the test of v1 applies it
    size_t cases = 0;
    for (const auto& entry : fs::directory_iterator(sample / "tests")) {
      const auto read = rehearse::read_world_test_file(text_of_file(entry.path()));
      EXPECT_TRUE(read.valid()) << entry.path() << ": "
                                << (read.valid() ? "" : read.errors[0].message);
      cases += read.file.steps.size() + read.file.worlds.size();
    }
    EXPECT_GT(cases, 0u) << sample;
  }
}

}  // namespace
}  // namespace pawl
