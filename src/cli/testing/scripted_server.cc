#include "cli/testing/scripted_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace pawl::cli {

ScriptedServer::ScriptedServer() {
  http::ServerConfig config;
  config.access_log = [](const http::AccessRecord&) {};
  auto started =
      http::Server::start(config, [this](http::Request&& request, http::Responder responder) {
        responder.respond(answer(std::string(request.method) + " " + std::string(request.target),
                                 std::string(request.body)));
      });
  PAWL_CHECK(started.ok());
  server_ = std::move(started).value();
}

ScriptedServer& ScriptedServer::on(const std::string& call, std::string body, int status) {
  std::lock_guard lock(mutex_);
  script_[call].push_back({status, std::move(body)});
  return *this;
}

std::string ScriptedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(server_->port());
}

std::string ScriptedServer::calls() {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const std::string& call : calls_) all += call + "\n";
  return all;
}

std::string ScriptedServer::body() {
  std::lock_guard lock(mutex_);
  return body_;
}

http::Response ScriptedServer::answer(const std::string& call, std::string body) {
  std::lock_guard lock(mutex_);
  calls_.push_back(call);
  body_ = std::move(body);
  auto at = script_.find(call);
  if (at == script_.end())
    return {.status = 404, .body = R"({"error":{"code":"not_found","message":"not scripted"}})"};
  auto [status, text] = at->second.front();
  if (at->second.size() > 1) at->second.erase(at->second.begin());
  return {.status = status, .content_type = "application/json", .body = text};
}

Ran run_world_command(ScriptedServer& server, const std::string& path,
                      std::vector<std::string> arguments, const Given& options) {
  const std::vector<Command> commands = world_commands();
  auto command = std::find_if(commands.begin(), commands.end(),
                              [&](const Command& one) { return one.path == "worlds " + path; });
  PAWL_CHECK(command != commands.end());
  Invocation given;
  PAWL_CHECK(arguments.size() <= command->parameters.size());
  for (size_t i = arguments.size(); i < command->parameters.size(); ++i)
    PAWL_CHECK(!command->parameters[i].required);
  arguments.resize(command->parameters.size());
  given.arguments = std::move(arguments);
  given.options["--url"] = {server.url()};
  for (const auto& [name, value] : options) {
    PAWL_CHECK(std::any_of(command->options.begin(), command->options.end(),
                           [&](const Option& one) { return one.name == name; }));
    given.options[name] = {value};
  }
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.code = command->run(given);
  std::fflush(stdout);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

InWorldFolder::InWorldFolder() : before_(std::filesystem::current_path()) {
  std::string name = ::testing::TempDir() + "pawl-worlds-XXXXXX";
  PAWL_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
  std::filesystem::create_directories(path_ / "w" / "nodes");
  std::filesystem::current_path(path_);
  add("w/manifest.yaml", "air_version: \"1\"\nrouting:\n  subscriptions: []\n");
  add("w/nodes/a.yaml", "- name: a/A@1\n- name: a/B@1\n  type: {nat: {}}\n");
}

InWorldFolder::~InWorldFolder() {
  std::filesystem::current_path(before_);
  std::filesystem::remove_all(path_);
}

void InWorldFolder::add(const std::string& name, const std::string& text) {
  std::ofstream(path_ / name, std::ios::binary) << text;
}

}  // namespace pawl::cli
