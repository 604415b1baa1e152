#include "store/testing/postgres_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "base/hash.h"
#include "base/url.h"

namespace pawl {
namespace {

std::string ask_on(pg::Connection& database, const std::string& sql) {
  // Text, so that a test reads what it expects.
  auto rows = database.run(sql);
  if (!rows.ok()) return "error " + rows.error().message;
  std::string seen;
  for (size_t i = 0; i < rows->size(); ++i)
    seen.append(i == 0 ? "" : " ").append(rows->bytes(i, 0));
  return seen;
}

}  // namespace

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer() { start(); }

PostgresServer::~PostgresServer() { crash(); }

std::string PostgresServer::url(const std::string& database) const {
  return "postgresql://postgres@/" + database + "?host=" + percent_encode(directory_ / "pg");
}

void PostgresServer::start(const std::vector<std::string>& settings) {
  const std::string directory = directory_ / "pg";
  std::vector<std::string> command = {"tools/postgres", directory};
  command.insert(command.end(), settings.begin(), settings.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // The server's user must be able to enter.
  PAWL_CHECK(::chmod((directory_ / "").c_str(), 0755) == 0);
  process_ = ::fork();
  PAWL_CHECK(process_ >= 0);
  if (process_ == 0) {
    const int log = ::open((directory + ".log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  while (PQping(url("postgres").c_str()) != PQPING_OK) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) != 0) {
      std::cerr << std::ifstream(directory + ".log").rdbuf();
      const bool serves = false;
      PAWL_CHECK(serves);
    }
    ::poll(nullptr, 0, 5);
  }
}

void PostgresServer::crash() {
  if (process_ <= 0) return;
  ::kill(process_, SIGQUIT);  // "immediate": nothing is written, as in a crash
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

PostgresBacking::PostgresBacking() : name_("t" + random_secret(8)) {
  trims_whole = true;
  auto server = pg::Connection::open({PostgresServer::shared().url("postgres"), "test"});
  PAWL_CHECK(server.ok());
  PAWL_CHECK(ask_on(*server, "CREATE DATABASE " + name_).empty());
}

PostgresBacking::~PostgresBacking() {
  auto server = pg::Connection::open({PostgresServer::shared().url("postgres"), "test"});
  if (server.ok()) ask_on(*server, "DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
}

PostgresOptions PostgresBacking::options() const {
  PostgresOptions options;
  options.url = PostgresServer::shared().url(name_);
  options.partitions = 1;
  options.owner = {"tester", "01890a5d-ac96-774b-bcce-b302099a8057"};
  options.keep_up_pause = std::chrono::milliseconds(0);
  return options;
}

Result<std::unique_ptr<Store>> PostgresBacking::open() {
  PostgresOptions asked = options();
  asked.fault = [this] { return disk_fails.load(); };
  PAWL_TRY(std::unique_ptr<Store> store, open_postgres(std::move(asked)));
  return store;
}

pg::Connection PostgresBacking::connect() const {
  auto opened = pg::Connection::open({PostgresServer::shared().url(name_), "test"});
  PAWL_CHECK(opened.ok());
  return std::move(opened).value();
}

std::string PostgresBacking::ask(const std::string& sql) const {
  pg::Connection database = connect();
  return ask_on(database, sql);
}

}  // namespace pawl
