#include "engine/crash_book.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/working_on.h"
#include "store/testing/backing.h"

namespace pawl {
namespace {

constexpr Uuid kOne{7, 1};
constexpr Uuid kOther{7, 2};

// Each lifetime of a server is a child process; the next one reads its book.
class Lives {
 public:
  // Runs this in a child process that dies, and returns in the parent.
  template <class Act>
  int live(Act&& act) {
    pid_t child = ::fork();
    if (child == 0) {
      {
        auto book = CrashBook::open(path());
        WatchedThread watched;
        act(*book);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  // What the next start would quarantine, as one line. That process ends cleanly, so call this
  // last.
  std::string suspects() {
    auto book = CrashBook::open(path());
    std::string all;
    for (const Suspect& suspect : book->suspects())
      all += std::to_string(suspect.id.lo) + " " + std::to_string(suspect.deaths) + " " +
             suspect.doing + " " + std::to_string(suspect.fold_sequence) + ";";
    return all;
  }
  std::string path() const { return directory_ / "crash.book"; }

 private:
  TempDirectory directory_;
};

void die_at(WorkKind kind, const Uuid& id, uint64_t sequence = 0) {
  WorkingOn working(kind, id, sequence);
  std::abort();
}

TEST(CrashBook, TwoDeathsAtTheSameWorkAreEnough) {
  Lives lives;
  EXPECT_EQ(lives.live([](CrashBook&) { die_at(WorkKind::Action, kOne); }), SIGABRT);
  EXPECT_EQ(lives.live([](CrashBook& book) {
    if (book.suspects().empty()) die_at(WorkKind::Start, kOne);
  }),
            SIGABRT);
  EXPECT_EQ(lives.suspects(), "1 2 an effect 0;");
  EXPECT_EQ(lives.suspects(), "");  // the last process ended well
}

TEST(CrashBook, OneDeathIsNot) {
  Lives lives;
  lives.live([](CrashBook&) { die_at(WorkKind::Decision, kOne); });
  EXPECT_EQ(lives.suspects(), "");
}

TEST(CrashBook, DeathsOfSomebodyElseInBetweenAreNoExcuse) {
  Lives lives;
  for (const Uuid& id : {kOne, kOther, kOne})
    lives.live([&](CrashBook&) { die_at(WorkKind::Decision, id); });
  EXPECT_EQ(lives.suspects(), "1 2 a decision 0;");
}

TEST(CrashBook, TellsTheFirstEventThatKills) {
  Lives lives;
  for (uint64_t sequence : {90, 80}) {
    lives.live([&](CrashBook&) { die_at(WorkKind::Fold, kOne, sequence); });
  }
  EXPECT_EQ(lives.suspects(), "1 2 reading the journal 80;");
}

TEST(CrashBook, WhoseWorkIsOverIsNotBlamed) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    lives.live([](CrashBook&) {
      { WorkingOn done(WorkKind::Decision, kOne); }
      std::abort();
    });
  EXPECT_EQ(lives.suspects(), "");
}

TEST(CrashBook, AKillIsNobodysFault) {
  Lives lives;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(lives.live([](CrashBook&) {
      WorkingOn working(WorkKind::Decision, kOne);
      ::raise(SIGKILL);
    }),
              SIGKILL);
  EXPECT_EQ(lives.suspects(), "");
}

// The machine's OOM killer leaves no mark either.
TEST(CrashBook, AKillAtWorkThatNeverEndedIs) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    lives.live([](CrashBook& book) {
      WorkingOn working(WorkKind::Preparation, kOne);
      for (int beat = 0; beat < 7; ++beat) book.beat();
      ::raise(SIGKILL);
    });
  EXPECT_EQ(lives.suspects(), "1 2 an effect 0;");
}

TEST(CrashBook, ALongActionIsNotBlamedForAKill) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    lives.live([](CrashBook& book) {
      WorkingOn working(WorkKind::Action, kOne);
      for (int beat = 0; beat < 7; ++beat) book.beat();
      ::raise(SIGKILL);
    });
  EXPECT_EQ(lives.suspects(), "");
}

// A process in its own group, like a command, that sends this process a signal on request.
struct Sender {
  explicit Sender(int signal) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t server = ::getpid();
    group = ::fork();
    if (group == 0) {
      ::setpgid(0, 0);
      char told = 0;
      if (::read(ends[0], &told, 1) == 1) ::kill(server, signal);
      ::_exit(0);
    }
    ::setpgid(group, group);
    go = ends[1];
  }
  void send() const {
    if (::write(go, "g", 1) == 1) ::pause();
  }
  pid_t group = 0;
  int go = -1;
};

// Any thread may get the signal: only the sender counts.
TEST(CrashBook, ACommandThatSendsAFatalSignalIsBlamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::vector<int> signals = {SIGABRT};  // the other one is the sanitizer's
#else
  const std::vector<int> signals = {SIGABRT, SIGSEGV};
#endif
  for (int signal : signals) {
    Lives lives;
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(lives.live([&](CrashBook& book) {
        std::thread action([&] {
          WatchedThread watched;
          WorkingOn working(WorkKind::Action, kOne);
          WorkingCommand command;
          Sender sender(signal);
          command.tell(sender.group);
          for (int beat = 0; beat < 7; ++beat) book.beat();
          sender.send();
        });
        WorkingOn working(WorkKind::Decision, kOther);
        action.join();
      }),
                signal);
    EXPECT_EQ(lives.suspects(), "1 2 an effect 0;");
  }
}

TEST(CrashBook, AFatalSignalFromOutsideIsNobodysFault) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(lives.live([](CrashBook&) {
      WorkingOn working(WorkKind::Decision, kOne);
      Sender(SIGABRT).send();
    }),
              SIGABRT);
  EXPECT_EQ(lives.suspects(), "");
}

