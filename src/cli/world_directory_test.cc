#include "cli/world_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pawl::cli {
namespace {

// A folder with these files; its name is shown as "D" in what is said about it.
class WorldFolder {
 public:
  WorldFolder() {
    std::string name = ::testing::TempDir() + "pawl-world-XXXXXX";
    PAWL_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~WorldFolder() { std::filesystem::remove_all(path_); }

  WorldFolder& add(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return *this;
  }
  WorldFolder& link(const std::string& name, const std::string& target) {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::create_symlink(target, path_ / name);
    return *this;
  }

  std::string path() const { return path_.string(); }
  std::string shown(std::string text) const {
    for (size_t at = 0; (at = text.find(path_.string(), at)) != std::string::npos;)
      text.replace(at, path_.string().size(), "D");
    return text;
  }
  WorldDirectory read() const {
    auto read = WorldDirectory::read(path_.string());
    PAWL_CHECK(read.ok());
    return std::move(read).value();
  }
  std::string faults() const {
    const WorldDirectory directory = read();
    std::string all;
    for (const std::string& fault : directory.faults()) all += shown(fault) + "\n";
    return all;
  }
  std::string place(const WorldDirectory& directory, std::string_view pointer) const {
    auto place = directory.place_of(pointer);
    return shown(place.file) + ": " + place.pointer;
  }

 private:
  std::filesystem::path path_;
};

TEST(WorldDirectory, FilesAreSentInTheOrderOfTheirPaths) {
  WorldFolder folder;
  folder.add("manifest.json", R"({"air_version":"1"})")
      .add("nodes/b.json", R"([{"name":"b0"},{"name":"b1"}])")
      .add("nodes/deep/er/c.yaml", "name: c\nof: [1, 2]\n")
      .add("nodes/a.yml", "- {name: a0}\n- {name: a1}\n")
      .add("nodes/README.md", "not a node")
      .add("nodes/.a.yaml.swp", "what an editor leaves")
      .add("other.json", "no node either");
  EXPECT_EQ(folder.faults(), "");
  EXPECT_EQ(folder.read().members(),
            R"("manifest":{"air_version":"1"},"nodes":[{"name":"a0"},{"name":"a1"},{"name":"b0"},)"
            R"({"name":"b1"},{"name":"c","of":[1,2]}])");
}

TEST(WorldDirectory, AWorldWithoutNodesIsAManifest) {
  WorldFolder folder;
  folder.add("manifest.yaml", "air_version: \"1\"\n");
  EXPECT_EQ(folder.read().members(), R"("manifest":{"air_version":"1"},"nodes":[])");
}

TEST(WorldDirectory, CodeIsSentInPlaceOfItsFile) {
  WorldFolder folder;
  folder.add("manifest.json", "{}")
      .add("build/one.wasm", std::string("\0asm", 4))
      .add("nodes/a.json", R"({"$kind":"defmodule","wasm_file":"build/one.wasm","name":"m"})")
      .add("nodes/b.yaml", "$kind: defmodule\nwasm_file: ./build/../build/one.wasm\n")
      .add("nodes/c.json", R"({"$kind":"defschema","wasm_file":"x"})")
      .link("nodes/d.json", "a.json");
  EXPECT_EQ(folder.read().members(),
            R"("manifest":{},"nodes":[{"$kind":"defmodule","name":"m","wasm_b64":"AGFzbQ=="},)"
            R"({"$kind":"defmodule","wasm_b64":"AGFzbQ=="},{"$kind":"defschema","wasm_file":"x"},)"
            R"({"$kind":"defmodule","name":"m","wasm_b64":"AGFzbQ=="}])");
}

TEST(WorldDirectory, JsonNumbersStayAsTheyAreWritten) {
  WorldFolder folder;
  folder.add("manifest.json", R"({"limits":{"fuel":18446744073709551615,"x":1.50}})");
  EXPECT_EQ(folder.read().members(),
            R"("manifest":{"limits":{"fuel":18446744073709551615,"x":1.50}},"nodes":[])");
}

TEST(WorldDirectory, EveryFaultIsToldWithFileAndLine) {
  WorldFolder folder;
  folder.add("manifest.yaml", "air_version: \"1\"\nlimits: {fuel: 1.5}\n")
      .add("nodes/a.json", "[\n  {\"name\": 1},\n  }\n]")
      .add("nodes/b.yaml", "a: 1\nb: [\n")
      .add("nodes/c.json", "[{},\n 7]")
      .add("nodes/d.json", "{\"a\":1,\n\n\"a\":2}")
      .add("nodes/e.yaml", "- {}\n- \"text\"\n")
      .add("nodes/f.yaml", "n: 18446744073709551615\n");
  std::string said = folder.faults();
  for (const char* line :
       {"D/manifest.yaml:2: not a whole number of 64 bits: 1.5; write decimals as text",
        "D/nodes/a.json:3: ", "D/nodes/b.yaml:", "D/nodes/c.json:2: a node is an object\n",
        "D/nodes/d.json:3: the member \"a\" is there twice\n",
        "D/nodes/e.yaml:2: a node is an object\n",
        "D/nodes/f.yaml:1: not a whole number of 64 bits: "})
    EXPECT_NE(said.find(line), std::string::npos) << line << "\nin\n" << said;
}

TEST(WorldDirectory, ManifestIsOneFile) {
  WorldFolder folder;
  EXPECT_EQ(folder.faults(), "D: there is no manifest.json or manifest.yaml in this folder\n");
  folder.add("manifest.json", "[]");
  EXPECT_EQ(folder.faults(), "D/manifest.json:1: a manifest is an object\n");
  folder.add("manifest.yaml", "{}");
  EXPECT_EQ(folder.faults(),
            "D/manifest.yaml: there is manifest.json too; one manifest is needed\n");
  EXPECT_FALSE(WorldDirectory::read(::testing::TempDir() + "no-such-folder").ok());
}

// A folder may come from somebody else: it must not send files of the one who pushes it.
TEST(WorldDirectory, NothingOutsideIsSent) {
  WorldFolder folder;
  folder.add("manifest.json", "{}")
      .link("nodes/a.json", "gone.json")
      .link("nodes/b", "..")
      .link("loop.wasm", "loop.wasm")
      .link("out.wasm", "/etc/hostname")
      .add("nodes/c.json", R"([{"$kind":"defmodule","wasm_file":"../x.wasm"},
{"$kind":"defmodule","wasm_file":"/etc/hostname"},
{"$kind":"defmodule","wasm_file":"out.wasm"},
{"$kind":"defmodule","wasm_file":"loop.wasm"},
{"$kind":"defmodule","wasm_file":"none.wasm"},
{"$kind":"defmodule","wasm_file":"nodes"}])");
  std::string said = folder.faults();
  for (const char* line :
       {"D/nodes/a.json: cannot be read", "D/nodes/b: a link to a folder is not followed\n",
        "D/nodes/c.json:1: wasm_file is a path relative to D and stays in it, not \"../x.wasm\"\n",
        "D/nodes/c.json:2: wasm_file is a path relative to D and stays in it",
        "D/nodes/c.json:3: D/out.wasm leads out of D; only files in it are sent\n",
        "D/nodes/c.json:4: cannot read D/loop.wasm: ",
        "D/nodes/c.json:5: there is no D/none.wasm; build the module first\n",
        "D/nodes/c.json:6: D/nodes is no file\n"})
    EXPECT_NE(said.find(line), std::string::npos) << line << "\nin\n" << said;
  WorldFolder linked;
  linked.add("manifest.json", "{}").link("nodes/a.json", "/etc/hostname");
  EXPECT_EQ(linked.faults(), "D/nodes/a.json: leads out of D; only files in it are sent\n");
}

TEST(WorldDirectory, LargeFilesAreRefused) {
  WorldFolder folder;
  folder.add("manifest.json", "{}")
      .add("nodes/a.json", R"({"$kind":"defmodule","wasm_file":"big.wasm"})")
      .add("big.wasm", std::string((8u << 20) + 1, 'x'))
      .add("nodes/b.yaml", "a: " + std::string(2u << 20, 'x'));
  EXPECT_EQ(folder.faults(),
            "D/nodes/a.json:1: D/big.wasm is larger than 8 MiB\n"
            "D/nodes/b.yaml: YAML is read up to 1048576 bytes; write a definition of that size as "
            "JSON\n");
}

// Types are made before the code that is built with them.
TEST(WorldDirectory, CodeThatIsNotBuiltYetCanBeLeftOut) {
  WorldFolder folder;
  folder.add("manifest.json", "{}")
      .add("nodes/a.json", R"({"$kind":"defmodule","name":"a/m@1","wasm_file":"m.wasm"})");
  EXPECT_NE(folder.faults(), "");
  auto read = WorldDirectory::read(folder.path(), WorldDirectory::Code::Leave);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->members(),
            R"("manifest":{},"nodes":[{"$kind":"defmodule","name":"a/m@1","wasm_b64":""}])");
}

