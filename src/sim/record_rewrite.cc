#include "sim/record_rewrite.h"

#include <set>

#include "base/codec.h"
#include "base/hash.h"
#include "kernel/scripts/effect_request.h"

namespace pawl::sim {
std::string rewrite_record(uint64_t number, std::string_view record,
                           FunctionRef<void(std::vector<LooseEvent>&)> change) {
  auto events = journal::read_record(number, record);
  if (!events.ok()) return std::string(record);
  std::string out(record.substr(0, 3));
  for (size_t i = 0; i < events->size();) {
    int64_t time_ms = (*events)[i].time_ms;
    std::vector<LooseEvent> frame;
    do {
      frame.push_back({(*events)[i].type, std::string((*events)[i].bytes)});
    } while (++i < events->size() && !(*events)[i].first_of_frame);
    change(frame);
    std::string body;
    codec::put_varint(body, static_cast<uint64_t>(time_ms));
    codec::put_varint(body, frame.size());
    for (const LooseEvent& event : frame) {
      codec::put_varint(body, static_cast<uint64_t>(event.type));
      codec::put_varint(body, event.bytes.size());
      body.append(event.bytes);
    }
    codec::put_varint(out, body.size());
    out.append(body);
  }
  uint32_t crc = crc32c(out);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(crc >> shift));
  return out;
}

std::string without_last_event(uint64_t number, std::string_view record) {
  auto events = journal::read_record(number, record);
  size_t left = events.ok() ? events->size() : 0;
  return rewrite_record(number, record, [&](std::vector<LooseEvent>& frame) {
    left -= frame.size();
    if (left == 0) frame.back() = nothing_happened();
  });
}

std::string with_callbacks_twice(uint64_t number, std::string_view record) {
  return rewrite_record(number, record, [&](std::vector<LooseEvent>& frame) {
    std::vector<LooseEvent> again;
    for (size_t i = 0; i + 1 < frame.size(); ++i) {
      RunCallbackFired fired;
      JobCreated job;
      if (!read(frame[i], fired) || !read(frame[i + 1], job)) continue;
      fired.job.lo ^= 1u << 20;
      job.job = fired.job;
      again.push_back(loose(fired));
      again.push_back(loose(job));
    }
    frame.insert(frame.end(), again.begin(), again.end());
  });
}

std::string with_retries_counted(uint64_t number, std::string_view record,
                                 const JournalModel& model) {
  return rewrite_record(number, record, [&](std::vector<LooseEvent>& frame) {
    std::vector<LooseEvent> counted;
    for (const LooseEvent& event : frame) {
      JobFailed failed;
      if (!read(event, failed) || failed.to != JobState::Retryable) continue;
      const ModelJob* job = model.find(failed.job);
      const ModelRun* run = job == nullptr ? nullptr : model.runs().existing(job->birth.parent.run);
      if (run == nullptr) continue;
      RunChildDone done;
      static_cast<RunEventHead&>(done) = {run->birth.run, run->birth.kind, run->birth.name, ""};
      done.index = index_of(job->birth.parent.place);
      done.outcome = ChildState::Failed;
      done.child = failed.job;
      counted.push_back(loose(done));
    }
    frame.insert(frame.end(), counted.begin(), counted.end());
  });
}

std::string without_cancelled_members(uint64_t number, std::string_view record) {
  return rewrite_record(number, record, [&](std::vector<LooseEvent>& frame) {
    std::set<Uuid> cancelled;
    std::erase_if(frame, [&](const LooseEvent& event) {
      JobCancelled job;
      RunChildDone done;
      if (read(event, job)) cancelled.insert(job.job);
      return read(event, done) && cancelled.count(done.child) != 0;
    });
  });
}

}  // namespace pawl::sim
