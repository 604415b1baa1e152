// The diagram for browsers: nested boxes. No scripts, no external styles, and all text escaped.
#include <algorithm>
#include <array>

#include "plan/diagram_model.h"
#include "plan/layered_layout.h"

namespace pawl::plan {
namespace {

constexpr int64_t kPad = 14;
constexpr int64_t kTitle = 40;    // height of a step's own text
constexpr int64_t kCaption = 22;  // of a section
constexpr int64_t kLetter = 7;    // breadth of a letter, rounded up
constexpr int64_t kWidthMin = 130;
constexpr int64_t kRound = 16;  // radius of start and end
constexpr int64_t kMargin = 24;
constexpr size_t kNameMax = 34;
constexpr size_t kSvgDetailMax = 40;

struct Colours {
  std::string_view status;
  std::string_view fill;
  std::string_view line;
};
constexpr Colours kPlain = {"", "#ffffff", "#57606a"};
constexpr std::array<Colours, 8> kColours = {{{"completed", "#dafbe1", "#1a7f37"},
                                              {"failed", "#ffebe9", "#cf222e"},
                                              {"running", "#ddf4ff", "#0969da"},
                                              {"suspended", "#fff8c5", "#9a6700"},
                                              {"pending", "#f6f8fa", "#8c959f"},
                                              {"scheduled", "#f6f8fa", "#0969da"},
                                              {"skipped", "#eaeef2", "#8c959f"},
                                              {"retrying", "#fbefff", "#8250df"}}};

const Colours& colours_of(std::string_view status) {
  for (const Colours& colours : kColours) {
    if (colours.status == status) return colours;
  }
  return kPlain;
}

std::string escaped_for_svg(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(int64_t value) { return std::to_string(value); }

struct ListBox;

struct SectionBox {
  Section section;
  std::vector<ListBox> list;  // one
  Point at;
};

struct StepBox {
  const Step* step = nullptr;
  Mark mark;
  std::string name;
  std::string detail;
  std::vector<SectionBox> sections;
};

// A list, laid out: layout.boxes[i] is the box of steps[i].
struct ListBox {
  std::vector<StepBox> steps;
  Layout layout;
  int64_t width = 0;
  int64_t height = 0;
};

class Measure {
 public:
  Measure(const Script& script, const Marks& marks) : script_(script), marks_(marks) {}

  ListBox list(uint32_t index, const Place& place) const {
    ListBox box;
    for (const uint32_t at : script_.lists[index].steps) {
      const Step& step = script_.steps[at];
      const auto position = static_cast<uint32_t>(box.steps.size());
      LayoutBox size;
      box.steps.push_back(measured(step, place.step(step), size));
      box.layout.boxes.push_back(size);
      for (const uint32_t on : step.depends_on)
        box.layout.edges.push_back({on, position, false, {}});
      if (step.fallback != kNoStep) box.layout.edges.push_back({position, step.fallback, true, {}});
    }
    lay_out(box.layout);
    box.width = box.layout.width;
    box.height = box.layout.height;
    return box;
  }

 private:
  StepBox measured(const Step& step, const Place& place, LayoutBox& size) const {
    StepBox box;
    box.step = &step;
    box.mark = marks_.of(place);
    box.name = shortened(step.label.empty() ? step.id : step.label, kNameMax);
    box.detail = shortened(detail_of(step), kSvgDetailMax);
    std::string_view tag = box.mark.status.empty() ? "" : tag_of(box.mark.status);
    const size_t letters = character_count(box.name) + tag.size() + box.mark.note.size() + 4;
    const size_t widest = std::max(letters, character_count(box.detail) + 2);
    int64_t x = kPad;
    int64_t below = 0;
    for (Section& section : sections_of(step)) {
      SectionBox inner;
      inner.list.push_back(list(section.list, place.section(section, box.mark)));
      inner.at = {x, kTitle};
      const auto caption =
          static_cast<int64_t>(character_count(shortened(section.caption, kNameMax)));
      inner.list[0].width = std::max(inner.list[0].width, caption * kLetter);
      x += inner.list[0].width + 3 * kPad;
      below = std::max(below, inner.list[0].height);
      inner.section = std::move(section);
      box.sections.push_back(std::move(inner));
    }
    const int64_t own = std::max(kWidthMin, static_cast<int64_t>(widest) * kLetter + 2 * kPad);
    size.width = box.sections.empty() ? own : std::max(own, x);
    if (!box.sections.empty()) box.sections.back().list[0].width += size.width - x;
    size.height = box.sections.empty() ? kTitle + 6 : kTitle + kCaption + below + 3 * kPad;
    return box;
  }

  const Script& script_;
  const Marks& marks_;
};

class Drawing {
 public:
  void list(const ListBox& box, Point origin) {
    edges(box, origin);
    for (size_t i = 0; i < box.steps.size(); ++i) {
      const LayoutBox& size = box.layout.boxes[i];
      step(box.steps[i], size, {origin.x + size.at.x, origin.y + size.at.y});
    }
  }

  void arrow(const std::vector<Point>& points, bool dashed) {
    out_ += "<path d=\"M" + number(points[0].x) + " " + number(points[0].y);
    for (size_t i = 1; i < points.size(); ++i) {
      const Point& a = points[i - 1];
      const Point& b = points[i];
      const int64_t middle = (a.y + b.y) / 2;
      out_ += " C" + number(a.x) + " " + number(middle) + " " + number(b.x) + " " + number(middle) +
              " " + number(b.x) + " " + number(b.y);
    }
    out_ += "\" fill=\"none\" stroke=\"#57606a\" stroke-width=\"1.3\" marker-end=\"url(#arrow)\"";
    if (dashed) out_ += " stroke-dasharray=\"5 4\"";
    out_ += "/>\n";
  }

  void text(Point at, std::string_view content, std::string_view style) {
    out_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" ";
    out_.append(style).append(">").append(escaped_for_svg(content)).append("</text>\n");
  }

  void circle(Point centre, std::string_view caption) {
    out_ += "<circle cx=\"" + number(centre.x) + "\" cy=\"" + number(centre.y) + "\" r=\"" +
            number(kRound) + "\" fill=\"#ffffff\" stroke=\"#57606a\" stroke-width=\"1.5\"/>\n";
    text({centre.x, centre.y + 4}, caption,
         "text-anchor=\"middle\" font-size=\"10\" fill=\"#1f2328\"");
  }

  std::string take() { return std::move(out_); }

 private:
  static Point top_of(const LayoutBox& box, Point origin) {
    return {origin.x + box.at.x + box.width / 2, origin.y + box.at.y - 2};
  }
  static Point foot_of(const LayoutBox& box, Point origin) {
    return {origin.x + box.at.x + box.width / 2, origin.y + box.at.y + box.height};
  }

  void edges(const ListBox& box, Point origin) {
    for (const LayoutEdge& edge : box.layout.edges) {
      std::vector<Point> points{foot_of(box.layout.boxes[edge.from], origin)};
      for (const Point& bend : edge.bends) points.push_back({origin.x + bend.x, origin.y + bend.y});
      points.push_back(top_of(box.layout.boxes[edge.to], origin));
      arrow(points, edge.weak);
    }
  }

  void rectangle(Point at, int64_t width, int64_t height, int64_t radius, std::string_view style) {
    out_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" + number(width) +
            "\" height=\"" + number(height) + "\" rx=\"" + number(radius) + "\" ";
    out_.append(style).append("/>\n");
  }

  static int64_t radius_of(const Step& step) {
    if (step.type == StepType::Wait) return (kTitle + 6) / 2;
    return step.type == StepType::Decision ? 14 : 5;
  }

  // Conditions are cut at the corners, so that they stand out without costing a diamond's room.
  void outline(const StepBox& box, const LayoutBox& size, Point at, std::string_view style) {
    const StepType type = box.step->type;
    const bool test = type == StepType::Condition || type == StepType::Test;
    if (!test) return rectangle(at, size.width, size.height, radius_of(*box.step), style);
    const int64_t cut = 12;
    const int64_t right = at.x + size.width;
    const int64_t foot = at.y + size.height;
    const std::array<Point, 8> corners = {{{at.x + cut, at.y},
                                           {right - cut, at.y},
                                           {right, at.y + cut},
                                           {right, foot - cut},
                                           {right - cut, foot},
                                           {at.x + cut, foot},
                                           {at.x, foot - cut},
                                           {at.x, at.y + cut}}};
    out_ += "<polygon points=\"";
    for (const Point& corner : corners) out_ += number(corner.x) + "," + number(corner.y) + " ";
    out_.append("\" ").append(style).append("/>\n");
  }

  void step(const StepBox& box, const LayoutBox& size, Point at) {
    const Colours& colours = colours_of(box.mark.status);
    const bool dashed = box.step->dormant || box.mark.status == "skipped";
    std::string style = "fill=\"" + std::string(colours.fill) + "\" stroke=\"" +
                        std::string(colours.line) + "\" stroke-width=\"1.5\"";
    if (dashed) style += " stroke-dasharray=\"5 4\"";
    out_ += "<g>\n<title>" + escaped_for_svg(box.step->id) + ": " +
            escaped_for_svg(shortened(detail_of(*box.step), 500)) + "</title>\n";
    outline(box, size, at, style);
    text({at.x + kPad, at.y + 18}, box.name, "font-weight=\"bold\" fill=\"#1f2328\"");
    text({at.x + kPad, at.y + 35}, box.detail, "font-size=\"11\" fill=\"#57606a\"");
    if (!box.mark.status.empty()) {
      std::string tag(tag_of(box.mark.status));
      if (!box.mark.note.empty()) tag += " " + box.mark.note;
      text({at.x + size.width - kPad, at.y + 18}, tag,
           "text-anchor=\"end\" font-size=\"10\" font-weight=\"bold\" fill=\"" +
               std::string(colours.line) + "\"");
    }
    for (const SectionBox& inner : box.sections) section(inner, size, at);
    out_ += "</g>\n";
  }

  void section(const SectionBox& box, const LayoutBox& around, Point at) {
    const Point corner = {at.x + box.at.x, at.y + box.at.y + 4};
    rectangle(corner, box.list[0].width + 2 * kPad, around.height - kTitle - kPad, 5,
              box.section.undo ? "fill=\"#fffdf5\" stroke=\"#bf8700\" stroke-dasharray=\"3 3\""
                               : "fill=\"#fbfcfd\" stroke=\"#afb8c1\" stroke-dasharray=\"3 3\"");
    text({corner.x + kPad, corner.y + 15}, shortened(box.section.caption, kNameMax),
         "font-size=\"11\" font-style=\"italic\" fill=\"#57606a\"");
    list(box.list[0], {corner.x + kPad, corner.y + kCaption + kPad / 2});
  }

  std::string out_;
};

class Page {
 public:
  Page(const Script& script, const Marks& marks) : script_(script), measure_(script, marks) {}

  std::string draw() {
    const ListBox root = measure_.list(script_.root, Place());
    const std::string title = shortened(title_of(script_), 80);
    const auto title_width = static_cast<int64_t>(character_count(title)) * 10;
    width_ = std::max({root.width, title_width, kWidthMin});
    const int64_t middle = kMargin + width_ / 2;
    const Point start = {middle, kMargin + 30 + kRound};
    const Point origin = {kMargin + (width_ - root.width) / 2, start.y + kRound + 36};
    const Point done = {middle, origin.y + root.height + 36 + kRound};
    ends(root, origin, start, done);
    drawing_.circle(start, "start");
    drawing_.list(root, origin);
    drawing_.circle(done, "end");
    foot_ = done.y + kRound;
    hook("on_complete", script_.on_complete, done);
    hook("on_error", script_.on_error, done);
    return framed(title);
  }

 private:
  void ends(const ListBox& root, Point origin, Point start, Point done) {
    for (size_t i = 0; i < root.steps.size(); ++i) {
      const Step& step = *root.steps[i].step;
      const LayoutBox& box = root.layout.boxes[i];
      const int64_t x = origin.x + box.at.x + box.width / 2;
      if (step.depends_on.empty() && !step.dormant) {
        drawing_.arrow({{start.x, start.y + kRound}, {x, origin.y + box.at.y - 2}}, false);
      }
      if (step.dependents.empty() && !step.dormant) {
        drawing_.arrow({{x, origin.y + box.at.y + box.height}, {done.x, done.y - kRound - 2}},
                       false);
      }
    }
  }

  void hook(std::string_view name, uint32_t index, Point done) {
    if (index == kNoList) return;
    const ListBox box = measure_.list(index, Place());
    width_ = std::max(width_, box.width);
    drawing_.text({kMargin, foot_ + 26}, name,
                  "font-size=\"11\" font-style=\"italic\" fill=\"#57606a\"");
    const Point origin = {std::max(kMargin, done.x - box.width / 2), foot_ + 40};
    if (!box.steps.empty()) {
      const LayoutBox& first = box.layout.boxes[0];
      drawing_.arrow(
          {{done.x, foot_}, {origin.x + first.at.x + first.width / 2, origin.y + first.at.y - 2}},
          true);
    }
    drawing_.list(box, origin);
    foot_ = origin.y + box.height;
  }

  std::string framed(const std::string& title) {
    const std::string size = number(width_ + 2 * kMargin) + " " + number(foot_ + kMargin);
    const size_t space = size.find(' ');
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size.substr(0, space) +
        "\" height=\"" + size.substr(space + 1) + "\" viewBox=\"0 0 " + size +
        "\" font-family=\"ui-sans-serif, system-ui, Helvetica, Arial, sans-serif\" "
        "font-size=\"12\" role=\"img\">\n<title>" +
        escaped_for_svg(title) +
        "</title>\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
        "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" "
        "fill=\"#57606a\"/></marker></defs>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"#ffffff\"/>\n";
    out += "<text x=\"" + number(kMargin) + "\" y=\"" + number(kMargin + 8) +
           "\" font-size=\"16\" font-weight=\"bold\" fill=\"#1f2328\">" + escaped_for_svg(title) +
           "</text>\n";
    return out + drawing_.take() + "</svg>\n";
  }

  const Script& script_;
  Measure measure_;
  Drawing drawing_;
  int64_t width_ = 0;
  int64_t foot_ = 0;
};

}  // namespace

std::string draw_svg(const Script& script, const Marks& marks) {
  return Page(script, marks).draw();
}

}  // namespace pawl::plan
