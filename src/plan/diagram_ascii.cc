// The diagram for terminals: a tree, each step after its dependencies.
#include "plan/diagram_model.h"

namespace pawl::plan {
namespace {

constexpr size_t kAsciiIdMax = 40;
constexpr size_t kAsciiDetailMax = 60;
constexpr size_t kNamedMax = 8;

class AsciiTree {
 public:
  AsciiTree(const Script& script, const Marks& marks) : script_(script), marks_(marks) {}

  std::string draw() {
    out_ = shortened(title_of(script_), 100, true) + "\n";
    const bool hooks = script_.on_complete != kNoList || script_.on_error != kNoList;
    list(script_.root, Place(), "", hooks, false);
    const bool on_error = script_.on_error != kNoList;
    if (script_.on_complete != kNoList) hook("on_complete", script_.on_complete, on_error);
    if (on_error) hook("on_error", script_.on_error, false);
    return std::move(out_);
  }

 private:
  void hook(std::string_view name, uint32_t index, bool more) {
    out_.append(more ? "+- " : "`- ").append(name).append("\n");
    list(index, Place(), more ? "|  " : "   ", false, true);
  }

  void list(uint32_t index, const Place& place, const std::string& indent, bool more,
            bool in_order) {
    const std::vector<uint32_t> order = running_order(script_, index);
    for (size_t i = 0; i < order.size(); ++i) {
      const bool last = i + 1 == order.size() && !more;
      const uint32_t before = i == 0 || !in_order ? kNoStep : order[i - 1];
      step(script_.at(index, order[i]), place, indent, last, before);
    }
  }

  void step(const Step& step, const Place& around, const std::string& indent, bool last,
            uint32_t before) {
    const Place place = around.step(step);
    const Mark mark = marks_.of(place);
    out_.append(indent).append(last ? "`- " : "+- ");
    if (!mark.status.empty()) out_.append("[").append(tag_of(mark.status)).append("] ");
    out_ += shortened(step.id, kAsciiIdMax, true);
    if (!mark.note.empty()) out_.append(" (").append(mark.note).append(")");
    out_.append(": ").append(shortened(detail_of(step), kAsciiDetailMax, true));
    notes(step, before);
    out_ += '\n';
    sections(step, place, mark, indent + (last ? "   " : "|  "));
  }

  void notes(const Step& step, uint32_t before) {
    if (!step.condition.empty()) {
      out_.append("  {if ").append(shortened(step.condition, kAsciiDetailMax, true)).append("}");
    }
    if (step.dormant) out_ += "  {fallback}";
    if (step.fallback != kNoStep) {
      const Step& other = script_.at(step.list, step.fallback);
      out_.append("  {on error: ").append(shortened(other.id, kAsciiIdMax, true)).append("}");
    }
    const bool expected = step.depends_on.size() == 1 && step.depends_on[0] == before;
    if (step.depends_on.empty() || expected) return;
    out_ += "  <- ";
    for (size_t i = 0; i < step.depends_on.size(); ++i) {
      if (i == kNamedMax) {
        out_ += " and " + std::to_string(step.depends_on.size() - i) + " more";
        break;
      }
      if (i > 0) out_ += ", ";
      out_ += shortened(script_.at(step.list, step.depends_on[i]).id, kAsciiIdMax, true);
    }
  }

  void sections(const Step& step, const Place& place, const Mark& mark, const std::string& indent) {
    const std::vector<Section> sections = sections_of(step);
    for (size_t i = 0; i < sections.size(); ++i) {
      const bool last = i + 1 == sections.size();
      const Place inside = place.section(sections[i], mark);
      if (step.type == StepType::Sequence && sections.size() == 1) {
        list(sections[i].list, inside, indent, false, true);
        continue;
      }
      out_.append(indent).append(last ? "`- " : "+- ");
      out_.append("<").append(shortened(sections[i].caption, kAsciiIdMax, true)).append(">\n");
      list(sections[i].list, inside, indent + (last ? "   " : "|  "), false, true);
    }
  }

  const Script& script_;
  const Marks& marks_;
  std::string out_;
};

}  // namespace

std::string draw_ascii(const Script& script, const Marks& marks) {
  return AsciiTree(script, marks).draw();
}

}  // namespace pawl::plan
