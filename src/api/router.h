// Router: maps methods and paths to handlers and required scopes. The route table is the list of
// endpoints: a route without a scope does not compile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/response.h"
#include "engine/task.h"
#include "http/request.h"
#include "http/responder.h"

namespace pawl::api {

class App;

// The permission of a key. Public needs no key at all.
enum class Permission : uint8_t { Public, Read, Write, Worker, Operate, Admin };
std::string_view scope_name(Permission scope);

struct Route;

Surface surface_of_path(std::string_view path);  // of a route or a request

// What the requests of one poll round ask of the engine: handed over together, when the round ends.
using Round = std::vector<TaskPtr>;

// One request until its answer.
struct Call {
  http::Request request;
  http::Responder responder;
  const Route* route = nullptr;
  std::vector<std::string> params;  // of the path, decoded, in order
  std::string tenant;
  bool secret = false;     // its body or answer contains a secret: stored copies are sealed
  Round* round = nullptr;  // of the I/O thread, while the handler runs there; null on others
  std::shared_ptr<void> under_way = {};  // keeps the App of one of several partitions

  Surface surface() const;
  void answer(http::Response&& response, Wakes* wakes = nullptr);
  void fail(const Error& error);
  // The answer to a failed call. NotFound names the resource (details.resource_type, resource_id):
  // from the error, or else from the path.
  http::Response failure(const Error& error) const;
  std::string query(std::string_view name) const;                 // "" if it was not sent
  Round* leave_round() { return std::exchange(round, nullptr); }  // it outlives the round
};

// PAWL_TRY for a handler: binds the value, or answers the call with the error.
#define PAWL_TRY_CALL_AS(temporary, call, declaration, expression) \
  auto temporary = (expression);                                   \
  if (!temporary.ok()) return (call).fail(temporary.error());      \
  declaration = std::move(temporary).value()
#define PAWL_TRY_CALL(call, declaration, expression) \
  PAWL_TRY_CALL_AS(PAWL_CONCAT(pawl_try_, __LINE__), call, declaration, expression)

// Whether a call compiles text from its client: expressions, patterns, whole definitions. That may
// take long, so it is done on a pool (App::checks) and never on an I/O thread.
enum class Compiles : uint8_t {
  Nothing,
  Always,
  // Depends on the body: a small body without any sign of it is handled on the I/O thread.
  Sometimes,
};

// Which partitions decide a call, on a server that has several. There is no default: a route that
// says nothing does not compile.
enum class Routing : uint8_t {
  Here,       // no partition: what the accepting node knows by itself
  ById,       // the one of the id in the path
  ByName,     // the home of the name in the path (NameKind follows from the path)
  Create,     // chosen by what the body makes: front/placement.h
  Settings,   // partition 0; what it changes is copied into all of them before the answer
  Gather,     // all of them; their answers become one
  Broadcast,  // all of them, each for itself; counts are added
  Split,      // the entries of the body by their ids; their answers become one
  Fetch,      // whoever has the jobs
  Stream,     // all of them, as one stream
};

using CallHandler = void (*)(App&, Call&&);

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/ojs/v1/jobs/{id}"
  Permission scope;
  Routing routing;
  CallHandler handler;
  std::string_view fields_of = {};  // the member of its answer that ?fields= chooses from, if any
  Compiles compiles = Compiles::Nothing;
};

class Router {
 public:
  void add(const Route& route);
  // Null when nothing answers there; `others` then lists the methods that something answers to, as
  // the header Allow does, or is empty.
  const Route* find(std::string_view method, std::string_view path,
                    std::vector<std::string>& params, std::string& others) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
    std::unique_ptr<Node> any;
    std::vector<size_t> routes;
  };
  static void descend(const Node& node, std::string_view rest, std::vector<std::string_view>& taken,
                      const Node*& found, std::vector<std::string_view>& best);

  std::vector<Route> routes_;
  Node root_;
};

}  // namespace pawl::api
