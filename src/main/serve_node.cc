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

Result<std::unique_ptr<cluster::Member>> join_cluster(const ServeOptions& options) {
  if (options.cluster_key.empty())
    return Error{ErrorCode::InvalidRequest,
                 "a PostgreSQL store needs --cluster-key FILE, the same for all nodes; make one"
                 " with `head -c 32 /dev/urandom > cluster.key && chmod 600 cluster.key`"};
  const size_t colon = options.listen.rfind(':');
  const std::string host = options.listen.substr(0, colon);
  const bool found_there =
      host != "0.0.0.0" && host != "[::]" && options.listen.substr(colon) != ":0";
  if (options.advertise.empty() && !found_there)
    return Error{ErrorCode::InvalidRequest, "other nodes cannot reach this one at http://" +
                                                options.listen +
                                                "; say its address with --advertise"};
  cluster::MemberSetup setup;
  setup.database = options.database;
  setup.partitions = options.partitions;
  setup.readers = options.store_readers;
  setup.key_file = options.cluster_key;
  if (const char* passphrase = std::getenv("PAWL_VAULT_KEY")) setup.passphrase = passphrase;
  setup.data_dir = options.data_dir;
  setup.name = node_name(options);
  setup.url = node_url(options);
  setup.version = options.app.version;
  setup.format = journal::kRecordVersion;
  setup.hold_format = options.hold_format;
  setup.lost = [](const Error& why) {
    log::error(why.message, {{"code", wire_code(why.code)}});
    ::kill(::getpid(), SIGTERM);
  };
  return cluster::Member::join(std::move(setup));
}

}  // namespace pawl
