// Templates: ${{ … }} inside the strings of a JSON tree.
//
// A string that is one ${{ … }} and nothing else becomes the value itself, type kept; among other
// text the value is rendered as text (to_text). Values are inserted into the tree and never scanned
// again, so data cannot smuggle in a template, break the JSON around it or name a secret. Object
// keys may hold templates too.
//
// The text between the braces is first tried as a dotted path (steps.fetch-data.output.items:
// segments may hold
// '-', a literal key with dots wins over nesting, `output` behind a step may be left out), then as
// CEL. An unknown name is an error that lists the known names.
//
// Secrets: ${{ secrets.NAME }} asks the SecretDesk of the options, with its place; each secret
// filled in is reported, so that a caller can keep it out of logs and histories. Any other
// expression that names `secrets` is refused (expr/template/secret.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/budget.h"
#include "expr/cel/activation.h"
#include "expr/cel/cache.h"
#include "expr/template/secret.h"

namespace pawl::expr {

struct Interpolated {
  Value value;
  std::vector<Secret> secrets;
};

struct TemplateOptions {
  // As the text substitution of old definitions did: "${{ n }}" with 200 gives "200", not 200.
  bool always_text = false;
  SecretDesk* secrets = nullptr;  // none: every secret is refused
};

// InvalidContent for a bad template or a failing expression, with the path of the string; TooLarge
// when the budget is spent. One budget pays for the whole tree. For a secret at a forbidden place:
// is_secret_denied().
Result<Interpolated> interpolate(const Value& tree, const Activation& activation,
                                 ProgramCache& cache, Budget& budget,
                                 const TemplateOptions& options = {});

bool has_template(std::string_view text);

// The expression of a guard: guards may be written bare or as one ${{ … }}.
std::string_view unwrap_template(std::string_view text);

}  // namespace pawl::expr
