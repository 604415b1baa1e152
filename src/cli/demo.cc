// pawl demo [crash|cluster]: self-contained tours. `demo` is a server on a temporary directory with
// nested workflows and workers, `demo crash` a kill -9 in the middle of it; the final counts are
// read from the journal. `demo cluster`: cli/demo_cluster.h.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/demo_cluster.h"
#include "cli/demo_crowd.h"
#include "cli/demo_directory.h"
#include "cli/demo_server.h"
#include "cli/http_client.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kOrders = 3;
constexpr size_t kItems = 6;
constexpr size_t kLetters = 6;
constexpr size_t kCallbacksPerOrder = 2;
constexpr size_t kJobsPerOrder = 1 + kItems + kLetters + kCallbacksPerOrder + 1;
constexpr size_t kWorkers = 3;
constexpr milliseconds kWork{50};
constexpr milliseconds kPoll{20};
constexpr milliseconds kDeadline{60'000};

void write_job(json::Writer& w, std::string_view type, size_t number) {
  w.begin_object().field("type", type).key("args").begin_array();
  w.integer(number).end_array();
  w.key("options").begin_object().field("queue", "demo").end_object().end_object();
}

// reserve → all items packed side by side → letters as a batch with callbacks → close
std::string order_workflow(size_t number) {
  json::ObjectWriter w;
  w.field("type", "chain").field("name", "order-" + std::to_string(number));
  w.key("steps").begin_array();
  write_job(w, "order.reserve", number);
  w.begin_object().field("type", "group").key("jobs").begin_array();
  for (size_t i = 0; i < kItems; ++i) write_job(w, "item.pack", i);
  w.end_array().end_object();
  w.begin_object().field("type", "batch").key("jobs").begin_array();
  for (size_t i = 0; i < kLetters; ++i) write_job(w, "letter.send", i);
  w.end_array().key("callbacks").begin_object();
  w.key("on_complete");
  write_job(w, "letters.report", number);
  w.key("on_success");
  write_job(w, "letters.thank", number);
  w.key("on_failure");
  write_job(w, "letters.alarm", number);
  w.end_object().end_object();
  write_job(w, "order.close", number);
  w.end_array();
  return w.close();
}

// Counts of events in the journal.
struct Findings {
  std::map<std::string, size_t> completed;  // by job
  std::map<std::string, size_t> callbacks;  // by workflow and role
  std::map<std::string, size_t> fan_ins;    // by workflow, of groups and batches
  std::map<std::string, size_t> orders;     // by workflow
};

class Tour {
 public:
  explicit Tour(bool crash) : crash_(crash), server_(directory_.path() + "/data") {}

  int run() {
    if (directory_.path().empty()) return give_up("no temporary directory");
    say_what();
    if (Status up = server_.start(); !up.ok()) return give_up(up.error().message);
    line("server up, pid " + std::to_string(server_.pid()) +
         "; every answer is on disk (fsync) before it is given");
    if (!create()) return give_up("the server took no workflow");
    {
      DemoCrowd crowd(server_, kWorkers, kWork);
      if (crash_ && !crash(crowd)) return kRefused;
      if (!wait_for_ends()) return stuck();
      executed_ = crowd.executed();
    }
    line("all " + std::to_string(kOrders) + " workflows completed");
    return verdict();
  }

 private:
  static size_t total() { return kOrders * kJobsPerOrder; }

  void say_what() {
    print_text(
        "Three orders, each a chain of four steps:\n"
        "  order.reserve -> group of 6 item.pack -> batch of 6 letter.send, with callbacks "
        "-> order.close\n" +
        std::string(crash_ ? "Three workers do the jobs. In the middle the server is killed "
                             "with -9 and started again.\n\n"
                           : "Three workers do the jobs.\n\n"));
  }

  void line(const std::string& text, Colour colour = Colour::None) {
    auto ms = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_).count();
    char at[32];
    std::snprintf(at, sizeof at, "%7.2f s  ", static_cast<double>(ms) / 1000);
    print_text(painted(at, Colour::Grey, colours_on(stdout)) +
               painted(text, colour, colours_on(stdout)) + "\n");
    std::fflush(stdout);
  }

  int give_up(const std::string& why) {
    complain(why);
    return kRefused;
  }

  std::optional<Answer> ask(std::string_view method, const std::string& path,
                            std::string_view body = {}) {
    Url url;
    url.host = "127.0.0.1";
    url.port = server_.port();
    auto reply = HttpClient(url).call(method, path, body);
    if (!reply.ok() || reply->status / 100 != 2) return std::nullopt;
    auto text = std::make_unique<std::string>(std::move(reply->body));
    auto doc = json::parse(*text);
    if (!doc.ok()) return std::nullopt;
    return Answer{std::move(text), std::move(doc).value()};
  }

  bool create() {
    for (size_t i = 0; i < kOrders; ++i) {
      auto made = ask("POST", "/ojs/v1/workflows", order_workflow(i + 1));
      if (!made) return false;
      orders_.push_back(member(made->root(), "id"));
    }
    line(std::to_string(kOrders) + " workflows created: " + std::to_string(total()) +
         " jobs to do, callbacks included");
    return true;
  }

  bool crash(const DemoCrowd& crowd);
  bool wait_for_ends();
  int stuck();
  Findings read_journal();
  int verdict();
  static bool check(const std::string& what, const std::map<std::string, size_t>& counts,
                    size_t expected);

  bool crash_;
  steady_clock::time_point began_ = steady_clock::now();
  DemoDirectory directory_;
  DemoServer server_;
  std::vector<std::string> orders_;
  size_t executed_ = 0;
};