TEST(WorldDirectory, APointerLeadsBackToFileAndLine) {
  WorldFolder folder;
  folder
      .add("manifest.yaml",
           "air_version: \"1\"\nrouting:\n  subscriptions:\n    - event: a/B@1\n      module: x\n")
      .add("nodes/a.yaml",
           "- $kind: defschema\n  name: a/B@1\n- $kind: defmodule\n  abi:\n    workflow:\n      "
           "state: x\n  wasm_file: m.wasm\n")
      .add("nodes/b.json", "{\n  \"abi\": {\n   \"a/b~c\": [1,\n 2]}}")
      .add("m.wasm", "m");
  WorldDirectory directory = folder.read();
  const std::pair<const char*, const char*> kPairs[] = {
      {"/manifest/routing/subscriptions/0/module",
       "D/manifest.yaml:5: /routing/subscriptions/0/module"},
      {"/manifest/air_version", "D/manifest.yaml:1: /air_version"},
      {"/manifest/schemas", "D/manifest.yaml:1: /schemas"},
      {"/manifest", "D/manifest.yaml:1: "},
      {"/nodes/0/name", "D/nodes/a.yaml:2: /0/name"},
      {"/nodes/1/abi/workflow/state", "D/nodes/a.yaml:6: /1/abi/workflow/state"},
      {"/nodes/1/abi/workflow/event", "D/nodes/a.yaml:5: /1/abi/workflow/event"},
      {"/nodes/1/wasm_b64", "D/nodes/a.yaml:7: /1/wasm_file"},
      {"/nodes/1", "D/nodes/a.yaml:3: /1"},
      {"/nodes/2/abi/a~1b~0c/1", "D/nodes/b.json:4: /abi/a~1b~0c/1"},
      {"/nodes/2/abi/a~1b~0c/7", "D/nodes/b.json:3: /abi/a~1b~0c/7"},
      {"/nodes/3", ": /nodes/3"},
      {"/nodes", ": /nodes"},
      {"/name", ": /name"},
      {"", ": "}};
  for (const auto& [pointer, place] : kPairs)
    EXPECT_EQ(folder.place(directory, pointer), place) << pointer;
}

}  // namespace
}  // namespace pawl::cli
