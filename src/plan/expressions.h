// What a definition says in expressions and templates: brought into the form that runs, and checked
// as far as that is possible before there is a run.
#pragma once

#include <string>
#include <string_view>

#include "plan/findings.h"

namespace pawl::plan {

// A guard or another expression, as CEL: without the ${{ }} around it, and with a dotted path of
// the old form (steps.fetch-data.ok, loop.item) written as CEL has it. Faults point at the
// character. Unchecked text was accepted before.
std::string read_expression(Findings& findings, const Cursor& at, bool checked);

// What a loop goes over: a list, or text that gives one.
Value read_over(Findings& findings, const Cursor& at, bool checked);

// Text of a workflow's output that names what a run knows is an expression, and becomes a template;
// everything else is itself.
Value read_output(Findings& findings, const Cursor& at);

// A JSON Schema that compiles.
void check_schema(Findings& findings, const Cursor& at);

// Every ${{ of every text in the tree is closed, and says something.
void check_templates(Findings& findings, const Cursor& tree);

}  // namespace pawl::plan
