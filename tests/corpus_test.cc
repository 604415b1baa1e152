// Every input kept under tests/corpus, through its fuzzer's entry point, in every build: what once
// broke something must not break it again, and no clang is needed to see that.
//
// corpus_test DIR: DIR holds one directory per fuzzer, named like it. A fuzzer without inputs and a
// directory without a fuzzer are failures too. Prints "N passed, N failed".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "corpus_fuzzers.h"  // made by CMake: PAWL_FUZZER(name) for each

#define PAWL_FUZZER(name) extern "C" int name##_one_input(const uint8_t*, size_t);
PAWL_FUZZERS
#undef PAWL_FUZZER

namespace {

using Fuzzer = int (*)(const uint8_t*, size_t);

std::map<std::string, Fuzzer> all_fuzzers() {
#define PAWL_FUZZER(name) {#name, name##_one_input},
  return {PAWL_FUZZERS};
#undef PAWL_FUZZER
}

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

int replay(const std::string& name, Fuzzer fuzzer, const std::filesystem::path& directory) {
  int count = 0;
  for (const auto& path : entries_of(directory)) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    // A crash must say which input it was.
    std::fprintf(stderr, "%s %s\n", name.c_str(), path.filename().c_str());
    fuzzer(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path root = argv[1];
  const std::map<std::string, Fuzzer> fuzzers = all_fuzzers();
  int passed = 0;
  int failed = 0;
  for (const auto& [name, fuzzer] : fuzzers) {
    const int count = replay(name, fuzzer, root / name);
    passed += count;
    if (count > 0) continue;
    ++failed;
    std::fprintf(stderr, "%s has no inputs\n", name.c_str());
  }
  for (const auto& path : entries_of(root)) {
    if (fuzzers.count(path.filename().string()) != 0) continue;
    ++failed;
    std::fprintf(stderr, "there is no fuzzer for %s\n", path.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
