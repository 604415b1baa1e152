#include "cli/demo_directory.h"

#include <stdlib.h>

#include <filesystem>

namespace pawl::cli {

DemoDirectory::DemoDirectory() {
  std::error_code failed;
  const std::filesystem::path base = std::filesystem::temp_directory_path(failed);
  std::string pattern = ((failed ? "/tmp" : base) / "pawl-demo-XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

DemoDirectory::~DemoDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace pawl::cli
