// DemoDatabase: a PostgreSQL server of a demo's own: data and socket in a directory, no TCP, fsync
// on. It ends with this process, however that ends. Thread: one at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace pawl::cli {

class DemoDatabase {
 public:
  explicit DemoDatabase(std::string directory) : directory_(std::move(directory)) {}
  ~DemoDatabase();
  DemoDatabase& operator=(DemoDatabase&&) = delete;

  // Returns when it takes connections. NotFound: no server is installed here, and how to get one.
  Status start();
  std::string url() const;

 private:
  Status wait_until_ready();

  const std::string directory_;  // absolute
  int pid_ = 0;
};

}  // namespace pawl::cli
