#include "main/log_follower.h"

#include <utility>

#include "base/codec.h"
#include "base/log.h"
#include "base/value.h"
#include "journal/events.h"
#include "journal/peek.h"
#include "journal/record.h"

namespace pawl {
namespace {

log::Level level_of(std::string_view level) {
  if (level == "error" || level == "fatal" || level == "critical") return log::Level::Error;
  if (level == "warn" || level == "warning") return log::Level::Warning;
  return log::Level::Info;
}

std::string text_of(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  std::string text = value->is_string() ? value->as_string() : value->json();
  if (text.size() <= LogFollower::kTextBytesMax) return text;
  size_t end = LogFollower::kTextBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace

LogFollower::LogFollower(EngineLoop& engine) : engine_(engine) {
  thread_ = std::thread([this] { run(); });
  listener_ =
      engine.listen([this](uint64_t number, const std::shared_ptr<const std::string>& record) {
        take(number, record);
      });
}

void LogFollower::stop() {
  if (!thread_.joinable()) return;
  engine_.unlisten(listener_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

// Committing thread.
void LogFollower::take(uint64_t number, const std::shared_ptr<const std::string>& record) {
  if (!journal::holds(*record, EventType::StepNoted)) return;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kWaitingMax) {
      ++lost_;
      return;
    }
    waiting_.emplace_back(number, record);
  }
  wakes_.notify_one();
}

void LogFollower::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Record record = std::move(waiting_.front());
    waiting_.pop_front();
    const uint64_t lost = std::exchange(lost_, 0);
    lock.unlock();
    if (lost > 0)
      log::warning("lines of workflow.log were lost: the log is not read fast enough",
                   {{"records", std::to_string(lost)}});
    write(record);
    lock.lock();
  }
}

void LogFollower::write(const Record& record) {
  const auto events = journal::read_record(record.first, *record.second);
  if (!events.ok()) return;
  for (const journal::EventBytes& event : *events) {
    StepNoted noted;
    if (event.type != EventType::StepNoted || !codec::decode(event.bytes, noted) ||
        noted.type != "workflow_log") {
      continue;
    }
    const auto data = Value::parse(noted.data);
    if (!data.ok() || !data->is_object()) continue;
    const std::string message = text_of(data->find("message"));
    const std::string fields = text_of(data->find("data"));
    log::write(level_of(text_of(data->find("level"))), message,
               {{"run", noted.run.text()}, {"step", noted.step}, {"data", fields}});
  }
}

}  // namespace pawl
