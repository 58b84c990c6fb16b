// Host reads of device bytes that nobody computed: counted and told to the agent, so that the
// report can say how much of what a program looked at was invented.
#pragma once

#include <cstddef>

namespace eidolon::shim::gpu {

// The byte that stands for an unknown one (the job's policy).
unsigned char UnknownByte() noexcept;

void NoteUnknownRead(std::size_t bytes) noexcept;
// Sends what was noted since, one record for each read.
void FlushUnknownReads() noexcept;

}  // namespace eidolon::shim::gpu
