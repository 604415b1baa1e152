// A real PostgreSQL for tests, with fsync on: one server for a test program, made by tools/postgres
// when first asked for, and a database of its own for each test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "store/postgres_store.h"
#include "store/testing/backing.h"

namespace pawl {

class PostgresServer {
 public:
  // Ends with the program. Run from the source directory.
  static PostgresServer& shared();

  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string url(const std::string& database) const;
  void start(const std::vector<std::string>& settings = {});
  // As kill -9 of all its processes: what is acknowledged must be there afterwards.
  void crash();
  bool running() const { return process_ > 0; }

 private:
  const TempDirectory directory_;
  pid_t process_ = -1;
};

// A database on the shared server, dropped at the end.
class PostgresBacking : public Backing {
 public:
  PostgresBacking();
  ~PostgresBacking() override;
  Result<std::unique_ptr<Store>> open() override;

  // How the tests below the conformance suite open it.
  PostgresOptions options() const;
  // A session of one's own, e.g. to look at tables. Fails the process if a statement fails.
  pg::Connection connect() const;
  std::string ask(const std::string& sql) const;

 private:
  const std::string name_;
};

}  // namespace pawl
