// Activation: gives an expression its variables. Lazy: only names that the expression uses are
// looked up.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/cel/val.h"

namespace pawl::expr {

// The values may borrow (Val::json): they must stay alive and unchanged until evaluate() returns,
// whose result holds nothing borrowed. Called on the evaluating thread only.
class Activation {
 public:
  virtual ~Activation() = default;
  // Absent if there is no such variable; an error value if it exists but cannot be read.
  virtual Val find(std::string_view name) const = 0;
  // Whether some variables have dotted names; only then are `a.b` and `a.b.c` looked up before `a`.
  virtual bool dotted() const { return false; }
  // For the message about an unknown name.
  virtual std::vector<std::string> names() const { return {}; }
};

// A few variables by name. Borrows the argument of json().
class Variables : public Activation {
 public:
  Variables& set(std::string name, Val value) {
    dotted_ = dotted_ || name.find('.') != std::string::npos;
    values_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  Variables& json(std::string name, const Value& value) {
    return set(std::move(name), Val::json(value));
  }

  Val find(std::string_view name) const override {
    for (const auto& [key, value] : values_) {
      if (key == name) return Val::borrow(value);
    }
    return Val();
  }
  bool dotted() const override { return dotted_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& entry : values_) names.push_back(entry.first);
    return names;
  }

 private:
  std::vector<std::pair<std::string, Val>> values_;
  bool dotted_ = false;
};

// Two sets of variables, the inner one hiding the outer: a loop's own variables over those of the
// run.
class Layered : public Activation {
 public:
  Layered(const Activation& inner, const Activation& outer) : inner_(inner), outer_(outer) {}

  Val find(std::string_view name) const override {
    Val found = inner_.find(name);
    return found.is_absent() ? outer_.find(name) : found;
  }
  bool dotted() const override { return inner_.dotted() || outer_.dotted(); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = inner_.names();
    for (std::string& name : outer_.names()) {
      if (inner_.find(name).is_absent()) names.push_back(std::move(name));
    }
    return names;
  }

 private:
  const Activation& inner_;
  const Activation& outer_;
};

}  // namespace pawl::expr