bool Tour::crash(const DemoCrowd& crowd) {
  auto deadline = steady_clock::now() + kDeadline;
  while (crowd.accepted() < total() * 2 / 5) {
    if (steady_clock::now() > deadline) return give_up("the workers get nothing done"), false;
    std::this_thread::sleep_for(kPoll);
  }
  int pid = server_.pid();
  size_t at_work = crowd.at_work();
  server_.kill_hard();
  line("kill -9 " + std::to_string(pid) + ": " + std::to_string(crowd.accepted()) + " of " +
           std::to_string(total()) + " jobs were done, " + std::to_string(at_work) + " at work",
       Colour::Red);
  if (Status up = server_.start(); !up.ok()) return give_up(up.error().message), false;
  auto system = ask("GET", "/v1/system");
  std::string events = "?";
  if (system)
    if (auto recovery = system->root().find("recovery")) events = member(*recovery, "events");
  line("server up again on the same data, pid " + std::to_string(server_.pid()) + ": " + events +
       " events replayed");
  return true;
}

bool Tour::wait_for_ends() {
  auto deadline = steady_clock::now() + kDeadline;
  for (const std::string& order : orders_) {
    while (true) {
      auto run = ask("GET", path_of("/v1/runs/", order));
      std::string status =
          run ? member(run->root().find("run").value_or(run->root()), "status") : "";
      if (status == "completed") break;
      if (status == "failed" || status == "cancelled" || steady_clock::now() > deadline)
        return false;
      std::this_thread::sleep_for(kPoll);
    }
  }
  return true;
}

int Tour::stuck() {
  for (const std::string& order : orders_)
    if (auto why = ask("GET", path_of("/v1/runs/", order, "/explain")))
      print_text(printable(*why->text) + "\n");
  return give_up("the workflows did not complete");
}

// Everything is counted by id, so duplicates have a count of two.
Findings Tour::read_journal() {
  Findings found;
  std::string after;
  for (bool more = true; more;) {
    auto page = ask("GET", "/ojs/v1/events" + query_of({{"types", "job.completed,workflow.*"},
                                                        {"limit", "1000"},
                                                        {"after", after}}));
    if (!page) return {};
    auto events = page->root().find("events");
    if (!events) return {};
    events->each_element([&](json::View event) {
      json::View data = event.find("data").value_or(event);
      std::string type = member(event, "type");
      std::string workflow = member(data, "workflow_id");
      std::string kind = member(data, "workflow_type");
      if (type == "job.completed") ++found.completed[member(data, "job_id")];
      if (type == "workflow.callback_fired") ++found.callbacks[workflow + member(data, "callback")];
      if (type == "workflow.completed")
        ++(kind == "chain" ? found.orders : found.fan_ins)[workflow];
    });
    after = member(page->root(), "cursor");
    more = member(page->root(), "has_more") == "true";
  }
  return found;
}

bool Tour::check(const std::string& what, const std::map<std::string, size_t>& counts,
                 size_t expected) {
  size_t twice = 0;
  for (const auto& [id, count] : counts) twice += count == 1 ? 0 : 1;
  bool good = counts.size() == expected && twice == 0;
  std::string text = what;
  text.resize(std::max<size_t>(text.size(), 34), ' ');
  text += std::to_string(counts.size()) + " of " + std::to_string(expected) + ", " +
          std::to_string(twice) + " more than once";
  print_text("  " + painted(text, good ? Colour::None : Colour::Red, colours_on(stdout)) + "\n");
  return good;
}

int Tour::verdict() {
  Findings found = read_journal();
  print_text("\nWhat the journal holds:\n");
  bool good = check("jobs completed", found.completed, total());
  good &= check("fan-ins (groups and batches)", found.fan_ins, kOrders * 2);
  good &= check("callbacks fired", found.callbacks, kOrders * kCallbacksPerOrder);
  good &= check("workflows completed", found.orders, kOrders);
  print_text("The workers executed " + std::to_string(executed_) + " jobs" +
             (executed_ > total()
                  ? "; a job whose result was lost on the way ran again, and counts "
                    "once"
                  : "") +
             ".\n\n");
  bool colours = colours_on(stdout);
  if (good)
    print_text(painted("PASS", Colour::Green, colours) +
               ": nothing lost, every callback exactly once" + (crash_ ? ", across kill -9" : "") +
               ".\n");
  else
    print_text(painted("FAIL", Colour::Red, colours) + ": the counts above are wrong.\n");
  return good ? kDone : kRefused;
}

int demo(const Invocation& given) {
  std::string mode = given.argument(0);
  if (!mode.empty() && mode != "crash" && mode != "cluster") {
    complain("there is 'pawl demo', 'pawl demo crash' and 'pawl demo cluster', not 'pawl demo " +
             printable(mode) + "'");
    return kUsage;
  }
  if (mode != "cluster" && given.has("--store")) {
    complain("--store is for 'pawl demo cluster'");
    return kUsage;
  }
  if (mode == "cluster") return demo_cluster(given.text("--store"));
  return Tour(mode == "crash").run();
}

}  // namespace

std::vector<Command> demo_commands() {
  return {
      {"demo",
       "a tour: workflows on a temporary server; 'demo crash' kills it, 'demo cluster' has three",
       {{"MODE",
         "crash: kill -9 the server half way and start it again; cluster: three nodes, one killed, "
         "one stopped",
         false}},
       {{"--store", "URL", "cluster: an empty PostgreSQL database, instead of a temporary server"}},
       "Uses a temporary directory and a free port, and leaves nothing behind. Exit 0 if every "
       "job, fan-in and callback\nhappened exactly once, as read from the journal.",
       demo}};
}

}  // namespace pawl::cli