// The sender of SIGKILL is unknown: it is blamed on a command only if it is the only one, and new.
TEST(CrashBook, AKillIsBlamedOnTheOnlyNewCommand) {
  struct Case {
    int commands;
    int beats;
    const char* suspects;
  };
  for (const Case& given : {Case{1, 2, "1 2 an effect 0;"}, Case{1, 7, ""}, Case{2, 2, ""}}) {
    Lives lives;
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(lives.live([&](CrashBook& book) {
        WorkingOn working(WorkKind::Action, kOne);
        WorkingCommand command;
        command.tell(4711);
        std::thread other([&] {
          WatchedThread watched;
          WorkingOn working_too(WorkKind::Action, kOther);
          WorkingCommand second;
          if (given.commands == 2) second.tell(4712);
          for (int beat = 0; beat < given.beats; ++beat) book.beat();
          ::raise(SIGKILL);
        });
        other.join();
      }),
                SIGKILL);
    EXPECT_EQ(lives.suspects(), given.suspects);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Every frame is used after the call, so that the compiler cannot drop it.
int use_up_the_stack(volatile char* above) {
  if (above == nullptr) return 0;  // never: GCC refuses a recursion that it sees no end of
  volatile char here[4096];
  here[0] = *above;
  return use_up_the_stack(here) + here[0];
}

TEST(CrashBook, AStackThatIsUsedUpIsTold) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(lives.live([](CrashBook&) {
      WorkingOn working(WorkKind::Decision, kOne);
      volatile char first = 1;
      ::_exit(use_up_the_stack(&first));
    }),
              SIGSEGV);
  EXPECT_EQ(lives.suspects(), "1 2 a decision 0;");
}
#endif

TEST(CrashBook, WhoeverWasDealtWithIsNoSuspectAnyMore) {
  Lives lives;
  for (int i = 0; i < 2; ++i) lives.live([](CrashBook&) { die_at(WorkKind::Decision, kOne); });
  lives.live([](CrashBook& book) {
    book.settled(kOne);
    if (book.suspects().empty()) ::raise(SIGKILL);
  });
  EXPECT_EQ(lives.suspects(), "");
}

// The engine quarantines runs and jobs; worlds are the host's.
TEST(CrashBook, WorldsAreToldApart) {
  Lives lives;
  for (int i = 0; i < 2; ++i) lives.live([](CrashBook&) { die_at(WorkKind::World, kOne); });
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(lives.live([](CrashBook& book) {
      const std::vector<Suspect> worlds = book.suspect_worlds();
      if (worlds.size() == 1 && worlds[0].id == kOne && worlds[0].deaths == 2) ::raise(SIGKILL);
    }),
              SIGKILL)
        << "it stays one over a kill";
  EXPECT_EQ(lives.suspects(), "");
  EXPECT_EQ(CrashBook::open(lives.path())->suspect_worlds().size(), 0u) << "the last ended well";
}

// A replay takes as long as the world's journal.
TEST(CrashBook, AWorldIsNotBlamedForAKill) {
  Lives lives;
  for (int i = 0; i < 2; ++i)
    lives.live([](CrashBook& book) {
      WorkingOn working(WorkKind::World, kOne);
      for (int beat = 0; beat < 10; ++beat) book.beat();
      ::raise(SIGKILL);
    });
  EXPECT_EQ(CrashBook::open(lives.path())->suspect_worlds().size(), 0u);
}

TEST(CrashBook, ADamagedOneBlamesNobody) {
  Lives lives;
  lives.live([](CrashBook&) { die_at(WorkKind::Decision, kOne); });
  std::ofstream(lives.path(), std::ios::trunc) << std::string(20'000, '\xff');
  EXPECT_EQ(lives.suspects(), "");
  EXPECT_EQ(CrashBook::open("/nowhere/at/all")->suspects().size(), 0u);
}

}  // namespace
}  // namespace pawl
