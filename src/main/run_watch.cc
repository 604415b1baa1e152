#include "main/run_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "cli/terminal.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "kernel/scripts/stored_decision.h"
#include "kernel/settings/doc.h"
#include "kernel/state.h"

namespace pawl {
namespace {

constexpr int kFrameMs = 100;
constexpr int64_t kDeadlineWorthWaitingMs = 60'000;
constexpr size_t kTypedBytesMax = 1u << 20;
constexpr char kNews = 'n';

int wake_fd = -1;  // the writing end; set before the handlers are, read by them

void on_signal(int signal) {
  int kept = errno;
  char byte = static_cast<char>(signal);
  [[maybe_unused]] ssize_t ignored = ::write(wake_fd, &byte, 1);
  errno = kept;
}

void handle_signals(bool on) {
  struct sigaction action {};
  action.sa_handler = on ? on_signal : SIG_DFL;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

std::pair<size_t, size_t> terminal_size() {  // rows, columns
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4 || size.ws_col < 20)
    return {24, 80};
  return {size.ws_row, size.ws_col};
}

StepOutcome no_worker() {
  StepOutcome outcome;
  outcome.error = {"ACTION_UNAVAILABLE",
                   "a job needs a worker, and there is none here: 'pawl serve' and 'pawl worker' "
                   "run it",
                   "", ""};
  return outcome;
}

}  // namespace

struct RunWatch::Inbox {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, std::shared_ptr<const std::string>>> records;
  int read_fd = -1;
  int write_fd = -1;

