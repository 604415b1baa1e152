// PostgresProcess: a PostgreSQL server of one's own, started by a script (tools/postgres) that
// becomes it. It ends with its owner.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace pawl::bench {

class PostgresProcess {
 public:
  static Result<std::unique_ptr<PostgresProcess>> start(const std::string& script,
                                                        const std::string& directory);
  ~PostgresProcess();
  PostgresProcess(const PostgresProcess&) = delete;
  PostgresProcess& operator=(const PostgresProcess&) = delete;

  // Makes an empty database; its URL.
  Result<std::string> create_database(const std::string& name);
  // The first column of the first row.
  Result<std::string> ask(const std::string& sql) const;
  // Of all its processes, those that ended included.
  Result<double> cpu_seconds() const;

 private:
  PostgresProcess() = default;
  std::string url(const std::string& database) const;

  pid_t pid_ = -1;
  std::string directory_;
};

}  // namespace pawl::bench
