// Measures the cost of a page fault on this machine: the first touch of a page that the kernel has
// to provide.
#pragma once

#include <cstdint>

namespace eidolon::shim::core {

// In picoseconds of processor time; 0 where no memory was to be had. Takes some 0.3 ms: maps a few
// pages, touches each and gives them back, and takes the quickest of three rounds.
std::uint64_t MeasurePageFaultPs() noexcept;

}  // namespace eidolon::shim::core
