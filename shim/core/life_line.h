// The socket to the agent, whose hang-up tells that this process is gone, and the word that says
// beforehand how it goes. Programs that close descriptors which they do not know (daemons,
// os.closerange) must not cut it (shim/program/process).
//
// A child of vfork shares this memory and a child of fork has a copy: both are other processes, and
// nothing here is theirs.
#pragma once

#include <atomic>
#include <cstdint>

#include "services/contract/ring/layout.h"

namespace eidolon::shim::core {

// `socket` and `word` stay for the life of the process. Once.
void StartLifeLine(int socket, std::atomic<std::uint32_t>* word) noexcept;
// In a child of fork: its copy of the socket would hide the end of its parent.
void LeaveLifeLineInFork() noexcept;

// The socket; -1: none.
int LifeLine() noexcept;
// Returns whether a descriptor is this process's life line.
bool IsLifeLine(int descriptor) noexcept;
// The program wants to put something else there: the life line takes another number. False: there
// is none to be had.
bool MoveLifeLine() noexcept;

// Tells the agent how this process is about to end. Not told: something ended it.
void SayFarewell(ring::Farewell farewell) noexcept;

}  // namespace eidolon::shim::core
