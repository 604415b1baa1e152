#include "plan/diagram.h"

#include "base/quote.h"
#include "plan/diagram_model.h"

namespace pawl::plan {

Result<DiagramFormat> parse_diagram_format(std::string_view name) {
  if (name.empty() || name == "mermaid") return DiagramFormat::Mermaid;
  if (name == "ascii" || name == "text") return DiagramFormat::Ascii;
  if (name == "svg" || name == "image") return DiagramFormat::Svg;
  return Error{ErrorCode::InvalidRequest,
               "format must be ascii, mermaid or svg, not " + in_quotes(name)};
}

std::string_view diagram_content_type(DiagramFormat format) {
  return format == DiagramFormat::Svg ? "image/svg+xml" : "text/plain; charset=utf-8";
}

Status check_drawable(const Script& script, DiagramFormat format) {
  if (format == DiagramFormat::Ascii) return ok_status();
  size_t arrows = 0;
  for (const Step& step : script.steps)
    arrows += step.depends_on.size() + (step.fallback == kNoStep ? 0 : 1);
  if (arrows <= kDiagramArrowsMax) return ok_status();
  return Error{ErrorCode::InvalidContent,
               "its steps depend on each other " + std::to_string(arrows) +
                   " times; a diagram shows " + std::to_string(kDiagramArrowsMax) +
                   " at most (format=ascii shows the steps without arrows)"};
}

std::string draw_diagram(const Script& script, DiagramFormat format, const StepStatuses* statuses) {
  const Marks marks(statuses);
  switch (format) {
    case DiagramFormat::Ascii:
      return draw_ascii(script, marks);
    case DiagramFormat::Mermaid:
      return draw_mermaid(script, marks);
    case DiagramFormat::Svg:
      return draw_svg(script, marks);
  }
  return {};
}

}  // namespace pawl::plan
