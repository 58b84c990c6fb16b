// The processor's tick counter as a clock of the program.
//
// PyTorch's profiler reads it (rdtsc) for the times of its host events, and takes it for linear in
// the wall clock. Virtual time is not: a wait of simulated milliseconds takes real microseconds.
// While a profiler watches, the counter is therefore closed to this process (PR_SET_TSC): a reading
// traps, and our handler answers with the virtual wall clock in nanoseconds. The trap's processor
// time (some 2 us) is not charged to the program. Code of the kernel in this process (vDSO) goes on
// reading the real counter, and the shim itself reads another clock meanwhile (core/system.h).
//
// x86-64 only; elsewhere, and where the kernel refuses, readings stay real.
#pragma once

namespace eidolon::shim::time {

// From now on readings of the counter are virtual, in every thread. True when they are. A thread
// whose signals are blocked follows with its next call of ours.
bool ShowVirtualTicks() noexcept;
// The same for the real counter.
void ShowRealTicks() noexcept;

// The calling thread does as was said last. Costs a thread-local read.
void FollowTicks() noexcept;

}  // namespace eidolon::shim::time
