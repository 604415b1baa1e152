// A temporary directory of a demo, removed with the object.
#pragma once

#include <string>

namespace pawl::cli {

class DemoDirectory {
 public:
  DemoDirectory();
  ~DemoDirectory();
  DemoDirectory& operator=(DemoDirectory&&) = delete;
  const std::string& path() const { return path_; }  // empty: there is none

 private:
  std::string path_;
};

}  // namespace pawl::cli
