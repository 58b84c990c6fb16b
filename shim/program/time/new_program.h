// The calling process becomes another program without exec (shim/program/process/next_program.h).
#pragma once

namespace eidolon::shim::time {

// Its clocks are those of a program that has just begun, with the variables that stand in the
// environment now. Requires: one thread, and no session was asked for.
void BeginNewProgram() noexcept;

}  // namespace eidolon::shim::time
