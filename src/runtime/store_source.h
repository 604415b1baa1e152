// StoreSource: where a runtime's store and vault come from, if not from a directory or memory. The
// seam between a runtime, which programs embed, and what only the server has.
#pragma once

#include <memory>

#include "actions/vault.h"
#include "store/store.h"

namespace pawl {

class StoreSource {
 public:
  virtual ~StoreSource() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  virtual Result<actions::Vault> vault() = 0;  // once it is open
  virtual void close() = 0;                    // after the store is closed
};

}  // namespace pawl
