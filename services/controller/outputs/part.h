// A part of a file that an agent sends to a controller that cannot read its run directory.
#pragma once

#include <cstdint>
#include <string>

namespace eidolon::controller::outputs {

enum class Kind : std::uint8_t {
  kTimeline,   // A trace in Perfetto's format: those of all servers behind each other are one.
  kTraces,     // Of its ranks, in which the critical path is found.
  kRecording,  // Of its ranks: those of all servers behind each other are one (docs/recording.md).
};

struct Part {
  Kind kind = Kind::kTimeline;
  std::string data;
  bool is_last = false;
  std::string error;  // Of the last part: why there is no file; empty: there is.
};

}  // namespace eidolon::controller::outputs
