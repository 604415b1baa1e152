// Questions that a run asks, and answers from the command line or from whoever sits there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "plan/script.h"

namespace pawl {

struct Question {
  std::string step;
  std::string prompt;
  Value data;  // object: what the definition gives along
  std::vector<plan::Option> options;
  std::optional<std::string> fallback;
};

// From a decision's context as the kernel keeps it.
Question read_question(const std::string& step, const std::string& context);

// What is asked, what is known, and the numbered options; ends where the answer is typed.
std::string question_text(const Question& question, bool colours);

// The option that was meant by a number, a name or the only beginning that fits; with no options,
// the text. InvalidContent says what there is.
Result<std::string> choice_of(const Question& question, std::string_view typed);

// "pay, reject", or "any text".
std::string choices_text(const Question& question);

// --decide STEP=CHOICE. A step is named by its whole id or by its last part; several answers to one
// step are used in their order, the last one for all that follow.
class Answers {
 public:
  static Result<Answers> parse(const std::vector<std::string>& pairs);
  std::optional<std::string> take(const std::string& step);
  // A step among the answers that no script has; "" if there is none.
  std::string stranger(const std::vector<const plan::Script*>& scripts) const;

 private:
  struct List {
    std::vector<std::string> choices;
    size_t next = 0;
  };
  std::map<std::string, List> by_step_;
};

}  // namespace pawl
