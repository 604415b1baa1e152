#include "main/serve_node.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "actions/file_handle.h"
#include "base/hash.h"
#include "base/log.h"

namespace pawl {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "node";
  return std::string(name.data()).substr(0, kNodeNameBytesMax);
}

}  // namespace

std::string node_name(const ServeOptions& options) {
  return options.node.empty() ? host_name() : options.node;
}

std::string node_url(const ServeOptions& options) {
  return options.advertise.empty() ? "http://" + options.listen : options.advertise;
}

std::string server_id(const std::string& data_dir) {
  const std::string file = data_dir + "/server-id";
  std::string id;
  if (!data_dir.empty() && std::ifstream(file) >> id) return id;
  id = random_secret(16);
  if (data_dir.empty()) return id;
  const actions::FileHandle made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made.is_open() || ::write(made.get(), id.data(), id.size()) < 0)
    log::warning("the server's id could not be kept", {{"file", file}});
  return id;
}

bool stop_was_asked() {
  sigset_t waiting;
  sigpending(&waiting);
  return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1;
}

Result<std::unique_ptr<ServeNode>> ServeNode::of(const ServeOptions& options) {
  if (options.cluster_key.empty())
    return Error{ErrorCode::InvalidRequest,
                 "a PostgreSQL store needs --cluster-key FILE, the same for all nodes; make one"
                 " with `head -c 32 /dev/urandom > cluster.key && chmod 600 cluster.key`"};
  auto node = std::make_unique<ServeNode>();
  cluster::MemberSetup& setup = node->setup_;
  setup.database = options.database;
  setup.readers = options.store_readers;
  setup.key_file = options.cluster_key;
  if (const char* passphrase = std::getenv("PAWL_VAULT_KEY")) setup.passphrase = passphrase;
  setup.data_dir = options.data_dir;
  setup.name = node_name(options);
  setup.url = node_url(options);
  setup.version = options.app.version;
  setup.go_on = [] { return !stop_was_asked(); };
  setup.lost = [it = node.get()](const Error& why) {
    {
      std::lock_guard lock(it->mutex_);
      it->lost_ = why;
    }
    ::kill(::getpid(), SIGTERM);
  };
  return node;
}

Result<std::unique_ptr<Store>> ServeNode::open() {
  log::info("joining the cluster and waiting for its partition", {{"node", setup_.name}});
  PAWL_TRY(member_, cluster::Member::join(setup_));
  return member_->take(0);
}

std::optional<Error> ServeNode::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace pawl
