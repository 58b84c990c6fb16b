// Records whether the simulation owes this process something: an answer that a thread waits for, or
// a host function whose time has not come. How long that takes in real time is the simulating
// machine's matter: whoever waits for it meanwhile has not waited for too long.
//
// Thread safe.
#pragma once

namespace eidolon::shim::core {

// True while a thread waits for an answer of the agent, sleeps excepted, or a host function has not
// run to its end.
bool SimulationIsAtWork() noexcept;

// One was put on a stream; it ran.
void NoteHostFunctionQueued() noexcept;
void NoteHostFunctionRan() noexcept;

}  // namespace eidolon::shim::core