  Inbox() {
    int ends[2];
    PAWL_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    read_fd = ends[0];
    write_fd = ends[1];
  }
  ~Inbox() {
    ::close(read_fd);
    ::close(write_fd);
  }
  void put(uint64_t number, const std::shared_ptr<const std::string>& record) {
    bool first = false;
    {
      std::lock_guard lock(mutex);
      first = records.empty();
      records.emplace_back(number, record);
    }
    if (!first) return;
    [[maybe_unused]] ssize_t ignored = ::write(write_fd, &kNews, 1);  // a full pipe wakes as well
  }
};

RunWatch::RunWatch(LocalEngine& engine, const RunId& run, const plan::Script& script,
                   WatchSettings settings)
    : engine_(engine),
      run_(run),
      settings_(std::move(settings)),
      progress_(run, script),
      inbox_(std::make_shared<Inbox>()) {
  if (settings_.timeout_ms != 0) deadline_ms_ = clock_.now_ms() + settings_.timeout_ms;
  wake_fd = inbox_->write_fd;
  handle_signals(true);
  engine_.listen(
      [inbox = inbox_](uint64_t number, const std::shared_ptr<const std::string>& record) {
        inbox->put(number, record);
      });
}

RunWatch::~RunWatch() { handle_signals(false); }

Watched RunWatch::follow() {
  while (turn()) wait_for_news();
  if (settings_.show == Show::Picture) {
    show();
    rows_drawn_ = 0;  // the last picture stays
  }
  return outcome_;
}

bool RunWatch::turn() {
  take_news();
  if (engine_.failed()) {
    outcome_.kind = Watched::Broken;
    return false;
  }
  if (progress_.ended()) return false;
  if (deadline_ms_ != 0 && clock_.now_ms() >= deadline_ms_ && !cancelled_) {
    outcome_.kind = Watched::TimedOut;
    cancel("the time given to pawl run is up");
    return true;
  }
  refuse_jobs();
  if (!answer_questions()) return false;
  bool drawn_lately =
      clock_.now_ms() - shown_ms_ < kFrameMs / 2;  // news may come thousands a second
  if (settings_.show == Show::Picture && asked_.decision.empty() && !drawn_lately) show();
  return true;
}

void RunWatch::wait_for_news() {
  int wait_ms = settings_.show == Show::Picture && asked_.decision.empty() ? kFrameMs : -1;
  if (deadline_ms_ != 0 && !cancelled_) {
    auto left = static_cast<int>(
        std::clamp<int64_t>(deadline_ms_ - clock_.now_ms(), 0, int64_t{3'600'000}));
    wait_ms = wait_ms < 0 ? left : std::min(wait_ms, left);
  }
  pollfd ends[2] = {{inbox_->read_fd, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  nfds_t count = asked_.decision.empty() ? 1 : 2;
  int ready = ::poll(ends, count, wait_ms);
  ++tick_;
  if (ready <= 0) return;
  if ((ends[0].revents & POLLIN) != 0) {
    char bytes[256];
    ssize_t got = ::read(inbox_->read_fd, bytes, sizeof bytes);
    if (got > 0) take_signals(std::string(bytes, static_cast<size_t>(got)));
  }
  if (count == 2 && (ends[1].revents & (POLLIN | POLLHUP)) != 0) read_typed();
}

void RunWatch::take_signals(const std::string& bytes) {
  for (char byte : bytes) {
    if (byte == kNews) continue;
    if (outcome_.kind == Watched::Interrupted) std::_Exit(128 + byte);
    outcome_ = {Watched::Interrupted, byte};
    cancel("interrupted");
  }
}

void RunWatch::cancel(const std::string& reason) {
  cancelled_ = true;
  asked_ = {};
  erase();
  say("cancelling the run …");
  Status done =
      engine_.decide([&](Frame& frame) { return cancel_script(frame, run_, reason, false); });
  if (!done.ok() && done.error().code != ErrorCode::Conflict) say(done.error().message);
}

void RunWatch::take_news() {
  std::vector<std::pair<uint64_t, std::shared_ptr<const std::string>>> records;
  {
    std::lock_guard lock(inbox_->mutex);
    records.swap(inbox_->records);
  }
  for (const auto& [number, record] : records) {
    auto lines = progress_.take(number, *record);
    PAWL_CHECK(lines.ok());  // the engine of this very process wrote it
    if (settings_.show != Show::Lines) continue;
    for (const std::string& line : *lines) say(line);
  }
}

// No worker would ever fetch them; as a failure, the definition's error handling applies.
void RunWatch::refuse_jobs() {
  for (const AskedJob& job : progress_.take_jobs()) {
    Status done = engine_.decide([&](Frame& frame) {
      effect_done(frame, job.run, job.effect, no_worker());
      return ok_status();
    });
    if (!done.ok()) say(done.error().message);
  }
}

// --- questions

bool RunWatch::answer_questions() {
  if (cancelled_) return true;
  if (!asked_.decision.empty()) {
    auto still = progress_.questions().find(asked_.shown);
    if (still != progress_.questions().end() && still->second.decision == asked_.decision)
      return true;
    say("\n  (no longer asked)");
    asked_ = {};
  }
  // A copy: an answer changes the list when its event arrives, and may be refused.
  std::map<std::string, OpenQuestion> open = progress_.questions();
  for (const auto& [path, question] : open) {
    if (question.decision.empty() || answered_.count(question.decision) != 0) continue;
    if (!answer(question)) return false;
    if (!asked_.decision.empty()) return true;  // one at a time
  }
  return !hopeless();
}

// False: the given answer is invalid.
bool RunWatch::answer(const OpenQuestion& open) {
  std::optional<std::string> choice = settings_.answers.take(open.shown);
  if (!choice && !settings_.may_ask) return true;
  auto question = question_of(open);
  if (!question.ok()) return true;  // it was answered or timed out meanwhile
  if (!choice) {
    ask(open, *question);
    return true;
  }
  auto meant = choice_of(*question, *choice);
  Status done = meant.ok() ? resolve(open, *meant) : Status(meant.error());
  if (done.ok() || done.error().code == ErrorCode::Conflict) return true;
  erase();
  cli::complain("step '" + cli::printable(open.shown) + "' cannot be decided as '" +
                cli::printable(*choice) + "': " + cli::printable(done.error().message));
  outcome_.kind = Watched::WrongAnswer;
  return false;
}

Result<Question> RunWatch::question_of(const OpenQuestion& open) {
  StoredDecision stored;
  PAWL_TRY_DO(engine_.decide([&](Frame& frame) -> Status {
    const Doc* doc = frame.state().find_doc(DocKind::Decision, open.decision);
    if (doc == nullptr || !codec::decode(doc->value, stored) || stored.status != "pending")
      return Error{ErrorCode::NotFound, "no such question"};
    return ok_status();
  }));
  return read_question(open.shown, stored.context);
}

Status RunWatch::resolve(const OpenQuestion& open, const std::string& choice) {
  DecisionAnswer answer;
  answer.choice = choice;
  answer.resolved_by = "pawl run";
  Status done =
      engine_.decide([&](Frame& frame) { return resolve_decision(frame, open.decision, answer); });
  if (done.ok()) answered_.insert(open.decision);
  return done;
}

void RunWatch::ask(const OpenQuestion& open, const Question& question) {
  erase();
  asked_ = open;
  typed_.clear();
  std::string text = question_text(question, cli::colours_on(stderr));
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void RunWatch::read_typed() {
  char bytes[4096];
  ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {  // stdin was closed
    settings_.may_ask = false;
    asked_ = {};
    std::fputs("\n", stderr);
    return;
  }
  typed_.append(bytes, static_cast<size_t>(got));
  for (size_t end = 0; (end = typed_.find('\n')) != std::string::npos;) {
    std::string line = typed_.substr(0, end);
    typed_.erase(0, end + 1);
    if (take_line(line)) return;
  }
  if (typed_.size() > kTypedBytesMax) typed_.clear();
}

// True once no question is open.
bool RunWatch::take_line(const std::string& line) {
  auto question = question_of(asked_);
  if (!question.ok()) return true;
  auto choice = choice_of(*question, line);
  Status done = choice.ok() ? resolve(asked_, *choice) : Status(choice.error());
  if (done.ok()) {
    asked_ = {};
    return true;
  }
  std::fprintf(stderr, "  %s; again: ", cli::printable(done.error().message).c_str());
  std::fflush(stderr);
  return false;
}

// The events received may be older than the engine's current state.
bool RunWatch::still_suspended() {
  bool all = true;
  Status asked = engine_.decide([&](Frame& frame) {
    for (const auto& [path, open] : progress_.questions()) {
      const Run* run = frame.state().find_run(open.run);
      all = all && run != nullptr && run->script && run->script->status == ScriptStatus::Suspended;
    }
    return ok_status();
  });
  return asked.ok() && all;
}

// Only a person could advance it, and no person is there. A near deadline is waited for: the
// definition says what happens then.
bool RunWatch::hopeless() {
  if (!progress_.stuck() || !still_suspended()) return false;
  int64_t soon = clock_.now_ms() + kDeadlineWorthWaitingMs;
  for (const auto& [path, open] : progress_.questions())
    if ((open.due_ms != 0 && open.due_ms <= soon) || answered_.count(open.decision) != 0)
      return false;
  erase();
  for (const auto& [path, open] : progress_.questions()) {
    std::string step = cli::printable(path);
    if (open.decision.empty()) {
      cli::complain("step '" + step + "' waits for signal '" + cli::printable(open.signal) + "'");
      std::fprintf(stderr, "      send it with --signal '%s={\"…\": …}'\n",
                   cli::printable(open.signal).c_str());
      continue;
    }
    auto question = question_of(open);
    if (!question.ok()) continue;
    cli::complain("step '" + step + "' waits for a decision: " + cli::printable(question->prompt));
    std::fprintf(stderr, "      decide with --decide '%s=…' (%s), or run it in a terminal\n",
                 step.c_str(), cli::printable(choices_text(*question)).c_str());
  }
  outcome_.kind = Watched::Unanswered;
  return true;
}

// --- the screen

void RunWatch::show() {
  auto [rows, columns] = terminal_size();
  shown_ms_ = clock_.now_ms();
  Picture picture{shown_ms_, rows - 2, columns, tick_, cli::colours_on(stderr)};
  std::vector<std::string> lines = progress_.draw(picture);
  std::string out;
  if (rows_drawn_ != 0) out += "\x1b[" + std::to_string(rows_drawn_) + "A";
  for (const std::string& line : lines) out += "\r\x1b[K" + line + "\n";
  out += "\x1b[J";
  rows_drawn_ = lines.size();
  std::fputs(out.c_str(), stderr);
  std::fflush(stderr);
}

void RunWatch::erase() {
  if (rows_drawn_ == 0) return;
  std::fprintf(stderr, "\x1b[%zuA\r\x1b[J", rows_drawn_);
  rows_drawn_ = 0;
}

void RunWatch::say(const std::string& text) {
  if (settings_.show == Show::Nothing) return;
  erase();
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace pawl
