// The work that one process has defined, by its numbers, and the scout that looks ahead in a
// stalled ring for further definitions, so that questions about costs travel in batches.
#pragma once

#include <cstdint>

#include "services/agent/device/id_map.h"
#include "services/agent/ring/reader.h"
#include "services/agent/session/session_host.h"
#include "services/base/error.h"

namespace eidolon::agent::session {

// A number is defined once. Main loop only.
class WorkDefinitions {
 public:
  explicit WorkDefinitions(SessionHost* host) : host_(host) {}

  // The definition that was read at `position`. What is known already is what the scout has seen,
  // or else damage.
  base::Result<void> Define(const ring::RecordView& record, std::uint64_t position);
  // Looks for definitions behind the stalled record at `position`. Damage is left to the main
  // reader.
  void Scout(ring::Reader* reader, std::uint64_t position);
  // The cost table's entry; null when the work was not defined.
  const std::uint32_t* Find(std::uint32_t work) { return entries_.Find(work); }

 private:
  SessionHost* host_;
  device::IdMap<std::uint32_t> entries_;
  std::uint64_t scouted_ = 0;  // Up to here the scout has looked.
};

}  // namespace eidolon::agent::session
