// CaseReader: reads the parts of one case from the test file. Reports faults and continues. Lives
// while the file is read.
#pragma once

#include "plan/findings.h"
#include "rehearse/test_file.h"

namespace pawl::rehearse {

class CaseReader {
 public:
  CaseReader(plan::Findings& findings, const TestFile& file) : findings_(findings), file_(file) {}

  // `defaults`: the value of the key of that name, or null.
  Case read(const plan::Cursor& at, const plan::Cursor* defaults);

 private:
  void read_given(const plan::Cursor& at, Case& into);
  void read_secrets(const plan::Cursor& at, Case& into);
  CaseSecret read_secret(const std::string& name, const plan::Cursor& at);
  // case_mocks.cc
  void read_mocks(const plan::Cursor& at, std::vector<Mock>& into);
  Answer read_answer(const plan::Cursor& at);
  void read_error(const plan::Cursor& at, Answer& answer);
  void check_mock_key(const plan::Cursor& at, const std::string& key);
  // case_events.cc
  Event read_event(const plan::Cursor& at);
  void read_deed(const plan::Cursor& at, Event& event);
  void read_decide(const plan::Cursor& at, Event& event);
  void read_signal(const plan::Cursor& at, Event& event);
  // case_expect.cc
  Expect read_expect(const plan::Cursor& at);
  void read_elapsed(const plan::Cursor& at, Elapsed& elapsed);
  void read_texts(const plan::Cursor& at, std::vector<std::string>& into);

  void check_cel(const plan::Cursor& at, const std::string& text);
  // The step that a key means, of any definition; null if there is none.
  const plan::Step* find_step(std::string_view key) const;
  void check_step(const plan::Cursor& at, std::string_view key);
  std::string nearest_name(std::string_view key, bool actions_too) const;

  plan::Findings& findings_;
  const TestFile& file_;
};

}  // namespace pawl::rehearse
