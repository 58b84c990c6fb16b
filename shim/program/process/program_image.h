// Does to a process that goes on what exec does besides loading a program.
#pragma once

#include <string>

namespace eidolon::shim::process {

// The environment that this process began with, each variable ended by a zero; empty when the
// system does not say.
std::string BeganWith() noexcept;

// Shows these arguments and variables as the process's in /proc. False: the kernel refuses, and
// nothing was changed.
bool ShowProgram(char* const arguments[], char* const variables[]) noexcept;

// The process's name is that of the file that exec would have run.
void NameProcess(const char* path) noexcept;

// Closes all descriptors that exec would have closed.
void CloseForExec() noexcept;

}  // namespace eidolon::shim::process
