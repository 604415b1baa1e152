// Diagrams of a Script, with or without the status of a run: ASCII for terminals, Mermaid for
// documents, SVG for browsers. Text from the definition is always escaped. Pure; any thread.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "plan/script.h"

namespace pawl::plan {

enum class DiagramFormat : uint8_t { Ascii, Mermaid, Svg };
Result<DiagramFormat> parse_diagram_format(std::string_view name);  // "" = mermaid
std::string_view diagram_content_type(DiagramFormat format);

// Full dotted step id → status (completed, failed, running, suspended, pending, skipped, retrying).
using StepStatuses = std::map<std::string, std::string, std::less<>>;

// The largest number of arrows: a picture with more is neither readable nor small.
constexpr size_t kDiagramArrowsMax = 50'000;
// InvalidContent if it would have more. ASCII diagrams have no arrows.
Status check_drawable(const Script& script, DiagramFormat format);

std::string draw_diagram(const Script& script, DiagramFormat format,
                         const StepStatuses* statuses = nullptr);

}  // namespace pawl::plan
