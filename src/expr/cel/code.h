// Code: the resolved form that the evaluator walks. Internal to program.cc, compiler.cc and
// evaluator.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "expr/cel/ast.h"
#include "expr/cel/functions.h"
#include "expr/cel/val.h"

namespace pawl::expr {

enum class Op : uint8_t {
  Const,      // constants[a]
  Name,       // names[a]: a variable, perhaps with fields behind it
  Local,      // slot
  Select,     // a . constants[b]; slot 1: a itself if it has no such field
  SelectOpt,  // a .? constants[b]
  Has,        // has(a . constants[b])
  Index,      // a [ b ]
  IndexOpt,   // a [? b ]
  Call,       // functions[a] on operands b…b+c
  Fail,       // constants[a] is the message
  Not,
  Negate,
  And,  // operands b…b+c
  Or,
  Cond,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  In,
  List,  // operands b…b+c; a: marks index + 1
  Map,
  Fold,   // folds[a]
  Bind,   // slot = a, then b
  Block,  // slots from slot on = operands b…b+c, then a
  OptOr,  // a, then b if a is none
  OptOrValue,
  Match,  // a against regexes[b]
};

struct Step {
  Op op = Op::Const;
  uint16_t slot = 0;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t offset = 0;
};

// A dotted name, e.g. steps.fetch.status. What it means depends on which variables exist, so the
// candidates are tried in order: longest first, innermost namespace first.
struct NameLookup {
  struct Candidate {
    std::string name;
    uint32_t parts = 0;  // how many of the dotted parts the name takes; the rest are fields
    bool dotted = false;
    Val type;  // what the name denotes if there is no such variable, or Absent
  };
  std::vector<Candidate> candidates;
  std::vector<Val> fields;  // all parts, as strings
  std::string root;
  uint64_t bytes = 0;  // of all parts
  uint32_t alias = 0;  // this field is skipped if it is not there; 0: none
};

struct FoldLoop {
  Fold fold = Fold::All;
  bool pair = false;
  bool filtered = false;
  uint16_t slot = 0;  // of the first variable; the second has the next one
  uint32_t range = 0;
  uint32_t filter = 0;
  uint32_t result = 0;
};

struct Code {
  std::vector<Step> steps;
  std::vector<uint32_t> operands;
  std::vector<Val> constants;
  std::vector<NameLookup> names;
  std::vector<const Function*> functions;
  std::vector<FoldLoop> folds;
  std::vector<std::vector<bool>> marks;
  std::vector<Regex> regexes;
  std::vector<std::string> variables;
  uint32_t root = 0;
  uint32_t slots = 0;
  bool mixed_arithmetic = false;
};

}  // namespace pawl::expr
