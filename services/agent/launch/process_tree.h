// The processes below this one, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace eidolon::agent::launch {

// All descendants of `root`, itself left out; zombies too. Processes that lost their parent count
// when this process is their subreaper.
std::vector<pid_t> DescendantsOf(pid_t root);

// The parent of `process`, its parent, and so on.
std::vector<pid_t> AncestorsOf(pid_t process);

// The program's name as ps shows it; empty when the process is gone.
std::string NameOf(pid_t process);

}  // namespace eidolon::agent::launch
