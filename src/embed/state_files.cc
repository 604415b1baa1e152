#include "embed/state_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/json_writer.h"
#include "base/log.h"
#include "kernel/frame.h"
#include "kernel/run.h"
#include "kernel/state.h"
#include "wire/pace_state.h"
#include "wire/render_workflow.h"

namespace pawl::embed {
namespace {

constexpr size_t kRunsPerDecision = 64;
constexpr size_t kFileNameMax = 128;

struct File {
  std::string run;
  std::string name;
  std::string content;
};

// Two spaces a level, a member a line.
void lay_out(std::string& out, const Value& value, size_t depth) {
  bool list = value.is_array();
  if ((!list && !value.is_object()) ||
      (list ? value.as_array().empty() : value.as_object().empty()))
    return value.append_json(out);
  std::string margin = "\n" + std::string(2 * depth + 2, ' ');
  std::string_view comma = "";
  out += list ? '[' : '{';
  auto entry = [&](const Value& content, const std::string* key) {
    out.append(comma).append(margin);
    comma = ",";
    if (key != nullptr) {
      json::append_quoted(out, *key);
      out += ": ";
    }
    lay_out(out, content, depth + 1);
  };
  if (list) {
    for (const Value& element : value.as_array()) entry(element, nullptr);
  } else {
    for (const Value::Member& member : value.as_object()) entry(member.value, &member.key);
  }
  out += "\n" + std::string(2 * depth, ' ') + (list ? ']' : '}');
}

bool write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool replace_file(const std::string& path, std::string_view content) {
  std::string beside = path + ".tmp";
  int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool done = write_whole(file, content) && ::fsync(file) == 0;
  int error = errno;
  ::close(file);
  errno = error;
  done = done && ::rename(beside.c_str(), path.c_str()) == 0;
  if (!done) {
    error = errno;
    ::unlink(beside.c_str());
    errno = error;
  }
  return done;
}

void sync_directory(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

}  // namespace

bool is_file_name(std::string_view id) {
  return !id.empty() && id.size() <= kFileNameMax && id.front() != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

StateFiles::StateFiles(Runtime& runtime, std::string directory)
    : runtime_(runtime), directory_(std::move(directory)) {
  // Files were never written, and the beginning of the journal was trimmed.
  if (read_position().sequence == 0 && runtime_.store().journal_first() > 1) {
    add_all();
    write_pending();
  }
  follower_ =
      std::make_unique<JournalFollower>(runtime_.engine(), runtime_.store(), read_position(),
                                        [this](const JournalFollower::Page& page) { take(page); });
}

EventPosition StateFiles::read_position() const {
  std::ifstream file(directory_ + "/.exported");
  std::string text;
  std::getline(file, text);
  return EventPosition::parse(text).value_or(EventPosition{0, 0});
}

void StateFiles::take(const JournalFollower::Page& page) {
  if (page.gap) add_all();
  for (const OjsEvent& event : page.events) pending_.insert(event.run);
  write_pending();
  if (pending_.empty()) replace_file(directory_ + "/.exported", page.next.text() + "\n");
}

void StateFiles::add_all() {
  RunId from;
  bool more = true;
  while (more) {
    Status read = runtime_.decide([&](Frame& frame) {
      from = frame.state().each_run(from, false, 10'000, [&](const Run& run) {
        if (run.script) pending_.insert(run.id.text());
        return true;
      });
      more = !from.is_nil();
      return ok_status();
    });
    if (!read.ok()) return;
  }
}

void StateFiles::write_pending() {
  std::vector<std::string> runs(pending_.begin(), pending_.end());
  for (size_t at = 0; at < runs.size(); at += kRunsPerDecision) {
    std::vector<File> files;
    Status read = runtime_.decide([&](Frame& frame) {
      for (size_t i = at; i < std::min(at + kRunsPerDecision, runs.size()); ++i) {
        auto id = RunId::parse(runs[i]);
        const Run* run = id ? frame.state().find_run(*id) : nullptr;
        File& file = files.emplace_back();
        file.run = runs[i];
        if (run == nullptr || !run->script) continue;  // deleted meanwhile: its last state stays
        std::string name = workflow_id_text(*run);
        file.name = is_file_name(name) ? name : runs[i];
        lay_out(file.content, pace_state(frame.state(), *run), 0);
        file.content += '\n';
      }
      return ok_status();
    });
    if (!read.ok()) return;
    for (const File& file : files) {
      std::string path = directory_ + "/" + file.name + ".json";
      if (file.name.empty() || replace_file(path, file.content)) {
        pending_.erase(file.run);
      } else {
        log::error("the state of an instance cannot be written",
                   {{"path", path}, {"error", std::strerror(errno)}});
      }
    }
  }
  sync_directory(directory_);
}

}  // namespace pawl::embed
