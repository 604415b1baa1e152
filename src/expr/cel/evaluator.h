// Evaluator: walks a Code. Internal: use Program::evaluate().
#pragma once

#include <array>
#include <memory>

#include "expr/cel/activation.h"
#include "expr/cel/code.h"

namespace pawl::expr {

class Evaluator {
 public:
  Evaluator(const Code& code, const Activation& activation, Budget& budget);
  // May borrow from the code and the activation; errors are values.
  Val run(uint32_t step);

 private:
  Val dispatch(const Step& step);
  Val name(const Step& step);
  Val unknown_name(const NameLookup& lookup, uint32_t offset);
  Val call(const Step& step);
  Val logical(const Step& step);
  Val conditional(const Step& step);
  Val relation(const Step& step);
  Val arithmetic(const Step& step);
  Val contains(const Step& step);
  Val index(const Step& step);
  Val list(const Step& step);
  Val map(const Step& step);
  Val block(const Step& step);
  Val presence(const Step& step);
  Val alternative(const Step& step);
  Val fail(const Step& step);
  Val select(const Step& step);
  Val invert(const Step& step);
  Val minus(const Step& step);
  Val bind(const Step& step);
  Val match(const Step& step);

  Val fold(const Step& step);
  Val fold_option(const FoldLoop& loop, const Val& range, uint32_t offset);
  Val quantify(const FoldLoop& loop, const Val& range, uint32_t offset);
  Val collect(const FoldLoop& loop, const Val& range, uint32_t offset);
  Val collect_map(const FoldLoop& loop, const Val& range, uint32_t offset);
  Val sort_by(const FoldLoop& loop, const Val& range, uint32_t offset);
  bool keeps(const FoldLoop& loop, uint32_t offset, Val& problem);
  Val merge_entries(MapNode& into, const Val& entries, uint32_t offset);
  void set_element(const FoldLoop& loop, const Val& range, size_t at);

  bool pay_text(const Val& value);
  Val placed(Val value, uint32_t offset);
  Val& slot(uint32_t at) {
    return at < inline_.size() ? inline_[at] : overflow_[at - inline_.size()];
  }

  const Code& code_;
  const Activation& activation_;
  CallContext context_;
  uint32_t depth_ = 0;
  std::array<Val, 8> inline_;
  std::vector<Val> overflow_;
};

// Fields and elements, shared with the template engine.
Val select_field(const Val& operand, std::string_view field);
Val select_output(const Val& operand);  // the field `output`, or the value itself if it has none
Val index_into(const Val& operand, const Val& key);

}  // namespace pawl::expr
