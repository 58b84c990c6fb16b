// What the clocks of this process show.
//
//   no job            EIDOLON_RUN_DIR unset: real time, every function passes through
//   rank              the process has a session: the rank clock, plus what its start-up took
//   before a session  a rank that has not touched its GPU yet: its start-up so far, that is its own
//                     sleeps and, in the measured host model, its own CPU time
//   without a GPU     torchrun, data loaders, shells: the server's job clock, running no faster
//   than real
//                     time, plus own sleeps
//
// Start-up lasts until the first work or communicator. Ranks that look for each other in it sleep
// between two looks, as often as the simulating machine makes them: that is no simulated time, so
// the rank clock stands still meanwhile and only the program's clocks show the waiting. In the
// fixed host model they then go on at the next multiple of ten seconds, so that they are the same
// in every run.
//
// Wall clocks add the job's epoch; monotonic clocks an origin of their own. Both tell one story.
#pragma once

#include <time.h>

#include <cstdint>

#include "services/base/sim_time.h"

namespace eidolon::shim::time {

// Whether this process belongs to a simulated job. Reads the environment once.
bool InJob() noexcept;

// Virtual time as the calling thread sees it. Requires: InJob().
base::SimTime ThreadNow() noexcept;

// The same for a clock read by the program. Reading costs nothing, but a thread that reads
// thousands of times in a row and does nothing else is polling: then each read moves the clock a
// little (a helper's own view of it).
base::SimTime ReadByProgram() noexcept;

// Virtual time as the calling thread's clocks have shown it: never earlier than ThreadNow().
base::SimTime OwnNow() noexcept;

// The host model is fixed, work has begun, and the calling thread's waits move the clock.
bool MayMoveFixedClock() noexcept;

// The calling thread returns from a wait after which the program reads the clock again. How many
// such waits there are depends on the machine: the reading is no polling.
void NoteYield() noexcept;

// True for clocks that show virtual time: wall, monotonic, boot and their variants; and, in a
// process with a session, process CPU time.
bool IsVirtual(clockid_t id) noexcept;

// The reading of a virtual clock at `now`, in nanoseconds. Requires: IsVirtual(id).
std::int64_t ReadingNs(clockid_t id, base::SimTime now) noexcept;

// The virtual time at which the clock shows `reading_ns`; never negative. A timed wait does not say
// its clock in every call, so `GuessClock` tells wall from monotonic by magnitude.
base::SimTime TimeOfReading(clockid_t id, std::int64_t reading_ns) noexcept;
clockid_t GuessClock(std::int64_t reading_ns) noexcept;

// A sleep of the calling thread; returns 0, or EINTR with what is left. Drivers wait until no other
// rank can act before the end (so polling loops stay in step with their peers); others sleep
// for real: without a GPU in full up to some seconds, drivers during start-up shortly.
int SleepFor(base::Duration duration, base::Duration* left) noexcept;

// The end of a timed wait without an event: the clock reaches `target`, if this thread may move it.
void WaitExpired(base::SimTime target) noexcept;

// A poll with timeout zero found nothing: the calling thread's next reading is later than its last,
// as it is on a real machine, or loops that look until a deadline has passed never end. The rank's
// clock stays.
void LookedInVain() noexcept;

}  // namespace eidolon::shim::time
