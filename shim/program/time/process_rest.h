// Tells whether the other threads of this process, and the processes that it started, rest: then
// nobody of them is about to bring what the calling thread waits for. A timeout may not expire
// while somebody is, however long the machine takes.
#pragma once

#include <cstdint>

namespace eidolon::shim::time {

// One look. Reads some files of /proc for each thread: for waits of milliseconds. Not shared.
struct ProcessActivity {
  bool wants_to_run = false;  // A thread runs, waits for a disk, or was stopped.
  std::uint64_t used_ns = 0;  // Time on processors and waiting for one, all threads together.
  std::int64_t taken_ns = 0;  // When, monotonic real time.
};
ProcessActivity LookAtProcess(std::int64_t now_ns) noexcept;

// True when little was done between two looks: threads that poll do not work.
bool Rests(const ProcessActivity& before, const ProcessActivity& now) noexcept;

}  // namespace eidolon::shim::time
