#include "main/run_progress.h"

#include <algorithm>
#include <utility>

#include "base/value.h"
#include "cli/terminal.h"
#include "kernel/scripts/step_names.h"

namespace pawl {
namespace {

constexpr size_t kChildrenMax = 100;
constexpr size_t kDepthMax = 16;
constexpr size_t kNameColumn = 28;
constexpr size_t kNoteMax = 200;
constexpr const char* kSpinner[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"};

template <class Event>
bool decoded(const journal::EventBytes& bytes, Event& event) {
  return bytes.type == event_type<Event>() && codec::decode(bytes.bytes, event);
}

std::string cut(std::string text, size_t width) {
  if (cli::width_of(text) <= width) return text;
  while (!text.empty() && cli::width_of(text) >= width) {
    while (text.size() > 1 && (text.back() & 0xc0) == 0x80) text.pop_back();
    text.pop_back();
  }
  return text + "…";
}

std::string padded(std::string text, size_t width) {
  size_t have = cli::width_of(text);
  return have >= width ? text : text + std::string(width - have, ' ');
}

// "completed  fetch: 120 ms"
std::string line_of(std::string_view verb, const std::string& path, const std::string& more) {
  return padded(std::string(verb), 10) + " " + cli::printable(path) +
         (more.empty() ? "" : ": " + cli::printable(more));
}

std::string error_text(const StepError& error) {
  return error.code + (error.message.empty() ? "" : ": " + error.message);
}

struct Look {
  const char* glyph;
  cli::Colour colour;
};

Look look_of(StepState state, unsigned tick) {
  switch (state) {
    case StepState::Pending:
      return {"○", cli::Colour::Grey};
    case StepState::Running:
      return {kSpinner[tick % std::size(kSpinner)], cli::Colour::Blue};
    case StepState::Completed:
      return {"✔", cli::Colour::Green};
    case StepState::Failed:
      return {"✘", cli::Colour::Red};
    case StepState::Skipped:
      return {"–", cli::Colour::Grey};
    case StepState::Suspended:
      return {"?", cli::Colour::Yellow};
    case StepState::Retrying:
      return {"↻", cli::Colour::Yellow};
  }
  return {" ", cli::Colour::None};
}

}  // namespace

RunProgress::RunProgress(const RunId& run, const plan::Script& script) : run_(run) {
  prefixes_[run] = "";
  for (const plan::Step& step : script.steps)
    actions_[step.id] = step.action.empty() ? step.type_name : step.action;
  for (uint32_t place : script.lists[script.root].steps) {
    const plan::Step& step = script.steps[place];
    if (!step.dormant) node_at(step.id).what = actions_[step.id];
  }
}

bool RunProgress::ended() const {
  return status_ == ScriptStatus::Completed || status_ == ScriptStatus::Failed ||
         status_ == ScriptStatus::Cancelled;
}

bool RunProgress::stuck() const {
  bool any = std::any_of(suspended_runs_.begin(), suspended_runs_.end(),
                         [](const auto& entry) { return entry.second; });
  if (!any || ended()) return false;
  return std::none_of(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    const Node& node = entry.second;
    bool works = node.state == StepState::Running || node.state == StepState::Retrying;
    return works && node.children.empty();
  });
}

std::string RunProgress::path_of(const RunId& run, const std::string& step) const {
  const std::string& prefix = prefixes_.at(run);
  return prefix.empty() ? step : prefix + "." + step;
}

// --- the tree

// Creates a missing node, below the longest step that is a prefix of its path.
RunProgress::Node& RunProgress::node_at(const std::string& path) {
  auto at = nodes_.find(path);
  if (at != nodes_.end()) return at->second;
  Node node;
  std::string above = path;
  for (size_t dot = above.rfind('.'); dot != std::string::npos; dot = above.rfind('.')) {
    above.resize(dot);
    if (nodes_.count(above) == 0) continue;
    node.parent = above;
    break;
  }
  node.name = node.parent.empty() ? path : path.substr(node.parent.size() + 1);
  if (node.parent.empty()) {
    roots_.push_back(path);
  } else {
    Node& parent = nodes_.at(node.parent);
    fold(parent);
    parent.children.push_back(path);
  }
  return nodes_.emplace(path, std::move(node)).first->second;
}

void RunProgress::fold(Node& parent) {
  if (parent.children.size() < kChildrenMax) return;
  auto over = std::find_if(parent.children.begin(), parent.children.end(),
                           [&](const std::string& path) { return is_over(nodes_.at(path).state); });
  if (over == parent.children.end()) return;
  std::string path = *over;
  parent.children.erase(over);
  ++parent.folded;
  forget(path);
}

void RunProgress::forget(const std::string& path) {
  auto at = nodes_.find(path);
  if (at == nodes_.end()) return;
  std::vector<std::string> children = std::move(at->second.children);
  nodes_.erase(at);
  for (const std::string& child : children) forget(child);
}

// --- events

Result<std::vector<std::string>> RunProgress::take(uint64_t number, std::string_view record) {
  PAWL_TRY(std::vector<journal::EventBytes> events, journal::read_record(number, record));
  std::vector<std::string> lines;
  for (const journal::EventBytes& event : events) take_event(event, lines);
  return lines;
}

void RunProgress::take_event(const journal::EventBytes& bytes, std::vector<std::string>& lines) {
  if (StepStarted event; decoded(bytes, event) && knows(event.run))
    began(event, bytes.time_ms, lines);
  if (StepSuspended event; decoded(bytes, event) && knows(event.run)) suspended(event, lines);
  if (ChildMoved event; decoded(bytes, event) && knows(event.run)) child_moved(event);
  if (StepRetrying event; decoded(bytes, event) && knows(event.run))
    retrying(event, bytes.time_ms, lines);
  if (StepEnded event; decoded(bytes, event) && knows(event.run))
    ended_step(event, bytes.time_ms, lines);
  if (StepNoted event; decoded(bytes, event) && knows(event.run)) noted(event, lines);
  if (ScriptMoved event; decoded(bytes, event) && knows(event.run)) moved(event);
  if (ScriptCreated event; decoded(bytes, event)) child_began(event);
}

void RunProgress::child_began(const ScriptCreated& event) {
  if (!knows(event.parent.run) || knows(event.run)) return;
  for (const auto& [path, node] : nodes_)
    if (node.run == event.parent.run && node.effect == effect_of(event.parent.place)) {
      prefixes_[event.run] = path;
      return;
    }
}

void RunProgress::moved(const ScriptMoved& event) {
  suspended_runs_[event.run] = event.to == ScriptStatus::Suspended;
  if (event.run == run_) {
    status_ = event.to;
    return;
  }
  bool over = event.to == ScriptStatus::Completed || event.to == ScriptStatus::Failed ||
              event.to == ScriptStatus::Cancelled;
  if (!over) return;
  suspended_runs_.erase(event.run);
  prefixes_.erase(event.run);
}

void RunProgress::began(const StepStarted& event, int64_t at_ms, std::vector<std::string>& lines) {
  std::string path = path_of(event.run, event.step);
  Node& node = node_at(path);
  node.run = event.run;
  node.effect = event.effect;
  std::string local(split_step(event.step).second);
  auto action = actions_.find(local);
  node.what = event.type == "action" && action != actions_.end() ? action->second : event.type;
  if (node.started_ms == 0) node.started_ms = at_ms;
  node.state = StepState::Running;
  node.due_ms = event.due == DueKind::Wait ? event.due_ms : 0;
  node.note = event.attempt > 1 ? "attempt " + std::to_string(event.attempt) : "";
  lines.push_back(
      line_of("started", path, node.what + (node.note.empty() ? "" : ", " + node.note)));
  bool job = event.type == "job" || event.type == "agent" || event.type == "chain" ||
             event.type == "group" || event.type == "batch";
  if (job && event.effect != 0) jobs_.push_back({event.run, event.effect, path});
}

void RunProgress::suspended(const StepSuspended& event, std::vector<std::string>& lines) {
  std::string path = path_of(event.run, event.step);
  Node& node = node_at(path);
  node.state = StepState::Suspended;
  node.due_ms = event.due_ms;
  node.note = event.decision.empty() ? "waits for signal " + event.signal : "waits for a decision";
  questions_[path] = {event.run, event.step, path, event.decision, event.signal, event.due_ms};
  lines.push_back(line_of(
      "waits", path, event.decision.empty() ? "for signal " + event.signal : "for a decision"));
}

// The inner step shows what it waits for.
void RunProgress::child_moved(const ChildMoved& event) {
  node_at(path_of(event.run, event.step)).state =
      event.suspended ? StepState::Suspended : StepState::Running;
}

void RunProgress::retrying(const StepRetrying& event, int64_t at_ms,
                           std::vector<std::string>& lines) {
  std::string path = path_of(event.run, event.step);
  Node& node = node_at(path);
  node.state = StepState::Retrying;
  node.due_ms = event.due_ms;
  node.note = "attempt " + std::to_string(event.attempt) + " of " +
              std::to_string(event.attempts_max) + " failed: " + error_text(event.error);
  questions_.erase(path);
  lines.push_back(line_of(
      "retrying", path,
      node.note + ", again in " + cli::span_text(std::max<int64_t>(0, event.due_ms - at_ms))));
}

void RunProgress::ended_step(const StepEnded& event, int64_t at_ms,
                             std::vector<std::string>& lines) {
  std::string path = path_of(event.run, event.step);
  Node& node = node_at(path);
  node.state = event.state;
  node.ended_ms = at_ms;
  node.due_ms = 0;
  node.effect = 0;
  questions_.erase(path);
  bool told =
      event.state == StepState::Completed && !node.note.empty() && node.note.rfind("says", 0) == 0;
  std::string more;
  if (!event.error.empty()) {
    more = (event.state == StepState::Completed ? "ignored " : "") + error_text(event.error);
  } else if (!event.reason.empty()) {
    more = event.reason;
  }
  if (!told) node.note = more;
  std::string time = node.started_ms == 0 ? "" : cli::span_text(at_ms - node.started_ms);
  lines.push_back(line_of(step_state_name(event.state), path,
                          time + (time.empty() || more.empty() ? "" : ", ") + more));
}

// Messages of the definition itself are always printed.
void RunProgress::noted(const StepNoted& event, std::vector<std::string>& lines) {
  if (event.type != "workflow_log" && event.type != "workflow_notification") return;
  auto data = Value::parse(event.data);
  const Value* message = data.ok() ? data->find("message") : nullptr;
  if (message == nullptr) return;
  std::string text = message->is_string() ? message->as_string() : message->json();
  std::string path = path_of(event.run, event.step);
  node_at(path).note = "says " + text;
  lines.push_back(line_of("says", path, text));
}

// --- the picture

std::string RunProgress::row_of(const Node& node, size_t depth, const Picture& picture) const {
  Look look = look_of(node.state, picture.tick);
  std::string margin(2 * depth, ' ');
  std::string name = cut(cli::printable(node.name), kNameColumn * 2);
  size_t column = kNameColumn > 2 * depth ? kNameColumn - 2 * depth : 0;
  std::string time;
  if (node.started_ms != 0 && node.state != StepState::Pending) {
    int64_t until = is_over(node.state) ? node.ended_ms : picture.now_ms;
    time = cli::span_text(std::max<int64_t>(0, until - node.started_ms));
  }
  std::string note = node.note;
  if (node.due_ms > picture.now_ms)
    note += (note.empty() ? "" : ", ") + cli::span_text(node.due_ms - picture.now_ms) + " left";
  std::string plain =
      padded(name, column) + " " + padded(cli::printable(node.what), 16) + " " + padded(time, 8);
  size_t used = margin.size() + 2 + cli::width_of(plain) + 1;
  size_t room = picture.columns > used + 4 ? picture.columns - used - 1 : 0;
  note = cut(cli::printable(note).substr(0, kNoteMax), std::min(room, kNoteMax));
  cli::Colour tone = node.state == StepState::Failed ? cli::Colour::Red : cli::Colour::Grey;
  std::string row =
      margin + cli::painted(look.glyph, look.colour, picture.colours) + " " +
      cut(plain, picture.columns > margin.size() + 4 ? picture.columns - margin.size() - 3 : 1);
  if (room != 0 && !note.empty()) row += " " + cli::painted(note, tone, picture.colours);
  while (!row.empty() && row.back() == ' ') row.pop_back();
  return row;
}

std::string RunProgress::inside_text(const Node& node) const {
  size_t over = node.folded;
  for (const std::string& child : node.children) over += is_over(nodes_.at(child).state) ? 1 : 0;
  size_t at_work = node.folded + node.children.size() - over;
  return "  " + std::to_string(over) + " over" +
         (at_work == 0 ? "" : ", " + std::to_string(at_work) + " at work");
}

void RunProgress::draw_node(const std::string& path, size_t depth, const Detail& detail,
                            const Picture& picture, std::vector<std::string>& rows) const {
  const Node& node = nodes_.at(path);
  rows.push_back(row_of(node, depth, picture));
  if (depth >= detail.depth_max) {
    if (!node.children.empty() && node.note.empty()) rows.back() += inside_text(node);
    return;
  }
  size_t hidden = node.folded;
  size_t counted_at = rows.size();
  for (const std::string& child : node.children) {
    StepState state = nodes_.at(child).state;
    if (detail.live_only && is_over(state) && state != StepState::Failed) {
      ++hidden;
    } else {
      draw_node(child, depth + 1, detail, picture, rows);
    }
  }
  if (hidden != 0)
    rows.insert(rows.begin() + static_cast<ptrdiff_t>(counted_at),
                std::string(2 * depth + 2, ' ') + "… " + std::to_string(hidden) + " more, over");
}

std::vector<std::string> RunProgress::rows_with(const Detail& detail,
                                                const Picture& picture) const {
  std::vector<std::string> rows;
  for (const std::string& path : roots_) draw_node(path, 0, detail, picture, rows);
  return rows;
}

// Draws everything if there is room, else the unfinished steps, as deep as there is room; if still
// too long, the rows around the active steps.
std::vector<std::string> RunProgress::draw(const Picture& picture) const {
  std::vector<std::string> rows = rows_with({kDepthMax, false}, picture);
  for (size_t depth = kDepthMax + 1; rows.size() > picture.rows_max && depth-- > 0;)
    rows = rows_with({depth, true}, picture);
  if (rows.size() <= picture.rows_max || picture.rows_max < 2) return rows;
  size_t hidden = rows.size() - picture.rows_max + 1;
  size_t first = 0;  // the first unfinished one
  for (const std::string& path : roots_) {
    if (!is_over(nodes_.at(path).state)) break;
    ++first;
  }
  first = std::min(first > 2 ? first - 2 : 0, hidden);
  std::vector<std::string> shown(
      rows.begin() + static_cast<ptrdiff_t>(first),
      rows.begin() + static_cast<ptrdiff_t>(first + rows.size() - hidden));
  shown.push_back("… " + std::to_string(hidden) + " more steps");
  return shown;
}

}  // namespace pawl
