// Questions of a run, and answers from the command line or the terminal.
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
  Value data;  // object: the data_inject of the definition
  std::vector<plan::Option> options;
  std::optional<std::string> fallback;
};

// From a decision's context as the kernel keeps it.
Question read_question(const std::string& step, const std::string& context);

// The question, its data and the numbered options; ends with the prompt.
std::string question_text(const Question& question, bool colours);

// The option given by a number, a name or a unique prefix; without options, the text.
// InvalidContent lists the options.
Result<std::string> choice_of(const Question& question, std::string_view typed);

// "pay, reject", or "any text".
std::string choices_text(const Question& question);

// --decide STEP=CHOICE. A step is named by its whole id or by its last part; several answers to one
// step are used in order, and the last one repeats.
class Answers {
 public:
  static Result<Answers> parse(const std::vector<std::string>& pairs);
  std::optional<std::string> take(const std::string& step);
  // A step among the answers that is in no script; "" if there is none.
  std::string stranger(const std::vector<const plan::Script*>& scripts) const;

 private:
  struct List {
    std::vector<std::string> choices;
    size_t next = 0;
  };
  std::map<std::string, List> by_step_;
};

}  // namespace pawl
