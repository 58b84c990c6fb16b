// One emulated GPU of a process: its facts, and who shares it.
#pragma once

#include "services/agent/device/contention.h"
#include "services/agent/device/load_history.h"
#include "services/agent/device/operation.h"
#include "services/agent/device/power_clock.h"
#include "services/base/check.h"

namespace eidolon::agent::device {

struct EmulatedGpu {
  explicit EmulatedGpu(const Traits& facts)
      : traits(facts), contention(facts.launch_gap), power(facts.power) {
    CHECK(traits.multiprocessors > 0);
  }

  Traits traits;
  Contention contention;
  PowerClock power;
  LoadHistory history;
};

}  // namespace eidolon::agent::device
