#include "main/run_answers.h"

#include "base/quote.h"
#include "base/read_number.h"
#include "cli/terminal.h"
#include "kernel/scripts/step_names.h"

namespace pawl {
namespace {

std::string answer_text(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->as_string() : value->json();
}

std::string trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

}  // namespace

Question read_question(const std::string& step, const std::string& context) {
  Question question;
  question.step = step;
  auto parsed = Value::parse(context);
  if (!parsed.ok() || !parsed->is_object()) return question;
  question.prompt = answer_text(parsed->find("prompt_context"));
  if (const Value* data = parsed->find("data")) question.data = *data;
  if (const Value* options = parsed->find("options"); options != nullptr && options->is_array())
    for (const Value& option : options->as_array())
      question.options.push_back(
          {answer_text(option.find("id")), answer_text(option.find("description"))});
  if (const Value* fallback = parsed->find("fallback")) question.fallback = answer_text(fallback);
  return question;
}

std::string question_text(const Question& question, bool colours) {
  std::string text = cli::painted("?", cli::Colour::Yellow, colours) + " " +
                     cli::printable(question.step) +
                     (question.prompt.empty() ? "" : ": " + cli::printable(question.prompt)) + "\n";
  if (question.data.is_object())
    for (const Value::Member& member : question.data.as_object())
      text += "    " + cli::printable(member.key) + ": " +
              cli::printable(answer_text(&member.value)) + "\n";
  for (size_t i = 0; i < question.options.size(); ++i) {
    const plan::Option& option = question.options[i];
    text += "  " + std::to_string(i + 1) + ") " + cli::printable(option.id) +
            (option.description.empty() ? "" : "  " + cli::printable(option.description)) + "\n";
  }
  text += question.options.empty()
              ? "  your answer"
              : "  your choice, 1 to " + std::to_string(question.options.size());
  if (question.fallback) text += " [" + cli::printable(*question.fallback) + "]";
  return text + ": ";
}

std::string choices_text(const Question& question) {
  if (question.options.empty()) return "any text";
  std::string all;
  for (const plan::Option& option : question.options) all += (all.empty() ? "" : ", ") + option.id;
  return all;
}

Result<std::string> choice_of(const Question& question, std::string_view typed) {
  std::string text = trimmed(typed);
  if (text.empty() && question.fallback) return *question.fallback;
  if (question.options.empty()) {
    if (!text.empty()) return text;
    return Error{ErrorCode::InvalidContent, "an answer is needed"};
  }
  const plan::Option* meant = nullptr;
  size_t fitting = 0;
  for (const plan::Option& option : question.options) {
    if (option.id == text) return option.id;
    if (text.empty() || option.id.compare(0, text.size(), text) != 0) continue;
    meant = &option;
    ++fitting;
  }
  size_t number = 0;
  if (read_number(text, number) && number >= 1 && number <= question.options.size())
    return question.options[number - 1].id;
  if (fitting == 1) return meant->id;
  return Error{ErrorCode::InvalidContent, "there are: " + choices_text(question)};
}

Result<Answers> Answers::parse(const std::vector<std::string>& pairs) {
  Answers answers;
  for (const std::string& pair : pairs) {
    size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size())
      return Error{ErrorCode::InvalidRequest, "--decide takes STEP=CHOICE, not " + in_quotes(pair)};
    answers.by_step_[pair.substr(0, equals)].choices.push_back(pair.substr(equals + 1));
  }
  return answers;
}

std::optional<std::string> Answers::take(const std::string& step) {
  auto at = by_step_.find(step);
  if (at == by_step_.end()) at = by_step_.find(std::string(split_step(step).second));
  if (at == by_step_.end()) return std::nullopt;
  List& list = at->second;
  std::string choice = list.choices[list.next];
  if (list.next + 1 < list.choices.size()) ++list.next;
  return choice;
}

std::string Answers::stranger(const std::vector<const plan::Script*>& scripts) const {
  for (const auto& [step, list] : by_step_) {
    std::string_view local = split_step(step).second;
    bool found = false;
    for (const plan::Script* script : scripts)
      for (const plan::Step& each : script->steps)
        found = found || each.id == local || each.id == step;
    if (!found) return step;
  }
  return "";
}

}  // namespace pawl
