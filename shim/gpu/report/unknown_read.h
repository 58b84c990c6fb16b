// Host reads of device bytes that nobody computed: each is counted, told to the agent, and
// attributed to who wrote the bytes, so that the report can say how much of what a program looked
// at was invented, and where.
//
// Reads of one author, size and given value are one source. What describes a source, its Python
// line too, is found at its first read only.
#pragma once

#include <cstddef>
#include <string_view>

#include "shim/value/pending.h"

namespace eidolon::shim::gpu {

// The byte that stands for an unknown one (the job's policy).
unsigned char UnknownByte() noexcept;

// Notes a read into host memory; for value::Pending::Read.
void NoteHostRead(const value::HostRead& read, value::Store& store) noexcept;
// A call gave an unknown result of this size to the host itself.
void NoteUnknownResult(std::string_view writer, std::size_t bytes) noexcept;
// Sends what was noted since, one record for each read.
void FlushUnknownReads() noexcept;

}  // namespace eidolon::shim::gpu
