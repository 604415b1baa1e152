#include "cli/demo_cluster.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/hash.h"
#include "cli/command.h"
#include "cli/demo_database.h"
#include "cli/demo_directory.h"
#include "cli/demo_traffic.h"
#include "cli/http_client.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kNodes = 3;
constexpr size_t kPartitions = 6;
constexpr milliseconds kWhile{3000};  // of traffic before, between and after the failures
constexpr milliseconds kClusterPoll{50};
constexpr milliseconds kClusterDeadline{60'000};

// A port that is free now; the nodes tell each other before they listen.
int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  int port = 0;
  if (::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  ::close(probe);
  return port;
}

class ClusterTour {
 public:
  explicit ClusterTour(std::string store)
      : store_(std::move(store)), database_(directory_.path() + "/postgres") {}

  int run();

 private:
  static std::string name_of(size_t node) { return "n" + std::to_string(node + 1); }
  void line(const std::string& text, Colour colour = Colour::None) const;
  static int give_up(const std::string& why) {
    complain(why);
    return kRefused;
  }
  Status set_up();
  Status start_nodes();
  bool kill_one();
  bool stop_one();
  bool wait_for_owners(size_t without, const std::string& what);
  bool wait_for_ends(const DemoTraffic& traffic) const;
  std::optional<HttpReply> get(size_t node, const std::string& path) const;
  std::string state_of(const std::string& path, std::string_view record) const;
  int verdict(const DemoTraffic& traffic) const;

  const steady_clock::time_point began_ = steady_clock::now();
  const std::string store_;
  const DemoDirectory directory_;
  DemoDatabase database_;
  DemoNodes nodes_;
};

void ClusterTour::line(const std::string& text, Colour colour) const {
  const auto ms = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_).count();
  char at[32];
  std::snprintf(at, sizeof at, "%7.2f s  ", static_cast<double>(ms) / 1000);
  print_text(painted(at, Colour::Grey, colours_on(stdout)) +
             painted(text, colour, colours_on(stdout)) + "\n");
  std::fflush(stdout);
}

Status ClusterTour::set_up() {
  if (directory_.path().empty()) return Error{ErrorCode::Unavailable, "no temporary directory"};
  if (!store_.empty()) return ok_status();
  const std::string place = directory_.path() + "/postgres";
  // PostgreSQL's user, where that is another one, must get there.
  std::filesystem::create_directory(place);
  ::chmod(directory_.path().c_str(), 0711);
  PAWL_TRY_DO(database_.start());
  line("PostgreSQL is up, on a temporary directory, with fsync on");
  return ok_status();
}

// All at once: then each gets its share from the beginning.
Status ClusterTour::start_nodes() {
  const std::string key = directory_.path() + "/cluster.key";
  std::ofstream(key) << random_secret(32);
  ::chmod(key.c_str(), 0600);
  for (size_t i = 0; i < kNodes; ++i) {
    std::vector<std::string> flags = {"--store",       store_.empty() ? database_.url() : store_,
                                      "--cluster-key", key,
                                      "--node",        name_of(i),
                                      "--partitions",  std::to_string(kPartitions)};
    nodes_.push_back(std::make_unique<DemoServer>(directory_.path() + "/" + name_of(i),
                                                  std::move(flags), free_port()));
  }
  std::vector<Status> started(kNodes, ok_status());
  std::vector<std::thread> starting;
  for (size_t i = 0; i < kNodes; ++i)
    starting.emplace_back([&, i] { started[i] = nodes_[i]->start(); });
  for (std::thread& thread : starting) thread.join();
  for (const Status& status : started) PAWL_TRY_DO(status);
  return ok_status();
}

std::optional<HttpReply> ClusterTour::get(size_t node, const std::string& path) const {
  Url url;
  url.host = "127.0.0.1";
  url.port = nodes_[node]->port();
  auto reply = HttpClient(url).call("GET", path);
  if (!reply.ok()) return std::nullopt;
  return std::move(*reply);
}

// Until each partition is served by a node other than `without`.
bool ClusterTour::wait_for_owners(size_t without, const std::string& what) {
  const auto since = steady_clock::now();
  const size_t asked = without == 0 ? 1 : 0;
  while (steady_clock::now() - since < kClusterDeadline) {
    size_t served = 0;
    std::map<std::string, size_t> shares;
    const auto reply = get(asked, "/v1/cluster");
    const auto doc = json::parse(reply ? reply->body : "");
    const auto list = doc.ok() ? doc->root().find("partitions") : std::nullopt;
    if (list)
      list->each_element([&](json::View one) {
        const std::string owner = member(one, "owner");
        if (member(one, "state") != "serving" || owner == name_of(without)) return;
        ++served;
        ++shares[owner];
      });
    if (served == kPartitions) {
      const auto ms = std::chrono::duration_cast<milliseconds>(steady_clock::now() - since).count();
      std::string text;
      for (const auto& [name, count] : shares)
        text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
      line(what + " after " + std::to_string(ms) + " ms: " + text);
      return true;
    }
    std::this_thread::sleep_for(kClusterPoll);
  }
  complain("after a minute not every partition is served");
  return false;
}

