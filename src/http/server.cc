#include "http/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "http/io_thread.h"
#include "http/listener.h"
#include "http/tls.h"

namespace pawl::http {
namespace {

constexpr int kIoThreadsMax = 256;

Status check_config(const ServerConfig& config) {
  const auto refuse = [](const char* message) {
    return Status(Error{ErrorCode::InvalidRequest, message});
  };
  if (config.io_threads < 1 || config.io_threads > kIoThreadsMax) {
    return refuse("io_threads must be 1 to 256");
  }
  if (config.pipeline_max < 1 || config.connections_max < 1 || config.headers_max < 1) {
    return refuse("pipeline_max, connections_max and headers_max must be at least 1");
  }
  if (config.pipeline_first < 1 || config.out_bytes_max < 1 || config.write_bytes_min < 1) {
    return refuse("pipeline_first, out_bytes_max and write_bytes_min must be at least 1");
  }
  if (config.out_bytes_total_max < config.out_bytes_max) {
    return refuse("out_bytes_total_max must be at least out_bytes_max");
  }
  if (config.header_bytes_max < 64 || config.target_bytes_max < 16) {
    return refuse("header_bytes_max must be at least 64, target_bytes_max at least 16");
  }
  if (config.idle_ms < 1 || config.header_read_ms < 1 || config.body_read_ms < 1 ||
      config.body_stall_ms < 1 || config.write_stall_ms < 1 || config.out_stall_ms < 1) {
    return refuse("HTTP timeouts must be at least 1 ms");
  }
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty()) {
    return refuse("TLS needs both a certificate file and a key file");
  }
  return ok_status();
}

}  // namespace

struct Server::Parts {
  ServerShared shared;
  int port = 0;
  bool stopped = false;

  ~Parts() {
    if (shared.listen_fd >= 0) ::close(shared.listen_fd);
  }
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(ServerConfig config, const Handler& handler) {
  return start(std::move(config), [&] { return RoundHandler{handler}; });
}

Result<std::unique_ptr<Server>> Server::start(ServerConfig config,
                                              const std::function<RoundHandler()>& make_handler) {
  PAWL_TRY_DO(check_config(config));
  auto parts = std::make_unique<Parts>();
  ServerShared& shared = parts->shared;
  shared.config = std::move(config);
  shared.out_budget.limit(shared.config.out_bytes_total_max);
  shared.in_budget->limit(shared.config.in_bytes_total_max);
  if (!shared.config.tls_certificate_file.empty()) {
    PAWL_TRY(shared.tls,
             TlsContext::load(shared.config.tls_certificate_file, shared.config.tls_key_file));
  }
  PAWL_TRY(const Listener listener, listen_on(shared.config.host, shared.config.port));
  shared.listen_fd = listener.fd;
  parts->port = listener.port;
  for (int i = 0; i < shared.config.io_threads; ++i) {
    shared.threads.push_back(std::make_unique<IoThread>(shared, make_handler()));
    PAWL_TRY_DO(shared.threads.back()->open());
  }
  for (const auto& thread : shared.threads) thread->run();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

int Server::port() const { return parts_->port; }

bool Server::tls() const { return parts_->shared.tls != nullptr; }

void Server::drain(std::chrono::milliseconds limit) {
  if (parts_->stopped) return;
  ServerShared& shared = parts_->shared;
  ::shutdown(shared.listen_fd, SHUT_RDWR);  // new clients are refused from here on
  for (const auto& thread : shared.threads) thread->drain();
  {
    std::unique_lock lock(shared.idle_mutex);
    shared.idle.wait_for(lock, limit, [&] { return shared.connections_open.load() == 0; });
  }
  stop();
}

void Server::stop() {
  if (std::exchange(parts_->stopped, true)) return;
  for (const auto& thread : parts_->shared.threads) thread->stop();
  ::close(std::exchange(parts_->shared.listen_fd, -1));
}

ServerStats Server::stats() const {
  ServerStats stats;
  stats.connections_open = parts_->shared.connections_open.load();
  stats.connections_max = parts_->shared.config.connections_max;
  stats.request_bytes = parts_->shared.in_budget->held();
  stats.unsent_bytes = parts_->shared.out_budget.unsent();
  for (const auto& thread : parts_->shared.threads) thread->add_to(stats);
  return stats;
}

}  // namespace pawl::http
