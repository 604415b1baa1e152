// A scripted server, a world's folder, and running commands as the parser would: for tests of the
// commands that call a server.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "http/server.h"

namespace pawl::cli {

// Answers "METHOD target" with what was scripted, in order; the last answer stays.
class ScriptedServer {
 public:
  ScriptedServer();

  ScriptedServer& on(const std::string& call, std::string body, int status = 200);
  std::string url() const;
  std::string calls();  // a line each
  std::string body();   // of the last call

 private:
  http::Response answer(const std::string& call, std::string body);

  std::mutex mutex_;
  std::map<std::string, std::vector<std::pair<int, std::string>>> script_;
  std::vector<std::string> calls_;
  std::string body_;
  std::unique_ptr<http::Server> server_;
};

struct Ran {
  int code = 0;
  std::string out, err;
};
using Given = std::map<std::string, std::string>;

// Runs "worlds " + path, only with options and arguments that its table has.
Ran run_world_command(ScriptedServer& server, const std::string& path,
                      std::vector<std::string> arguments, const Given& options = {});

// A folder "w" with a manifest and two nodes; the current directory while it lives.
class InWorldFolder {
 public:
  InWorldFolder();
  ~InWorldFolder();
  InWorldFolder(const InWorldFolder&) = delete;
  InWorldFolder& operator=(const InWorldFolder&) = delete;
  void add(const std::string& name, const std::string& text);

 private:
  std::filesystem::path before_, path_;
};

// What that folder gives as members of a request, and what a server says of such a world.
inline constexpr const char* kWorldMembers =
    R"("manifest":{"air_version":"1","routing":{"subscriptions":[]}},)"
    R"("nodes":[{"name":"a/A@1"},{"name":"a/B@1","type":{"nat":{}}}])";
inline constexpr const char* kWorldReply =
    R"({"world":{"id":"0189","name":"w","status":"open","manifest_hash":"sha256:aa","height":1,)"
    R"("created_at":"2026-02-03T04:05:06.007Z","test":null},"warnings":[]})";

}  // namespace pawl::cli
