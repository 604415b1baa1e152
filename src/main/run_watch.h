// RunWatch: follows one run on a LocalEngine to its end: shows its progress, answers its questions,
// and gives up when there is no answer.
//
// All output goes to stderr, so that stdout holds only the result. Ctrl-C cancels the run and waits
// for its end; a second one exits at once. One at a time in a process, because it handles signals.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "main/local_engine.h"
#include "main/run_answers.h"
#include "main/run_progress.h"

namespace pawl {

enum class Show : uint8_t { Nothing, Lines, Picture };

struct WatchSettings {
  Answers answers;
  Show show = Show::Lines;
  bool may_ask = false;    // stdin is a terminal
  int64_t timeout_ms = 0;  // 0 = as long as it takes
};

// How it ended.
struct Watched {
  enum Kind : uint8_t {
    Ended,
    Unanswered,
    WrongAnswer,
    Interrupted,
    TimedOut,
    Broken
  } kind = Ended;
  int signal = 0;  // of Interrupted
};

class RunWatch {
 public:
  // Create it before the run starts, since it listens from here on. `script` must outlive it.
  RunWatch(LocalEngine& engine, const RunId& run, const plan::Script& script,
           WatchSettings settings);
  ~RunWatch();
  RunWatch& operator=(RunWatch&&) = delete;

  Watched follow();

 private:
  struct Inbox;  // shared with the engine's thread

  bool turn();  // false: it has ended, see outcome_
  void wait_for_news();
  void take_news();
  void take_signals(const std::string& bytes);
  void cancel(const std::string& reason);
  void refuse_jobs();
  bool answer_questions();
  bool answer(const OpenQuestion& open);
  Result<Question> question_of(const OpenQuestion& open);
  Status resolve(const OpenQuestion& open, const std::string& choice);
  void ask(const OpenQuestion& open, const Question& question);
  void read_typed();
  bool take_line(const std::string& line);
  bool still_suspended();
  bool hopeless();
  void show();
  void erase();
  void say(const std::string& text);

  LocalEngine& engine_;
  RunId run_;
  WatchSettings settings_;
  RunProgress progress_;
  SystemClock clock_;
  std::shared_ptr<Inbox> inbox_;
  Watched outcome_;
  int64_t deadline_ms_ = 0;  // 0 = none
  bool cancelled_ = false;
  unsigned tick_ = 0;
  size_t rows_drawn_ = 0;
  int64_t shown_ms_ = 0;
  std::set<std::string> answered_;  // decisions whose end event may not have arrived yet
  OpenQuestion asked_;              // if its decision is not empty: an answer is being typed
  std::string typed_;
};

}  // namespace pawl
