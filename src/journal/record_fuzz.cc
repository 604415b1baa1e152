#include "base/hash.h"
#include "journal/events.h"
#include "journal/record.h"

// Arbitrary bytes, once as they are and once with a right checksum, so that the framing behind it
// is reached too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string record(reinterpret_cast<const char*>(data), size);
  (void)pawl::journal::read_record(1, record).ok();
  std::string sealed = std::string("PJ\x01", 3) + record;
  uint32_t crc = pawl::crc32c(sealed);
  for (int shift = 0; shift < 32; shift += 8) sealed.push_back(static_cast<char>(crc >> shift));
  auto events = pawl::journal::read_record(1, sealed);
  if (!events.ok()) return 0;
  for (const auto& event : *events) {
    pawl::JobCreated created;
    (void)pawl::codec::decode(event.bytes, created);
    pawl::JobFailed failed;
    (void)pawl::codec::decode(event.bytes, failed);
  }
  return 0;
}
