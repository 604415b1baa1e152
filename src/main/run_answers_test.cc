#include "main/run_answers.h"

#include <gtest/gtest.h>

#include "plan/definition.h"

namespace pawl {
namespace {

Question pay_or_reject() {
  return read_question("check.true.ask",
                       R"({"prompt_context":"Pay \u001b[31mit?","data":{"amount":900,"who":"Ada"},)"
                       R"("options":[{"id":"pay","description":"Pay it"},)"
                       R"({"id":"park","description":""},{"id":"reject","description":"No"}],)"
                       R"("fallback":"reject"})");
}

TEST(RunAnswers, TheQuestionShowsWhatIsKnownAndDrivesNoTerminal) {
  EXPECT_EQ(question_text(pay_or_reject(), false),
            "? check.true.ask: Pay ?[31mit?\n    amount: 900\n    who: Ada\n  1) pay  Pay it\n"
            "  2) park\n  3) reject  No\n  your choice, 1 to 3 [reject]: ");
  EXPECT_EQ(question_text(read_question("q", "not json"), false), "? q\n  your answer: ");
}

TEST(RunAnswers, ANumberANameOrABeginningIsAChoice) {
  auto told = [](const char* typed) {
    auto choice = choice_of(pay_or_reject(), typed);
    return choice.ok() ? *choice : "! " + choice.error().message;
  };
  EXPECT_EQ(told("1"), "pay");
  EXPECT_EQ(told(" park \n"), "park");
  EXPECT_EQ(told("r"), "reject");
  EXPECT_EQ(told(""), "reject");  // the fallback
  for (const char* wrong : {"0", "4", "1x", "pa", "nothing", "99999999999999999999"})
    EXPECT_EQ(told(wrong), "! there are: pay, park, reject") << wrong;
}

TEST(RunAnswers, WithoutOptionsAnyTextIsTheAnswer) {
  Question free = read_question("q", R"({"prompt_context":"Why?","options":[]})");
  EXPECT_EQ(*choice_of(free, "because = so\n"), "because = so");
  EXPECT_FALSE(choice_of(free, "  \n").ok());
  EXPECT_EQ(choices_text(free), "any text");
}

TEST(RunAnswers, AnswersAreUsedInOrderAndTheLastOneStays) {
  auto answers = Answers::parse({"ask=a=b", "ask=c", "loop.iter_1.ask=d"});
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ(answers->take("loop.iter_0.ask"), "a=b");
  EXPECT_EQ(answers->take("loop.iter_1.ask"), "d");
  EXPECT_EQ(answers->take("loop.iter_2.ask"), "c");
  EXPECT_EQ(answers->take("ask"), "c");
  EXPECT_EQ(answers->take("other"), std::nullopt);
  for (const char* wrong : {"ask", "=x", "ask=", ""})
    EXPECT_FALSE(Answers::parse({wrong}).ok()) << wrong;
}

TEST(RunAnswers, AStepThatNoScriptHasIsNoticed) {
  plan::ReadResult read = plan::read_definition(
      "steps:\n  - id: each\n    type: loop\n    config:\n      over: [1]\n      body: [{id: ask, "
      "type: reasoning, config: {prompt_context: q}}]\n");
  ASSERT_TRUE(read.valid());
  EXPECT_EQ(Answers::parse({"ask=x", "each.iter_0.ask=y"})->stranger({read.script.get()}), "");
  EXPECT_EQ(Answers::parse({"ask=x", "aks=y"})->stranger({read.script.get()}), "aks");
}

}  // namespace
}  // namespace pawl
