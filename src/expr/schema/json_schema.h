// JSON Schema 2020-12: compiled once, checked often.
//
// Formats are asserted. $ref reaches inside the same document only: nothing is ever fetched.
// Compiling and checking are bounded by step budgets, recursion included. Immutable, any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"

namespace pawl::expr {

struct SchemaFault {
  std::string path;  // of the instance: "order.items[2].price"; "" is the whole
  std::string keyword;
  std::string message;
};

class JsonSchema {
 public:
  // InvalidContent, with the place in the schema, if it is not a schema.
  // TooLarge if it costs more than the budget has; kCompileStepsMax without one.
  static Result<std::shared_ptr<const JsonSchema>> compile(const Value& schema);
  static Result<std::shared_ptr<const JsonSchema>> compile(const Value& schema, Budget& budget);
  ~JsonSchema();

  // Every fault up to `faults_max`; empty means valid.
  std::vector<SchemaFault> check(const Value& instance, size_t faults_max = 50) const;
  // The same, paid from a budget; if that is spent, the last fault only says so.
  std::vector<SchemaFault> check(const Value& instance, Budget& budget,
                                 size_t faults_max = 50) const;
  // Fills in `default`s of missing object members, recursively.
  void fill_defaults(Value& instance) const;

 private:
  struct Impl;
  explicit JsonSchema(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::expr
