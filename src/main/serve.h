// serve: store → engine → API → HTTP server, until a signal says stop; then drain in the opposite
// order.
#pragma once

#include <string>
#include <vector>

#include "actions/action.h"
#include "api/app.h"
#include "engine/engine.h"
#include "http/server.h"

namespace pawl {

// PostgreSQL cuts the name of a session after 63 bytes: "pawl/NAME/" and a UUID.
constexpr size_t kNodeNameBytesMax = 21;

struct ServeOptions {
  std::string listen = "127.0.0.1:8080";
  std::string data_dir = "./pawl-data";
  std::string store = "sqlite";
  std::string database;     // a postgres:// URL; store is then "postgres"
  std::string node;         // "" = the name of this host
  std::string advertise;    // "" = http:// and `listen`
  std::string cluster_key;  // a file
  bool hold_format = false;
  std::string link_ca;      // a file
  uint16_t partitions = 0;  // of the store; 0 = as many as it has, or the default of a new one
  std::string work_root;    // "" = in data_dir
  uint32_t store_readers = 4;
  std::vector<std::string> api_keys;
  bool no_auth = false;
  bool log_json = false;
  bool access_log = false;
  std::string ojs_content_type;  // "" = the one of Open Job Spec
  int drain_ms = 10'000;
  actions::ActionPolicy actions;
  uint32_t action_threads = 8;
  uint32_t worlds_threads = 2;
  int64_t worlds_verify_ms = 0;  // between samples; 0 = none
  EngineConfig engine;
  api::AppConfig app;
  http::ServerConfig http;
};

// The exit code. Prints the ready line on stdout, everything else on stderr.
int serve(const ServeOptions& options);

}  // namespace pawl
