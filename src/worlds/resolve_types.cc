// Refs between schemas. A schema is resolved when all that it refers to is: so each is visited
// once, whatever the number of ways to it, and nothing recurses along refs.
#include <algorithm>
#include <set>

#include "worlds/json_pointer.h"
#include "worlds/type.h"

namespace pawl::worlds {
namespace {

// The names that a type refers to.
void collect_refs(const Type& type, std::set<std::string, std::less<>>& out) {
  if (type.kind == TypeKind::Ref) out.insert(type.ref);
  for (const auto& member : type.members) collect_refs(member.second, out);
  for (const Type& inner : type.inner) collect_refs(inner, out);
}

}  // namespace

// Sets the targets of one type's refs, all of whose targets are resolved.
class Types::Resolver {
 public:
  Resolver(const Types& types, std::vector<Complaint>& faults) : types_(types), faults_(faults) {}

  // Levels with those of the targets; 0 after a complaint.
  size_t run(Type& type, const std::string& path) {
    const size_t faults_before = faults_.size();
    const size_t levels = point(type, path);
    if (faults_.size() != faults_before) return 0;
    if (levels <= kTypeDepthMax) return levels;
    invalid(path, "with the types it refers to, it has more than 64 levels");
    return 0;
  }

 private:
  void invalid(const std::string& path, std::string_view message) {
    faults_.push_back({path, std::string(message), "type.invalid"});
  }

  size_t point(Type& type, const std::string& path) {
    const std::string at = path + '/' + std::string(type_name(type.kind));
    if (type.kind == TypeKind::Ref) return point_ref(type, at);
    size_t levels = 0;
    for (auto& [name, member] : type.members)
      levels = std::max(levels, point(member, below(at, name)));
    for (size_t i = 0; i < type.inner.size(); ++i) {
      const bool map = type.kind == TypeKind::Map;
      levels = std::max(levels, point(type.inner[i], map ? at + (i == 0 ? "/key" : "/value") : at));
    }
    check_inner(type, at);
    return levels + 1;
  }

  size_t point_ref(Type& type, const std::string& path) {
    const auto found = types_.schemas_.find(type.ref);
    if (found == types_.schemas_.end()) {
      faults_.push_back({path, "there is no schema " + type.ref, "ref.unknown"});
      return 0;
    }
    // Complained of, or to be: a complaint about each type that refers to it would say nothing new.
    if (found->second.levels == 0) return 0;
    type.target = found->second.type;
    return found->second.levels + 1;
  }

  // What read_type() cannot see behind a ref.
  void check_inner(const Type& type, const std::string& path) {
    if (type.inner.empty() || type.inner.front().kind != TypeKind::Ref) return;
    const TypeKind kind = type.inner.front().plain().kind;
    if (kind == TypeKind::Ref) return;
    if (type.kind == TypeKind::Option && (kind == TypeKind::Option || kind == TypeKind::Unit))
      invalid(path, "an option holds neither an option nor a unit");
    if (type.kind == TypeKind::Map && !is_key_kind(kind))
      invalid(path + "/key", "a map's key is int, nat, text, uuid or hash");
  }

  const Types& types_;
  std::vector<Complaint>& faults_;
};

void Types::add(const std::string& name, Type type) {
  schemas_[name] = Schema{std::make_shared<Type>(std::move(type)), 0};
}

std::shared_ptr<const Type> Types::find(std::string_view name) const {
  const auto found = schemas_.find(name);
  return found == schemas_.end() ? nullptr : found->second.type;
}

void Types::resolve(Type& type, const std::string& path, std::vector<Complaint>& faults) const {
  Resolver(*this, faults).run(type, path);
}

class Types::Graph {
 public:
  explicit Graph(const Types& types) {
    for (const auto& [name, schema] : types.schemas_) collect_refs(*schema.type, links_[name].to);
    for (auto& [name, link] : links_)
      for (const std::string& to : link.to)
        if (const auto target = links_.find(to); target != links_.end()) {
          target->second.from.push_back(name);
          ++link.open;
        }
  }

  // visit(name): each schema after all that it refers to. Those of circles, and what refers to
  // such, are left.
  template <class Visit>
  void visit_upwards(Visit&& visit) {
    std::vector<std::string_view> ready;
    for (const auto& [name, link] : links_)
      if (link.open == 0) ready.push_back(name);
    while (!ready.empty()) {
      const std::string_view name = ready.back();
      ready.pop_back();
      visit(name);
      const auto link = links_.find(name);
      for (const std::string_view from : link->second.from)
        if (--links_[from].open == 0) ready.push_back(from);
      links_.erase(link);
    }
  }

  // visit(name, circle): each that visit_upwards() left. Those that only refer to a circle, and are
  // in none, are taken away from the end that nothing refers to.
  template <class Visit>
  void visit_rest(Visit&& visit) const {
    std::map<std::string_view, size_t> referred;
    for (const auto& [name, link] : links_) referred[name] = 0;
    for (const auto& [name, link] : links_)
      for (const std::string& to : link.to)
        if (const auto target = referred.find(to); target != referred.end()) ++target->second;
    std::vector<std::string_view> ready;
    for (const auto& [name, count] : referred)
      if (count == 0) ready.push_back(name);
    while (!ready.empty()) {
      const std::string_view name = ready.back();
      ready.pop_back();
      referred.erase(name);
      for (const std::string& to : links_.find(name)->second.to)
        if (const auto target = referred.find(to);
            target != referred.end() && --target->second == 0)
          ready.push_back(target->first);
    }
    for (const auto& [name, link] : links_) visit(name, referred.contains(name));
  }

 private:
  struct Links {
    std::set<std::string, std::less<>> to;
    std::vector<std::string_view> from;
    size_t open = 0;  // refs to schemas that are not yet visited
  };
  std::map<std::string_view, Links> links_;
};

void Types::resolve(const std::map<std::string, std::string>& paths,
                    std::vector<Complaint>& faults) {
  auto path_of = [&](std::string_view name) {
    const auto found = paths.find(std::string(name));
    return found == paths.end() ? std::string() : found->second;
  };
  Graph graph(*this);
  Resolver resolver(*this, faults);
  graph.visit_upwards([&](std::string_view name) {
    Schema& schema = schemas_.find(name)->second;
    schema.levels = resolver.run(*schema.type, path_of(name));
  });
  graph.visit_rest([&](std::string_view name, bool circle) {
    if (circle)
      faults.push_back(
          {path_of(name), "refers to itself, directly or through others", "type.invalid"});
    resolver.run(*schemas_.find(name)->second.type, path_of(name));
  });
}

}  // namespace pawl::worlds
