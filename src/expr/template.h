// Templates: ${{ … }} inside the strings of a JSON tree.
//
// A string that is one ${{ … }} and nothing else becomes the value itself, type kept; among other
// text the value is rendered as text (to_text). Values are inserted into the tree and never scanned
// again, so data cannot smuggle in a template, break the JSON around it or name a secret. Object
// keys may hold templates too.
//
// What stands between the braces is first tried as a dotted path (steps.fetch-data.output.items:
// segments may hold
// '-', a literal key with dots wins over nesting, `output` behind a step may be left out), then as
// CEL. A name that does not exist is an error that lists what does.
//
// Secrets: every value that comes from an expression which names `secrets` is reported with its
// place, so that a caller can keep it out of logs and histories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "expr/activation.h"
#include "expr/budget.h"
#include "expr/cache.h"

namespace pawl::expr {

struct Secret {
  std::string
      path;  // of the string in the result that holds it: $.headers.Authorization, $.list[2]
  std::string text;  // as rendered
};

struct Interpolated {
  Value value;
  std::vector<Secret> secrets;
};

struct TemplateOptions {
  // As the text substitution of old definitions did: "${{ n }}" with 200 gives "200", not 200.
  bool always_text = false;
};

// InvalidContent for a bad template or a failing expression, with the path of the string; TooLarge
// when the budget is spent. One budget pays for the whole tree.
Result<Interpolated> interpolate(const Value& tree, const Activation& activation,
                                 ProgramCache& cache, Budget& budget,
                                 const TemplateOptions& options = {});

bool has_template(std::string_view text);

// The expression of a guard: guards may be written bare or as one ${{ … }}.
std::string_view unwrap_template(std::string_view text);

// Replaces every occurrence of every secret of three bytes or more by "***".
std::string redact(std::string_view text, const std::vector<Secret>& secrets);

}  // namespace pawl::expr
