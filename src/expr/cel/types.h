// Static types of the gradual checker: int, list<string>, map<string, dyn>, optional_type<A>.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::expr {

struct Type {
  enum class Form : uint8_t { Dyn, Named, Param };

  Form form = Form::Dyn;
  std::string
      name;  // of Named: "int", "list", "optional_type"; of Param: "A", or "A~7" once instantiated
  std::vector<Type> params;

  static Type dyn() { return Type{}; }
  static Type named(std::string name, std::vector<Type> params = {}) {
    return Type{Form::Named, std::move(name), std::move(params)};
  }
  static Type param(std::string name) { return Type{Form::Param, std::move(name), {}}; }
  static Type list(Type element) { return named("list", {std::move(element)}); }
  static Type map(Type key, Type value) { return named("map", {std::move(key), std::move(value)}); }
  static Type optional(Type value) { return named("optional_type", {std::move(value)}); }

  bool is_dyn() const { return form == Form::Dyn; }
  bool is(std::string_view wanted) const { return form == Form::Named && name == wanted; }
  size_t size() const;  // how many names it is built from
  std::string text() const;

  bool operator==(const Type&) const = default;

  // "map<string, list<A>>". Single capital letters are parameters.
  static Result<Type> parse(std::string_view text);
};

// What the type parameters stand for, found by unification.
class Substitution {
 public:
  // Whether a value of type `from` may be used as `to`. Parameters are bound on the way; on failure
  // nothing changes.
  bool assign(const Type& from, const Type& to);
  bool assign_all(const std::vector<Type>& from, const std::vector<Type>& to);
  // Parameters replaced by their known types; unknown ones by dyn if unbound_is_dyn.
  Type resolve(const Type& type, bool unbound_is_dyn) const;

 private:
  bool unify(const Type& from, const Type& to);
  bool bind(const Type& type, const Type& param, bool& was_bound);
  bool mentions(const Type& type, const std::string& param) const;

  void set(const std::string& param, const Type& type);
  void undo(size_t mark);

  std::unordered_map<std::string, Type> bound_;
  std::vector<std::pair<std::string, std::optional<Type>>>
      trail_;  // what to restore if an attempt fails
};

// Of two types where one is assignable to the other: the more general one.
Type most_general(const Type& a, const Type& b);

}  // namespace pawl::expr
