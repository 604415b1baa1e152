#include "api/router.h"

#include "base/named.h"
#include "base/url.h"
#include "wire/field_choice.h"

namespace pawl::api {
namespace {

constexpr Named<Permission> kScopeNames[] = {
    {"public", Permission::Public}, {"read", Permission::Read},       {"write", Permission::Write},
    {"worker", Permission::Worker}, {"operate", Permission::Operate}, {"admin", Permission::Admin}};

std::string_view next_segment(std::string_view& rest) {
  if (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  size_t end = std::min(rest.find('/'), rest.size());
  std::string_view segment = rest.substr(0, end);
  rest.remove_prefix(end);
  return segment;
}

// The resource type of the last parameter of a path: "/ojs/v1/jobs/{id}/ack" names a job by
// parameter 0.
std::pair<std::string, size_t> resource_of_pattern(std::string_view pattern) {
  static constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
      {"cron", "cron_job"},
      {"dead-letter", "dead_letter_job"},
      {"subscriptions", "webhook_subscription"},
      {"rate-limits", "rate_limit"}};
  std::string_view collection, before;
  size_t count = 0;
  while (!pattern.empty()) {
    std::string_view segment = next_segment(pattern);
    bool is_param = !segment.empty() && segment.front() == '{';
    if (is_param && before.substr(0, 1) != "{") collection = before;
    count += is_param ? 1 : 0;
    before = segment;
  }
  for (const auto& [name, type] : kNamed)
    if (collection == name) return {std::string(type), count - 1};
  std::string type(collection);
  if (!type.empty() && type.back() == 's') type.pop_back();
  for (char& c : type) c = c == '-' ? '_' : c;
  return {type, count - 1};
}

}  // namespace

Surface surface_of_path(std::string_view path) {
  if (path.substr(0, 4) == "/ojs") return Surface::Ojs;
  return path.substr(0, 4) == "/v1/" ? Surface::V1 : Surface::Plain;
}

std::string_view scope_name(Permission scope) { return name_of(kScopeNames, scope); }

Surface Call::surface() const {
  return surface_of_path(route != nullptr ? route->pattern : request.path);
}

void Call::answer(http::Response&& response, Wakes* wakes) {
  if (route != nullptr && !route->fields_of.empty() && response.status == 200) {
    std::string fields = query("fields");
    if (!fields.empty())
      response.body = keep_fields(std::move(response.body), route->fields_of, fields);
  }
  responder.respond(std::move(response), wakes);
}

void Call::fail(const Error& error) { answer(failure(error)); }

http::Response Call::failure(const Error& error) const {
  if (error.code != ErrorCode::NotFound || !error.details.empty() || surface() != Surface::Ojs)
    return error_response(surface(), error, request.id);
  Error named = error;
  if (route == nullptr) {
    named.details = {{"resource_type", "path"}, {"resource_id", std::string(request.path)}};
  } else if (!params.empty()) {
    auto [type, index] = resource_of_pattern(route->pattern);
    named.details = {{"resource_type", type}, {"resource_id", params[index]}};
  }
  return error_response(surface(), named, request.id);
}

std::string Call::query(std::string_view name) const {
  return query_param(request.query, name).value_or("");
}

void Router::add(const Route& route) {
  Node* node = &root_;
  std::string_view rest = route.pattern;
  while (!rest.empty() && rest != "/") {
    std::string_view segment = next_segment(rest);
    std::unique_ptr<Node>& child =
        segment.front() == '{' ? node->any : node->children[std::string(segment)];
    if (!child) child = std::make_unique<Node>();
    node = child.get();
  }
  node->routes.push_back(routes_.size());
  routes_.push_back(route);
}

// Literal segments take precedence over parameters; a dead end after a literal falls back to the
// parameter.
void Router::descend(const Node& node, std::string_view rest, std::vector<std::string_view>& taken,
                     const Node*& found, std::vector<std::string_view>& best) {
  if (rest.empty() || rest == "/") {
    if (!node.routes.empty()) {
      found = &node;
      best = taken;
    }
    return;
  }
  std::string_view segment = next_segment(rest);
  if (auto child = node.children.find(segment); child != node.children.end())
    descend(*child->second, rest, taken, found, best);
  if (found != nullptr || !node.any || segment.empty()) return;
  taken.push_back(segment);
  descend(*node.any, rest, taken, found, best);
  taken.pop_back();
}

const Route* Router::find(std::string_view method, std::string_view path,
                          std::vector<std::string>& params, std::string& others) const {
  const Node* node = nullptr;
  std::vector<std::string_view> taken;
  std::vector<std::string_view> segments;
  descend(root_, path, taken, node, segments);
  if (node == nullptr) return nullptr;
  for (std::string_view segment : segments) {
    auto decoded = percent_decode(segment);
    if (!decoded) return nullptr;
    params.push_back(std::move(*decoded));
  }
  for (size_t index : node->routes)
    if (routes_[index].method == method || (method == "HEAD" && routes_[index].method == "GET"))
      return &routes_[index];
  for (size_t index : node->routes) {
    others.append(others.empty() ? "" : ", ").append(routes_[index].method);
    if (routes_[index].method == "GET") others += ", HEAD";
  }
  return nullptr;
}

}  // namespace pawl::api
