// ReplayGuard: each batch of a sender is taken at most once, in whatever order they arrive.
//
// Only for counters whose batch has proved to be authentic. It remembers the last kWindow counters
// of an incarnation of a sender; older ones are refused, since it cannot tell them from repeated
// ones. It never forgets an incarnation: of those that it has not heard for long, it takes nothing
// any more. At kSendersMax it takes no new ones.
//
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::link {

class ReplayGuard {
 public:
  static constexpr uint64_t kWindow = 64 * 1024;
  static constexpr size_t kHeardMax = 512;  // incarnations with a window
  static constexpr size_t kSendersMax = 64 * 1024;

  // False: it was taken before, or that cannot be known.
  bool take(std::string_view incarnation, uint64_t counter);

 private:
  struct Sender {
    std::string incarnation;
    uint64_t highest = 0;
    std::vector<bool> taken = std::vector<bool>(kWindow);  // at counter % kWindow
  };
  using Senders = std::list<Sender>;  // the last heard first

  Sender* hear(std::string_view incarnation);
  static bool take_from(Sender& sender, uint64_t counter);

  std::mutex mutex_;
  Senders senders_;                                              // guarded by mutex_
  std::map<std::string, Senders::iterator, std::less<>> heard_;  // guarded by mutex_
  std::set<std::string, std::less<>> former_;                    // guarded by mutex_
};

}  // namespace pawl::link
