#include "plan/diagram.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/definition.h"
#include "plan/diagram_model.h"
#include "plan/layered_layout.h"
#include "plan/nearest.h"

namespace pawl::plan {
namespace {

constexpr std::string_view kSmall =
    "name: small\n"
    "steps:\n"
    "  - {id: last, action: x, depends_on: [each], condition: inputs.go}\n"
    "  - id: each\n"
    "    type: loop\n"
    "    depends_on: [first]\n"
    "    config: {over: inputs.list, body: [{id: b, action: y}]}\n"
    "  - {id: first, type: wait, config: {duration: 90s}, on_error: {strategy: fallback_step, "
    "fallback_step: spare}}\n"
    "  - {id: spare, action: z}\n";

std::string draw(std::string_view text, DiagramFormat format,
                 const StepStatuses* statuses = nullptr) {
  const ReadResult result = read_definition(text);
  return result.valid() ? draw_diagram(*result.script, format, statuses) : result.errors[0].message;
}

TEST(Diagram, AsciiIsATreeInRunningOrder) {
  EXPECT_EQ(draw(kSmall, DiagramFormat::Ascii),
            "small\n"
            "+- first: wait 90s  {on error: spare}\n"
            "+- each: for each of inputs.list  <- first\n"
            "|  `- <body>\n"
            "|     `- b: y\n"
            "+- last: x  {if inputs.go}  <- each\n"
            "`- spare: z  {fallback}\n");
}

TEST(Diagram, StatusesAreTagsAndIterationsAreCounted) {
  const StepStatuses statuses = {{"first", "completed"},         {"each", "running"},
                                 {"each.iter_0.b", "completed"}, {"each.iter_1.b", "skipped"},
                                 {"each.iter_2.b", "retrying"},  {"each.iter_10.b", "suspended"}};
  EXPECT_EQ(draw(kSmall, DiagramFormat::Ascii, &statuses),
            "small\n"
            "+- [OK] first: wait 90s  {on error: spare}\n"
            "+- [RUN] each: for each of inputs.list  <- first\n"
            "|  `- <body>\n"
            "|     `- [RETRY] b (2 of 4): y\n"
            "+- [PEND] last: x  {if inputs.go}  <- each\n"
            "`- [PEND] spare: z  {fallback}\n");
}

TEST(Diagram, ABranchNotTakenIsSkipped) {
  const StepStatuses statuses = {{"c", "completed"}, {"c.yes.a", "failed"}};
  const std::string drawn = draw(
      "steps: [{id: c, type: condition, config: {expression: inputs.v, branches: {'yes': [{id: a, "
      "action: x}], "
      "'no': [{id: b, action: x}]}}}]",
      DiagramFormat::Ascii, &statuses);
  EXPECT_NE(drawn.find("[FAIL] a"), std::string::npos);
  EXPECT_NE(drawn.find("[SKIP] b"), std::string::npos);
}

TEST(Diagram, MermaidNamesNodesByPlace) {
  const StepStatuses statuses = {{"first", "completed"}};
  const std::string drawn = draw(kSmall, DiagramFormat::Mermaid, &statuses);
  EXPECT_EQ(drawn.substr(0, 13), "flowchart TD\n");
  for (const std::string_view part :
       {"start((start))", "n0_2([\"first<br/>wait 90s<br/>OK\"])",
        "subgraph s0_1[\"each<br/>for each of inputs.list", "n0_2 --> s0_1",
        "s0_1 -->|\"inputs.go\"| n0_0", "n0_2 -. on error .-> n0_3", "n0_0 --> done",
        "classDef completed ", "class n0_2 completed", "class n0_0,s0_1,n1_0,n0_3 pending"}) {
    EXPECT_NE(drawn.find(part), std::string::npos) << part << "\n" << drawn;
  }
}

constexpr std::string_view kHostile =
    "name: \"</title><script>alert(1)</script>\"\n"
    "steps:\n"
    "  - {id: \"\\\"]; click n0 href <b>&'\", action: \"x\\\"<script>\"}\n"
    "  - {id: b, type: condition, config: {expression: \"'<i>'\", branches: {'\"|--><x>': [{id: c, "
    "action: x}]}}}\n";

TEST(Diagram, TextIsNeverSyntax) {
  const std::string svg = draw(kHostile, DiagramFormat::Svg);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;"), std::string::npos);
  const std::string mermaid = draw(kHostile, DiagramFormat::Mermaid);
  EXPECT_EQ(mermaid.find("\"]; click"), std::string::npos);
  EXPECT_NE(mermaid.find("#quot;]#59; click n0 href #lt;b#gt;#amp;'"), std::string::npos);
  EXPECT_EQ(mermaid.find("|-->"), std::string::npos);
}

// Tags open and close in pairs.
TEST(Diagram, SvgIsWellFormed) {
  for (const std::string_view text : {kSmall, kHostile}) {
    const std::string svg = draw(text, DiagramFormat::Svg);
    std::vector<std::string> open_tags;
    for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
      const size_t end = svg.find('>', at);
      ASSERT_NE(end, std::string::npos);
      const std::string tag = svg.substr(at + 1, svg.find_first_of(" >", at) - at - 1);
      if (svg[end - 1] == '/') continue;
      if (tag[0] == '/') {
        ASSERT_FALSE(open_tags.empty());
        EXPECT_EQ("/" + open_tags.back(), tag);
        open_tags.pop_back();
      } else {
        open_tags.push_back(tag);
      }
    }
    EXPECT_TRUE(open_tags.empty());
  }
}

TEST(Diagram, FormatsHaveNames) {
  EXPECT_EQ(*parse_diagram_format(""), DiagramFormat::Mermaid);
  EXPECT_EQ(*parse_diagram_format("ascii"), DiagramFormat::Ascii);
  EXPECT_EQ(*parse_diagram_format("svg"), DiagramFormat::Svg);
  EXPECT_EQ(parse_diagram_format("png").error().code, ErrorCode::InvalidRequest);
  EXPECT_EQ(diagram_content_type(DiagramFormat::Svg), "image/svg+xml");
}

TEST(Diagram, LongTextIsCutAtACharacter) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcde…");
  EXPECT_EQ(shortened("abcdefg", 6, true), "abc...");
  EXPECT_EQ(shortened("äöüßéè", 4), "äöü…");
  EXPECT_EQ(shortened("a\nb\x1b[0m", 20), "a b [0m");
}

