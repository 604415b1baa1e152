#include "embed/journal_follower.h"

#include "base/log.h"

namespace pawl::embed {
namespace {

constexpr ReadBudget kPage{.events_max = 256};

}  // namespace

JournalFollower::JournalFollower(EngineLoop& engine, Store& store, const EventPosition& after,
                                 Take take)
    : engine_(engine), store_(store), take_(std::move(take)), position_(after) {
  listener_ = engine_.listen([this](uint64_t, const std::shared_ptr<const std::string>&) {
    {
      std::lock_guard lock(mutex_);
      news_ = true;
    }
    changed_.notify_one();
  });
  thread_ = std::thread([this] { run(); });
}

JournalFollower::~JournalFollower() { finish(); }

void JournalFollower::finish() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_one();
  thread_.join();
  engine_.unlisten(listener_);
}

void JournalFollower::run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return news_ || finishing_; });
      news_ = false;
      last = finishing_;
    }
    read_to_end();
  }
}

void JournalFollower::read_to_end() {
  for (bool more = true; more;) {
    auto page = read_events(store_, position_, EventFilter{}, kPage);
    if (!page.ok())
      return log::error("the journal cannot be followed", {{"error", page.error().message}});
    more = page->more;
    position_ = page->next;
    Page out;
    out.gap = page->gap;
    out.next = page->next;
    for (OjsEvent& event : page->events)
      if (event.of_definition) out.events.push_back(std::move(event));
    if (!out.events.empty() || out.gap) take_(out);
  }
}

}  // namespace pawl::embed
