// Ranks that go on from torchrun's own process instead of being executed.
//
// torchrun has imported torch already when it starts its ranks, each of which would spend three
// seconds of a processor on doing so again. vfork in such a process gives a child of its own
// memory, and its exec, if it asks for the same Python with a script or module, makes a new program
// of that child: descriptors, signals, variables, names and the interpreter's main program are
// those that exec would have made, torch's modules stay. Where that is not certain, exec is exec.
// torchrun also imports for them what they would each import next (shared_imports.py).
// docs/how-to says when.
//
// Only the main thread of a process without a session, in a job. RANKS_GO_ON=1 switches it on.
#pragma once

namespace eidolon::shim::process {

// Function to which the calling program's vfork resolves: libc's vfork, or its fork for a child
// that may go on. Called before each.
using Fork = int (*)();
Fork ForkForChild() noexcept;

// While such a child is forked.
bool IsForkedToGoOn() noexcept;
// Returns whether this process is one that went on, or a fork of it.
bool HasGoneOn() noexcept;

// In such a child: goes on as the program that exec was to run, and never returns. Elsewhere, or
// where it may not, returns with everything as it was, for exec.
void GoOnAs(const char* path, char* const arguments[], char* const variables[]) noexcept;

}  // namespace eidolon::shim::process