bool overlap(const LayoutBox& a, const LayoutBox& b) {
  return a.at.x < b.at.x + b.width && b.at.x < a.at.x + a.width && a.at.y < b.at.y + b.height &&
         b.at.y < a.at.y + a.height;
}

TEST(LayeredLayout, BoxesDoNotOverlapAndEdgesGoDown) {
  Layout layout;
  for (int i = 0; i < 40; ++i) layout.boxes.push_back({50 + 7 * (i % 5), 30 + 3 * (i % 4), {}});
  for (uint32_t i = 1; i < 40; ++i) {
    layout.edges.push_back({i / 3, i, false, {}});
    if (i > 9) layout.edges.push_back({i - 9, i, false, {}});
  }
  layout.edges.push_back({39, 0, true, {}});  // a weak edge against the stream
  lay_out(layout);
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const LayoutBox& box = layout.boxes[i];
    EXPECT_GE(box.at.x, 0);
    EXPECT_LE(box.at.x + box.width, layout.width);
    EXPECT_LE(box.at.y + box.height, layout.height);
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(overlap(box, layout.boxes[k])) << i << " and " << k;
  }
  for (const LayoutEdge& edge : layout.edges) {
    if (edge.weak) continue;
    EXPECT_LT(layout.boxes[edge.from].at.y + layout.boxes[edge.from].height,
              layout.boxes[edge.to].at.y);
  }
}

TEST(Diagram, TenThousandStepsCanBeDrawn) {
  std::string text = "steps:\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "  - {id: s" + std::to_string(i) + ", action: x";
    if (i > 0) text += ", depends_on: [s" + std::to_string(i - 1);
    if (i > 3) text += ", s" + std::to_string(i / 2);
    if (i > 0) text += "]";
    text += "}\n";
  }
  const std::string svg = draw(text, DiagramFormat::Svg);
  EXPECT_NE(svg.find(">s9999<"), std::string::npos) << svg.substr(0, 200);
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::string_view kNames[] = {"depends_on", "retry", "timeout", "type"};
  EXPECT_EQ(nearest("dependsOn", kNames), "depends_on");
  EXPECT_EQ(nearest("tiemout", kNames), "timeout");
  EXPECT_EQ(nearest("tpye", kNames), "type");
  EXPECT_EQ(nearest("Retry", kNames), "retry");
  EXPECT_EQ(nearest("colour", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest(std::string(10'000, 'x'), kNames), "");
}

}  // namespace
}  // namespace pawl::plan
