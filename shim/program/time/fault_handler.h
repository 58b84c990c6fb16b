// The process's handler of SIGSEGV while readings of the tick counter trap (tick_clock.h).
//
// A trapped reading is a fault, and other code of the program handles faults, too: LLVM does so
// each time it compiles (Triton in another thread), Python's faulthandler, Go, the JVM. Once the
// shim has taken the signal it stays the first to see it; whoever the program names since then, by
// sigaction or signal, is kept behind it, is given all faults that are not readings, and is what
// the program sees when it asks. Threads: any; safe in signal handlers.
#pragma once

#include <signal.h>

namespace eidolon::shim::time {

using FaultHandler = void (*)(int number, siginfo_t* info, void* context);

// Puts `handler` first, if it is not so already. False when the kernel refuses.
bool TakeFaults(FaultHandler handler) noexcept;
bool AreFaultsTaken() noexcept;

// What sigaction answers for SIGSEGV while faults are taken; both may be null.
void SetBehind(const struct sigaction* wanted, struct sigaction* before) noexcept;

// Does what would have happened without the shim: calls the program's handler with the mask that it
// asked for, or restores the default action, so that the instruction faults again and ends the
// process.
void PassOn(int number, siginfo_t* info, void* context) noexcept;

}  // namespace eidolon::shim::time
