// The diagram for documents: a Mermaid flowchart. Nodes are named by place, so no text of the
// definition is ever syntax.
#include <array>
#include <map>

#include "plan/diagram_model.h"

namespace pawl::plan {
namespace {

constexpr size_t kMermaidIdMax = 60;
constexpr size_t kMermaidDetailMax = 60;

struct Shape {
  std::string_view begin;
  std::string_view end;
};

Shape shape_of(const Step& step) {
  switch (step.type) {
    case StepType::Condition:
    case StepType::Test:
      return {"{", "}"};
    case StepType::Decision:
      return {"{{", "}}"};
    case StepType::Wait:
      return {"([", "])"};
    case StepType::Composition:
    case StepType::Subworkflow:
      return {"[[", "]]"};
    case StepType::Action:
    case StepType::Loop:
    case StepType::Parallel:
    case StepType::Sequence:
    case StepType::Job:
      return {"[", "]"};
  }
  return {"[", "]"};
}

// Inside quotes only these characters have a special meaning.
std::string escaped_for_mermaid(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "#quot;";
        break;
      case '<':
        out += "#lt;";
        break;
      case '>':
        out += "#gt;";
        break;
      case '&':
        out += "#amp;";
        break;
      case '#':
        out += "#35;";
        break;
      case '`':
        out += "#96;";
        break;
      case '\\':
        out += "#92;";
        break;
      case ';':
        out += "#59;";
        break;
      case '|':
        out += "#124;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

constexpr std::array<std::array<std::string_view, 2>, 8> kClasses = {{
    {"completed", "fill:#dafbe1,stroke:#1a7f37,color:#1f2328"},
    {"failed", "fill:#ffebe9,stroke:#cf222e,color:#1f2328"},
    {"running", "fill:#ddf4ff,stroke:#0969da,color:#1f2328"},
    {"suspended", "fill:#fff8c5,stroke:#9a6700,color:#1f2328"},
    {"pending", "fill:#f6f8fa,stroke:#8c959f,color:#1f2328"},
    {"scheduled", "fill:#f6f8fa,stroke:#0969da,color:#1f2328"},
    {"skipped", "fill:#eaeef2,stroke:#6e7781,color:#57606a,stroke-dasharray:4 3"},
    {"retrying", "fill:#fbefff,stroke:#8250df,color:#1f2328"},
}};

class Flowchart {
 public:
  Flowchart(const Script& script, const Marks& marks) : script_(script), marks_(marks) {}

  std::string draw() {
    out_ = "flowchart TD\n";
    line("%% " + title());
    line("start((start))");
    list(script_.root, Place());
    line("done((end))");
    for (const uint32_t place : script_.lists[script_.root].steps) {
      const Step& step = script_.steps[place];
      if (step.depends_on.empty() && !step.dormant) line("start --> " + entry(step));
      if (step.dependents.empty() && !step.dormant) line(exit(step) + " --> done");
    }
    hook("on_complete", script_.on_complete);
    hook("on_error", script_.on_error);
    classes();
    return std::move(out_);
  }

 private:
  // A comment, in which braces would begin a directive.
  std::string title() const {
    std::string out = shortened(title_of(script_), 100);
    for (char& c : out) {
      if (c == '{') c = '(';
      if (c == '}') c = ')';
    }
    return out;
  }

  void line(const std::string& text) {
    out_.append(4 * (1 + depth_), ' ');
    out_.append(text).append("\n");
  }

  static std::string node(const Step& step) {
    return "n" + std::to_string(step.list) + "_" + std::to_string(step.position);
  }
  static std::string box(const Step& step) { return "s" + node(step).substr(1); }

  static bool has_box(const Step& step) {
    for (const Section& section : sections_of(step)) {
      if (!section.undo) return true;
    }
    return false;
  }
  static std::string entry(const Step& step) {
    return has_box(step) && step.type != StepType::Condition ? box(step) : node(step);
  }
  static std::string exit(const Step& step) { return has_box(step) ? box(step) : node(step); }

  std::string label(const Step& step, const Mark& mark) const {
    const std::string& name = step.label.empty() ? step.id : step.label;
    std::string out = escaped_for_mermaid(shortened(name, kMermaidIdMax));
    out += "<br/>" + escaped_for_mermaid(shortened(detail_of(step), kMermaidDetailMax));
    if (!mark.status.empty()) {
      out.append("<br/>").append(tag_of(mark.status));
      if (!mark.note.empty()) out.append(" ").append(mark.note);
    }
    return out;
  }

  void list(uint32_t index, const Place& place) {
    for (const uint32_t at : script_.lists[index].steps) step(script_.steps[at], place);
    for (const uint32_t at : script_.lists[index].steps) edges(script_.steps[at]);
  }

  void step(const Step& step, const Place& around) {
    const Place place = around.step(step);
    const Mark mark = marks_.of(place);
    const Shape shape = shape_of(step);
    const std::string text = "\"" + label(step, mark) + "\"";
    const bool boxed = has_box(step);
    if (!mark.status.empty()) {
      std::string& members = members_[std::string(mark.status)];
      if (!members.empty()) members += ',';
      members += boxed ? box(step) : node(step);
    }
    const std::string drawn = node(step).append(shape.begin).append(text).append(shape.end);
    if (!boxed) {
      line(drawn);
    } else {
      const bool condition = step.type == StepType::Condition;
      line("subgraph " + box(step) + "[" +
           (condition ? "\"" + escaped_for_mermaid(shortened(step.id, kMermaidIdMax)) + "\""
                      : text) +
           "]");
      ++depth_;
      line("direction TB");
      if (condition) line(drawn);
      for (const Section& section : sections_of(step)) {
        if (!section.undo) inside(step, section, place.section(section, mark));
      }
      --depth_;
      line("end");
    }
    undo(step, place, mark);
  }

  void inside(const Step& step, const Section& section, const Place& place) {
    const std::vector<uint32_t>& steps = script_.lists[section.list].steps;
    const bool parallel = step.type == StepType::Parallel;
    if (parallel && !steps.empty()) {
      line("subgraph l" + std::to_string(section.list) + "[\"" +
           escaped_for_mermaid(section.caption) + "\"]");
      ++depth_;
      line("direction TB");
    }
    list(section.list, place);
    if (parallel && !steps.empty()) {
      --depth_;
      line("end");
    }
    if (step.type != StepType::Condition) return;
    const std::string caption = escaped_for_mermaid(shortened(section.caption, kMermaidIdMax));
    for (const uint32_t at : steps) {
      const Step& first = script_.steps[at];
      if (first.depends_on.empty() && !first.dormant) {
        line(node(step) + " -->|\"" + caption + "\"| " + entry(first));
      }
    }
  }

  void undo(const Step& step, const Place& place, const Mark& mark) {
    for (const Section& section : sections_of(step)) {
      if (!section.undo || script_.lists[section.list].steps.empty()) continue;
      list(section.list, place.section(section, mark));
      line(exit(step) + " -. undo .-> " + entry(script_.at(section.list, 0)));
    }
  }

  void edges(const Step& step) {
    for (const uint32_t on : step.depends_on) {
      const Step& before = script_.at(step.list, on);
      const std::string guard =
          step.condition.empty()
              ? ""
              : "|\"" + escaped_for_mermaid(shortened(step.condition, kMermaidDetailMax)) + "\"|";
      line(exit(before) + " -->" + guard + " " + entry(step));
    }
    if (step.fallback != kNoStep) {
      line(exit(step) + " -. on error .-> " + entry(script_.at(step.list, step.fallback)));
    }
  }

  void hook(std::string_view name, uint32_t index) {
    if (index == kNoList || script_.lists[index].steps.empty()) return;
    list(index, Place());
    line("done -. " + std::string(name) + " .-> " + entry(script_.at(index, 0)));
  }

  void classes() {
    for (const auto& [name, style] : kClasses) {
      const auto found = members_.find(name);
      if (found == members_.end()) continue;
      line("classDef " + std::string(name) + " " + std::string(style));
      line("class " + found->second + " " + std::string(name));
    }
  }

  const Script& script_;
  const Marks& marks_;
  std::string out_;
  size_t depth_ = 0;
  std::map<std::string, std::string, std::less<>> members_;  // status → nodes
};

}  // namespace

std::string draw_mermaid(const Script& script, const Marks& marks) {
  return Flowchart(script, marks).draw();
}

}  // namespace pawl::plan
