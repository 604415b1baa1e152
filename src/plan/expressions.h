// The expressions and templates of a definition: converted into the form that runs, and checked as
// far as possible before a run.
#pragma once

#include <string>
#include <string_view>

#include "plan/findings.h"

namespace pawl::plan {

// A guard or another expression, as CEL: without the ${{ }} around it, and with a dotted path of
// the old form (steps.fetch-data.ok, loop.item) rewritten as CEL. Faults point at the character.
// Text that was accepted before is not checked.
std::string read_expression(Findings& findings, const Cursor& at, bool checked);

// The `over` of a loop: a list, or an expression that gives one.
Value read_over(Findings& findings, const Cursor& at, bool checked);

// A text in `outputs` that begins with a name known to runs is an expression and becomes a
// template; any other value stays as it is.
Value read_output(Findings& findings, const Cursor& at);

// A JSON Schema that compiles.
void check_schema(Findings& findings, const Cursor& at);

// Checks that every ${{ in the tree is closed and not empty.
void check_templates(Findings& findings, const Cursor& tree);

}  // namespace pawl::plan
