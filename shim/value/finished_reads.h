// Which copies into host memory have ended when the program's wait for a stream, an event or a
// device has: their bytes must be in place then (pending.h).
#pragma once

#include <cstdint>

namespace eidolon::shim::value {

// A stream of the process.
struct StreamName {
  static constexpr int kNoDevice = -1;

  int device = kNoDevice;  // kNoDevice: nobody knows which stream it is.
  std::uint32_t id = 0;
  bool operator==(const StreamName&) const = default;
};

// The reads that have ended when a host wait has.
struct FinishedReads {
  StreamName stream;                        // Those that were put on it,
  bool whole_device = false;                // or on any stream of its device,
  std::uint64_t first = ~std::uint64_t{0};  // when they are among so many first of the process.
};

}  // namespace eidolon::shim::value
