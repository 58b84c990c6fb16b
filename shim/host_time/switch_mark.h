// Tells a thread whether the operating system has taken the core away from it since it last asked,
// without a system call.
//
// Linux clears the thread's pointer to a restartable sequence (rseq(2)) when it comes back from a
// preemption or a wait, if the thread was not inside of that sequence. So a pointer to a sequence
// that nobody ever enters is a mark that only such a switch removes. glibc registers the area since
// 2.35; where there is none, nothing is ever seen to be switched.
#pragma once

namespace eidolon::shim::host_time {

// Marks the calling thread.
void SetSwitchMark() noexcept;
// True when the thread was switched out since SetSwitchMark, or the mark was never set. False where
// marks do not work.
bool WasSwitched() noexcept;
// Whether marks work in this process.
bool MarksWork() noexcept;

}  // namespace eidolon::shim::host_time
