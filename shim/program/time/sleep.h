// Sleeping on a virtual clock.
#pragma once

#include <cstdint>

namespace eidolon::shim::time {

// A sleep of the calling thread; returns 0, or EINTR with how much of it has passed. Drivers wait
// until no other rank can act before the end (so polling loops stay in step with their peers);
// children of ranks sleep in virtual time (virtual_sleep.h); others sleep for real: helpers until
// the clock has passed the end, launchers and ranks that start up for a short time. A sleep that
// reaches beyond the end of virtual time never ends. Requires: InJob().
int SleepFor(std::int64_t ns, std::int64_t* slept_ns) noexcept;

// For a driver of a rank that is about to do what may come out differently for who is first, and
// takes no virtual time: waits up to a microsecond, until no other rank can act before. Of ranks
// that come in the same microsecond the lower goes first, whatever the simulating machine does.
// Others do not wait. Requires: InJob().
void WaitInRankOrder() noexcept;

// True while a driver sleeps: it lets timers expire itself, to see whether their signals wake it.
bool DriverSleeps() noexcept;

}  // namespace eidolon::shim::time
