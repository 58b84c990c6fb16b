// The rank clock: virtual time of this process. Grows only; published in Cursors::clock_ps.
//
// Two host models (architecture.md section 3). fixed: each exported call adds its class's cost, whatever
// thread makes it. measured: a thread adds its own CPU time since its last call, times speed_ratio, minus
// time spent in the shim; a thread that waited since then first takes max(own, process).
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/ring/layout.h"

namespace eidolon::shim::core {

// Charges the calling thread for one call of a class, and returns the clock after it. Called by CallScope.
base::SimTime ChargeCall(ring::CallClass call_class) noexcept;

// The calling thread's view of virtual time, without charging a call: for clock reads. In the measured
// model this includes CPU time since the last call.
base::SimTime Now() noexcept;

// Raises the clock to `time` if it is later (a wait ended, a sleep passed).
void AdvanceTo(base::SimTime time) noexcept;

// The calling thread waited in the operating system (condition variable, join, socket): its next charge
// starts from max(own, process).
void NoteWaited() noexcept;

}  // namespace eidolon::shim::core
