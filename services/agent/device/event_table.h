// The events of a process: what each of them recorded last.
#pragma once

#include <cstdint>

#include "services/agent/device/id_map.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/signal_table.h"
#include "services/base/error.h"

namespace eidolon::agent::device {

// Owned by the engine; no threads. Failures name the unknown event.
class EventTable {
 public:
  // Both outlive it.
  EventTable(SignalTable* signals, OpenWork* work) : signals_(signals), work_(work) {}

  base::Result<void> Create(std::uint32_t event);
  base::Result<void> Destroy(std::uint32_t event);

  // Returns what was recorded last, complete at time 0 before that; none for an unknown event.
  // Lives until the next change of the signal table.
  const Signal* Find(std::uint32_t event);
  // As Find, for callers to whom an unknown event is a failure.
  base::Result<Signal> Get(std::uint32_t event);
  // False for an unknown event: a graph may outlive an event that it names.
  bool Record(std::uint32_t event, const Signal& signal);

 private:
  SignalTable* signals_;
  OpenWork* work_;
  IdMap<SignalTable::Slot> events_;
};

}  // namespace eidolon::agent::device
