#include "kernel/worlds/checked_row.h"

#include "kernel/cold.h"
#include "kernel/settings/doc.h"

namespace pawl {

bool is_checked_row(uint8_t space, std::string_view key) {
  constexpr size_t kWorldIdBytes = 16;
  static const std::string items = doc_key(DocKind::WorldItem, "");
  if (Space{space} != Space::Doc || !key.starts_with(items)) return false;
  key.remove_prefix(items.size());
  return key.size() > kWorldIdBytes && (key[kWorldIdBytes] == 'f' || key[kWorldIdBytes] == 's');
}

}  // namespace pawl
