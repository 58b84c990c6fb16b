// `eidolon doctor --store`: looks for damage in a data folder that no controller uses, and repairs
// what can be repaired. What is damaged goes to the folder's damaged/; nothing is thrown away.
#pragma once

#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::store {

struct StoreFinding {
  enum class State {
    kGood,
    kNote,      // Worth knowing; nothing is damaged.
    kDamaged,   // And not repaired.
    kRepaired,  // Was damaged.
  };
  State state = State::kGood;
  std::string subject;  // "job 7 (default/train)", "jobs.db".
  std::string text;
};

struct StoreCheck {
  std::string folder;
  bool repair = false;
};

// Fails when there is no store, a controller uses it, or a newer version wrote it; then nothing was
// changed.
base::Result<std::vector<StoreFinding>> CheckStore(const StoreCheck& check);

}  // namespace eidolon::controller::store
