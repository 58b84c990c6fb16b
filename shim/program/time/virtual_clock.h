// What the clocks of this process show.
//
//   no job            EIDOLON_RUN_DIR unset: real time, every function passes through
//   rank              the process has a session: the rank clock, plus what its start-up took
//   before a session  a rank that has not touched its GPU yet: its start-up so far, that is its own
//                     sleeps and, in the measured host model, its own CPU time
//   without a GPU     data loaders, shells: the server's job clock, which runs no faster than real
//                     time, plus own sleeps. After the first bytes that carry a time
//                     (shim/program/channel): the latest of these times, plus own sleeps. torchrun
//                     always follows the job clock, because its timeouts guard real time
//
// Start-up lasts until the first work or communicator. Ranks that look for each other in it sleep
// between two looks, as often as the simulating machine makes them: that is not simulated time, so
// the rank clock stands still meanwhile and only the program's clocks show the waiting. In the
// fixed host model they then go on at the next multiple of ten seconds, so that they are the same
// in every run.
//
// Wall clocks add the job's epoch; monotonic clocks an origin of their own. Both tell one story.
#pragma once

#include <time.h>

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/contract/channel/delivery_table.h"

namespace eidolon::shim::time {

// Returns whether this process belongs to a simulated job. Reads the environment once.
bool InJob() noexcept;

// Virtual time as the calling thread sees it. Requires: InJob().
base::SimTime ThreadNow() noexcept;

// The same for a clock read by the program. Reading costs nothing, but a thread that reads
// 100,000 times in a row and does nothing else is polling: then each read moves the clock a
// little (a helper's own view of it).
base::SimTime ReadByProgram() noexcept;

// Virtual time as the calling thread's clocks have shown it: never earlier than ThreadNow().
base::SimTime OwnNow() noexcept;

// The time of a process as its bytes carry it to their reader (shim/program/channel).
struct SentTime {
  base::SimTime time;       // Of the program's clocks.
  base::Duration start_up;  // Lead of these over the rank clocks; 0 while it is unknown.
  eidolon::channel::Sender sender = eidolon::channel::Sender::kFreely;
};
// Returns whether bytes of this process carry its time, and whether it follows the time that bytes
// carry. torchrun does neither, and the ranks that a launcher has started only do the former.
bool SendsTime() noexcept;
bool ReceivesTime() noexcept;
// Moves no clock.
SentTime TimeToSend() noexcept;
// Applies the time of bytes that the calling thread has read. A process without a GPU follows ranks
// and those that follow ranks; one with a GPU follows the latter only. A thread that must not move
// the clock leaves the time to the next driver that returns from a wait (ApplyReceivedTime).
void ReceiveTime(const SentTime& sent) noexcept;
void ApplyReceivedTime() noexcept;
// Returns whether this is a process without a GPU that follows such times. Its sleeps and timed
// waits then end by the job's time.
bool FollowsReceivedTime() noexcept;
// Requires: FollowsReceivedTime(). Returns whether a rank of this server has reached `time` of the
// program's clocks, and this time on the rank clocks.
bool JobHasReached(base::SimTime time) noexcept;
base::SimTime RankTimeOfReceived(base::SimTime program_time) noexcept;

// Processor time takes no virtual time by itself, as in the fixed host model.
bool IsFixedModel() noexcept;

// The calling thread returns from a wait after which the program reads the clock again. How many
// such waits there are depends on the machine: the reading does not count as polling.
void NoteYield() noexcept;

// True for clocks that show virtual time: wall, monotonic, boot and their variants; and, in a
// process with a session, process CPU time.
bool IsVirtual(clockid_t id) noexcept;

// The reading of a virtual clock at `now`, in nanoseconds. Requires: IsVirtual(id).
std::int64_t ReadingNs(clockid_t id, base::SimTime now) noexcept;

// A timespec as the kernel wants it; its nanoseconds, limited to what 64 bits hold.
bool IsValid(const timespec& t) noexcept;
std::int64_t ToNs(const timespec& t) noexcept;
timespec ToTimespec(std::int64_t ns) noexcept;

// The virtual time at which the clock shows `reading_ns`; never negative. A timed wait does not say
// its clock in every call, so `GuessClock` tells wall from monotonic by magnitude.
base::SimTime TimeOfReading(clockid_t id, std::int64_t reading_ns) noexcept;
base::SimTime TimeOfReading(clockid_t id, const timespec& reading) noexcept;
// Real nanoseconds until an absolute time of a real clock, for processes outside a job.
std::int64_t RealNsUntil(clockid_t id, const timespec& reading) noexcept;
clockid_t GuessClock(std::int64_t reading_ns) noexcept;

// Virtual time ends (services/contract/ring/virtual_sleep.h): what lies beyond is waited for as
// long as the job lasts.
bool IsBeyondEnd(base::SimTime time) noexcept;
// The time `ns` from `now`; SimTime::Max() beyond the end.
base::SimTime TimeAfter(base::SimTime now, std::int64_t ns) noexcept;

// The program's clocks without what single threads have seen; the same as the rank clock shows it.
base::SimTime ProgramTime() noexcept;
base::SimTime RankTime(base::SimTime program_time) noexcept;
// Moves the program's clocks to `time`: nothing else happens before. For our own thread.
void CarryTo(base::SimTime time) noexcept;
// True in a driver of a rank that has begun: its waits move the clock, and the agent knows of them.
bool IsDriving() noexcept;
// True in a process whose timers count virtual time: a rank that has begun.
bool HasBegun() noexcept;
// True in a process that was started as a rank, and in what it starts.
bool IsFutureRank() noexcept;
void LiveThrough(base::SimTime time) noexcept;
void SleptThrough(base::SimTime end) noexcept;

// The end of a timed wait without an event: the clock reaches `target`, if this thread may move it.
void WaitExpired(base::SimTime target) noexcept;

// A poll with timeout zero found nothing: the calling thread's next reading is later than its last,
// as it is on a real machine, or loops that look until a deadline has passed never end. The rank's
// clock stays.
void LookedInVain() noexcept;

// The calling thread's last reading of a wall clock; 0: none.
std::int64_t& LastWallReadingNs() noexcept;

}  // namespace eidolon::shim::time
