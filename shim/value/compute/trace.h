// Prints, for people who look for the kernel that was not computed, a line on standard error for
// each kernel that was run or refused, with EIDOLON_TRACE_VALUES set.
#pragma once

#include <cstddef>
#include <string_view>

#include "services/machine_code/interpret/run.h"

namespace eidolon::shim::compute {

void Trace(std::string_view kernel, const interpret::Outcome& outcome);
void Trace(std::string_view kernel, std::string_view refusal);
// A library call whose result is not computed wrote this many bytes.
void TraceLibrary(std::size_t bytes);
// The host read bytes that nobody knows.
void TraceUnknownRead(std::size_t bytes);

}  // namespace eidolon::shim::compute
