// At which lines of the program its calls are made, for the timeline of a job that wants one.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace eidolon::shim::core {

class RingWriter;

// Numbers lines in the order in which they are met (services/ring/python_line.h). Owned by the
// session; thread safe. Looking takes real time, some ten microseconds, but none of the program's.
class CallLines {
 public:
  // The calling thread's line; the agent has been told its text when this returns.
  // ring::kNoPythonLine: it runs no Python, as autograd's threads, or there are too many lines.
  std::uint32_t NumberHere(RingWriter& writer) noexcept;

 private:
  std::mutex mutex_;  // Guards what follows; held while a new line enters the ring.
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace eidolon::shim::core
