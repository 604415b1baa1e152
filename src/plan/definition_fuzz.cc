// Any text: reading never crashes, and an accepted text compiles from its canonical form to the
// same script, and can be drawn.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plan/definition.h"
#include "plan/diagram.h"
#include "plan/testing/script_story.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  using namespace pawl::plan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.lenient = true;
  const ReadResult result = read_definition(text, options);
  PAWL_CHECK(result.valid() == result.errors.empty());
  if (!result.valid()) return 0;
  const auto again = compile_canonical(result.canonical);
  PAWL_CHECK(again.ok());
  PAWL_CHECK(story(**again) == story(*result.script));
  for (const DiagramFormat format :
       {DiagramFormat::Ascii, DiagramFormat::Mermaid, DiagramFormat::Svg}) {
    PAWL_CHECK(!draw_diagram(*result.script, format).empty());
  }
  return 0;
}
