#include "plan/diagram_model.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

#include "base/utf8.h"
#include "plan/canonical.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kIterations = "iter_*";

// From least to most important: of many iterations the most important status is shown.
constexpr std::array<std::string_view, 8> kStatuses = {
    "skipped", "completed", "pending", "scheduled", "suspended", "running", "retrying", "failed"};

size_t loudness(std::string_view status) {
  const auto found = std::find(kStatuses.begin(), kStatuses.end(), status);
  return found == kStatuses.end() ? 2 : static_cast<size_t>(found - kStatuses.begin());
}

bool is_over(std::string_view status) {
  return status == "completed" || status == "failed" || status == "skipped";
}

// "a.iter_3.b" → "a.iter_*.b"
std::string without_iterations(std::string_view path) {
  std::string out;
  while (true) {
    const size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    const bool iteration = part.starts_with("iter_") && part.size() > 5 &&
                           part.find_first_not_of("0123456789", 5) == std::string_view::npos;
    out += iteration ? kIterations : part;
    if (dot == std::string_view::npos) return out;
    out += '.';
    path.remove_prefix(dot + 1);
  }
}

std::string loop_detail(const Step& step) {
  if (step.loop_mode == LoopMode::While) return "while " + step.expression;
  if (step.loop_mode == LoopMode::Until) return "until " + step.expression;
  return "for each of " + (step.over.is_string() ? step.over.as_string() : step.over.json());
}

std::string wait_detail(const Step& step) {
  if (!step.signal.empty()) return "wait for signal " + step.signal;
  if (!step.until.empty()) return "wait until " + step.until;
  return "wait " + (step.duration.empty() ? duration_text(step.duration_ms) : step.duration);
}

}  // namespace

std::vector<Section> sections_of(const Step& step) {
  std::vector<Section> out;
  const bool condition = step.type == StepType::Condition;
  for (uint32_t i = 0; i < step.branches.size(); ++i) {
    const Branch& branch = step.branches[i];
    if (condition) {
      out.push_back({branch.key, branch.key, branch.list});
    } else if (step.type == StepType::Sequence) {
      out.push_back({"in order", std::string(kSequenceName), branch.list});
    } else {
      out.push_back({"branch " + std::to_string(i), branch_name(i), branch.list});
    }
  }
  if (step.otherwise != kNoList)
    out.push_back({"default", std::string(kDefaultBranch), step.otherwise});
  if (step.body != kNoList) out.push_back({"body", std::string(kIterations), step.body});
  if (step.compensate != kNoList) {
    out.push_back({"undo", std::string(kCompensateName), step.compensate, true});
  }
  return out;
}

std::string detail_of(const Step& step) {
  switch (step.type) {
    case StepType::Action:
      return step.action;
    case StepType::Condition:
    case StepType::Test:
      return "if " + step.expression;
    case StepType::Loop:
      return loop_detail(step);
    case StepType::Parallel:
      return step.parallel_mode == ParallelMode::Race ? "race" : "parallel";
    case StepType::Wait:
      return wait_detail(step);
    case StepType::Decision:
      return "decide: " + step.prompt;
    case StepType::Sequence:
      return "sequence";
    case StepType::Job:
      return step.type_name + " " + step.job_type;
    case StepType::Composition:
      return step.type_name;
    case StepType::Subworkflow:
      return "workflow " + step.definition;
  }
  return "";
}

std::vector<uint32_t> running_order(const Script& script, uint32_t list) {
  const std::vector<uint32_t>& places = script.lists[list].steps;
  std::vector<size_t> missing(places.size());
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < places.size(); ++i) {
    missing[i] = script.steps[places[i]].depends_on.size();
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<uint32_t> order;
  order.reserve(places.size());
  while (!ready.empty()) {
    const uint32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const uint32_t dependent : script.steps[places[next]].dependents) {
      if (--missing[dependent] == 0) ready.push(dependent);
    }
  }
  return order;
}

size_t character_count(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string shortened(std::string_view text, size_t max, bool ascii) {
  std::string out;
  size_t characters = 0;
  size_t kept = 0;  // bytes before the dots
  const size_t dots = ascii ? 3 : 1;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(1, utf8::sequence_length(text.substr(at)));
    const auto first = static_cast<unsigned char>(text[at]);
    if (characters + dots == max) kept = out.size();
    if (++characters > max) return out.substr(0, kept) + (ascii ? "..." : "…");
    if (first < 0x20 || first == 0x7f) {
      out += ' ';
    } else {
      out.append(text.substr(at, length));
    }
    at += length;
  }
  return out;
}

std::string_view tag_of(std::string_view status) {
  constexpr std::array<std::string_view, 8> kTags = {"SKIP", "OK",  "PEND",  "PEND",
                                                     "WAIT", "RUN", "RETRY", "FAIL"};
  return kTags[loudness(status)];
}

Place Place::step(const Step& step) const {
  Place place = *this;
  if (!place.path.empty()) place.path += '.';
  place.path += step.id;
  return place;
}

Place Place::section(const Section& section, const Mark& around) const {
  Place place = *this;
  place.path += '.';
  place.path += section.namespace_;
  place.in_loop = in_loop || section.namespace_ == kIterations;
  place.over = over || is_over(around.status);
  return place;
}

Marks::Marks(const StepStatuses* statuses) : statuses_(statuses) {
  if (statuses == nullptr) return;
  for (const auto& [path, status] : *statuses) {
    if (path.find(".iter_") == std::string::npos) continue;
    Tally& tally = tallies_[without_iterations(path)];
    ++tally.total;
    if (is_over(status)) ++tally.done;
    tally.loudest = std::max(tally.loudest, loudness(status));
  }
}

Mark Marks::of(const Place& place) const {
  if (statuses_ == nullptr) return {};
  const std::string_view missing = place.over ? "skipped" : "pending";
  if (!place.in_loop) {
    const auto found = statuses_->find(place.path);
    return {found == statuses_->end() ? missing : kStatuses[loudness(found->second)], ""};
  }
  const auto found = tallies_.find(without_iterations(place.path));
  if (found == tallies_.end()) return {missing, ""};
  const Tally& tally = found->second;
  return {kStatuses[tally.loudest],
          std::to_string(tally.done) + " of " + std::to_string(tally.total)};
}

std::string title_of(const Script& script) {
  const Value* title = script.metadata.find("title");
  std::string out = title != nullptr && title->is_string() ? title->as_string() : script.name;
  if (out.empty()) out = "workflow";
  return script.version.empty() ? out : out + " " + script.version;
}

}  // namespace pawl::plan
