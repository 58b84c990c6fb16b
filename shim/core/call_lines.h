// Records the lines of the program at which its calls are made, for the timeline of a job that
// wants one.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "shim/core/python_frames.h"

namespace eidolon::shim::core {

class RingWriter;

// Numbers lines in the order in which they are met (services/contract/ring/python_line.h). Owned by
// the session; thread safe. Looking takes real time, but none of the program's: tens of
// microseconds, and less where the interpreter's frames are read (python_frames.h) and the place
// was met before.
class CallLines {
 public:
  // The calling thread's line; the agent has been told its text when this returns.
  // ring::kNoPythonLine: it runs no Python, as autograd's threads, or there are too many lines.
  std::uint32_t NumberHere(RingWriter& writer) noexcept;

 private:
  std::uint32_t NumberOf(std::string line, RingWriter& writer);
  // Works as NumberHere, but returns nothing where only the interpreter's text has the line.
  std::optional<std::uint32_t> QuickNumber(RingWriter& writer);

  std::mutex mutex_;  // Guards what follows; held while a new line enters the ring.
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<PythonPlaceKey, std::uint32_t, PythonPlaceHash> places_;
};

}  // namespace eidolon::shim::core
