// One check of one instance against a compiled schema. Private to the validator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "expr/schema/json_schema.h"
#include "expr/schema/node.h"

namespace pawl::expr::schema {

// The path to a part of the instance, kept on the stack and printed only for a fault.
struct Step {
  const Step* up = nullptr;
  std::string_view key;  // of a member; an element has none
  size_t index = 0;

  static Step member(const Step* up, std::string_view key) { return {up, key, 0}; }
  static Step element(const Step* up, size_t index) { return {up, {}, index}; }
};

std::string spell(const Step* step);

// Which members and elements some keyword has evaluated, by index.
struct Evaluated {
  std::vector<bool> members;
  std::vector<bool> elements;

  void merge(const Evaluated& other);
};

class Checker {
 public:
  Checker(const Document& document, size_t faults_max, Budget& budget)
      : document_(document), faults_max_(faults_max), budget_(budget) {}

  std::vector<SchemaFault> run(const Value& instance);

 private:
  // The resources entered so far, innermost first: where $dynamicRef looks.
  struct Scope {
    const Scope* up;
    const Resource* resource;
  };
  struct Frame {
    const Node& node;
    const Value& value;
    const Step* path;
    const Scope* scope;
    uint32_t depth;
    Evaluated* evaluated;  // null if not needed
  };
  using Message = FunctionRef<std::string()>;

  bool check(const Node& node, const Value& value, const Step* path, const Frame* from,
             Evaluated* evaluated);
  bool quietly(const Node& node, const Frame& frame, Evaluated* evaluated);
  bool check_kind(const Frame& frame);
  bool check_number(const Frame& frame);
  bool check_string(const Frame& frame);
  bool check_array(const Frame& frame);
  bool check_elements(const Frame& frame);
  bool check_contains(const Frame& frame);
  bool check_unique(const Frame& frame);
  bool check_object(const Frame& frame);
  bool check_members(const Frame& frame);
  bool check_dependencies(const Frame& frame);
  bool check_combined(const Frame& frame);
  bool check_any_of(const Frame& frame);
  bool check_one_of(const Frame& frame);
  bool check_references(const Frame& frame);
  bool check_unevaluated(const Frame& frame);
  bool within(const Frame& frame, uint64_t size, const Count& least, const Count& most,
              std::string_view least_keyword, std::string_view most_keyword, std::string_view unit);
  bool matches(const Pattern& pattern, std::string_view text);

  bool fault(const Step* path, std::string_view keyword, Message message);
  bool spend(uint64_t steps);
  bool done() const { return exhausted_ || (quiet_ == 0 && faults_.size() >= faults_max_); }

  const Document& document_;
  const size_t faults_max_;
  std::vector<SchemaFault> faults_;
  uint32_t quiet_ = 0;  // alternatives being tried: their faults are not reported yet
  Budget& budget_;
  bool exhausted_ = false;
};

// Whether number is a multiple of divisor (> 0), as the decimal numbers that were written.
bool is_multiple(const Value& number, const Value& divisor);
// Equal values hash alike; `parts` grows by the number of parts read.
size_t hash_value(const Value& value, uint64_t& parts);

}  // namespace pawl::expr::schema
