// Any bytes as a test file: read, or refused with faults that have a place.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "rehearse/test_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pawl;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto read = rehearse::read_test_file(text, [](const std::string&) -> Result<std::string> {
    return std::string("steps: [{id: a, action: http.get, params: {url: 'http://x'}}]");
  });
  for (const plan::Fault& fault : read.errors) PAWL_CHECK(!fault.message.empty());
  for (const rehearse::Case& one : read.file.cases)
    PAWL_CHECK(!read.valid() || !one.expect.status.empty());
  return 0;
}