bool ClusterTour::kill_one() {
  const int pid = nodes_[1]->pid();
  nodes_[1]->kill_hard();
  line("kill -9 " + std::to_string(pid) + ": " + name_of(1) + " is gone", Colour::Red);
  if (!wait_for_owners(1, "the other two serve all partitions")) return false;
  if (Status up = nodes_[1]->start(); !up.ok()) return complain(up.error().message), false;
  line(name_of(1) + " is started again, and gets its share back after a few seconds");
  return true;
}

bool ClusterTour::stop_one() {
  nodes_[2]->freeze();
  line("SIGSTOP: " + name_of(2) + " stands still; it does not know that it is replaced",
       Colour::Red);
  if (!wait_for_owners(2, "the others serve all partitions")) return false;
  nodes_[2]->thaw();
  line("SIGCONT: " + name_of(2) + " goes on; what it still wants to write, the database refuses");
  return true;
}

bool ClusterTour::wait_for_ends(const DemoTraffic& traffic) const {
  const auto deadline = steady_clock::now() + kClusterDeadline;
  while (!traffic.all_done()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kClusterPoll);
  }
  return true;
}

std::string ClusterTour::state_of(const std::string& path, std::string_view record) const {
  const auto reply = get(0, path);
  const auto doc = json::parse(reply ? reply->body : "");
  if (!doc.ok()) return "";
  return member(doc->root().find(record).value_or(doc->root()), "state");
}

int ClusterTour::verdict(const DemoTraffic& traffic) const {
  size_t lost = 0;
  for (const std::string& id : traffic.jobs())
    lost += state_of(path_of("/ojs/v1/jobs/", id), "job") == "completed" ? 0 : 1;
  for (const std::string& id : traffic.workflows())
    lost += state_of(path_of("/ojs/v1/workflows/", id), "workflow") == "completed" ? 0 : 1;
  const DemoCounts counts = traffic.counts();
  const auto row = [](const std::string& what, const std::string& value) {
    std::string text = "  " + what;
    text.resize(34, ' ');
    print_text(text + value + "\n");
  };
  print_text("\nWhat was acknowledged, and what is there:\n");
  row("jobs pushed", std::to_string(counts.pushed));
  row("workflows with a callback", std::to_string(counts.workflows));
  row("jobs completed", std::to_string(counts.completed));
  row("callbacks done", std::to_string(counts.callbacks));
  row("lost", std::to_string(lost));
  row("doubled", std::to_string(counts.doubled));
  row("longest pause between pushes", std::to_string(counts.longest_pause.count()) + " ms");
  const bool good = lost == 0 && counts.doubled == 0 && counts.completed == counts.pushed &&
                    counts.callbacks == counts.workflows && counts.pushed > 0;
  print_text(
      "\n" +
      painted(good ? "PASS" : "FAIL", good ? Colour::Green : Colour::Red, colours_on(stdout)) +
      (good ? ": nothing lost, nothing doubled, across kill -9 and a node that stood still.\n"
            : ": the counts above are wrong.\n"));
  return good ? kDone : kRefused;
}

int ClusterTour::run() {
  print_text(
      "Three nodes share one PostgreSQL: each serves a part of the work, and any of them takes any "
      "call.\nClients push jobs and workflows to a node at random, workers fetch from one and "
      "acknowledge at another.\nOne node is killed, another one stopped.\n\n");
  if (Status ready = set_up(); !ready.ok()) return give_up(ready.error().message);
  if (Status up = start_nodes(); !up.ok()) return give_up(up.error().message);
  line("three nodes are up: " + name_of(0) + ", " + name_of(1) + ", " + name_of(2));
  if (!wait_for_owners(nodes_.size(), "all partitions are served")) return kRefused;
  DemoTraffic traffic(nodes_, 3, 4);
  std::this_thread::sleep_for(kWhile);
  if (!kill_one()) return kRefused;
  std::this_thread::sleep_for(kWhile);
  if (!stop_one()) return kRefused;
  std::this_thread::sleep_for(kWhile);
  traffic.stop_pushing();
  line("no more pushes; the workers do the rest");
  if (!wait_for_ends(traffic)) complain("the workers do not get everything done");
  return verdict(traffic);
}

}  // namespace

int demo_cluster(const std::string& store) { return ClusterTour(store).run(); }

}  // namespace pawl::cli
