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
#include "journal/record.h"

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
  setup.partitions = 1;
  setup.format = journal::kRecordVersion;
  setup.lost = [it = node.get()](const Error& why) { it->end_with(why); };
  return node;
}

void ServeNode::end_with(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    if (!lost_) lost_ = why;
  }
  ::kill(::getpid(), SIGTERM);
}

Result<std::unique_ptr<Store>> ServeNode::open() {
  log::info("joining the cluster and waiting for its partition", {{"node", setup_.name}});
  PAWL_TRY(member_, cluster::Member::join(setup_));
  member_->start(*this);
  std::unique_lock lock(mutex_);
  while (!taken_) {
    if (stop_was_asked())
      return Error{ErrorCode::Unavailable, "stopped while it waited for its partition"};
    changed_.wait_for(lock, std::chrono::milliseconds(100));
  }
  in_use_ = true;
  return std::unique_ptr<Store>(std::move(taken_));
}

void ServeNode::close() {
  {
    std::lock_guard lock(mutex_);
    in_use_ = false;
  }
  changed_.notify_all();
  member_.reset();
}

Status ServeNode::serve(uint16_t, std::unique_ptr<PostgresStore> store) {
  {
    std::lock_guard lock(mutex_);
    taken_ = std::move(store);
  }
  changed_.notify_all();
  return ok_status();
}

// The runtime has it, and closes it when the process ends.
void ServeNode::give_up(uint16_t partition, bool lost) {
  std::unique_lock lock(mutex_);
  taken_.reset();
  if (!in_use_) return;
  lock.unlock();
  if (lost)
    end_with({ErrorCode::Fenced,
              "another node has taken partition " + std::to_string(partition) + " over"});
  else
    ::kill(::getpid(), SIGTERM);
  lock.lock();
  changed_.wait(lock, [this] { return !in_use_; });
}

std::optional<Error> ServeNode::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace pawl
