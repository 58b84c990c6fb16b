// What the processes below this one do, as /proc tells it: who they are, and whether all of them
// sleep.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace eidolon::agent::launch {

// All descendants of `root`, itself left out; zombies too. Processes that lost their parent count
// when this process is their subreaper.
std::vector<pid_t> DescendantsOf(pid_t root);

// One look at a set of processes.
struct Activity {
  bool all_asleep = true;         // No thread runs, wants to run, or waits for a disk.
  std::uint64_t time_slices = 0;  // How often any of their threads was put on a processor.

  bool operator==(const Activity&) const = default;
};

// The job is quiescent when two looks some milliseconds apart are equal and all_asleep: nothing
// ran, and nothing was about to.
Activity LookAt(const std::vector<pid_t>& processes);

// How often the process's main thread was put on a processor; 0 when it is gone.
std::uint64_t MainThreadSlices(pid_t process);

// The program's name as ps shows it; empty when the process is gone.
std::string NameOf(pid_t process);

}  // namespace eidolon::agent::launch
