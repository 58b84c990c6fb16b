// The processes below this one, as /proc tells it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace eidolon::process {

// All descendants of `root`, itself left out; zombies too. Processes that lost their parent count
// when this process is their subreaper.
std::vector<pid_t> DescendantsOf(pid_t root);
// The same from the lists of children that the kernel keeps for every thread, so that it costs what
// the root's own processes cost, not what all processes of the machine do. One that starts or ends
// meanwhile may be missing, and so may its neighbours: for who asks again and again.
std::vector<pid_t> DescendantsNow(pid_t root);

// The children of `parent`; zombies too.
std::vector<pid_t> ChildrenOf(pid_t parent);

// The parent of `process`, its parent, and so on.
std::vector<pid_t> AncestorsOf(pid_t process);

// Returns whether `process` is one of `roots` or below one. Reads the processes above it, up to
// this one, and no others. Requires: no root is above this one.
bool IsWithin(pid_t process, const std::set<pid_t>& roots);

// Makes processes below this one that lose their parent its children from now on, whatever they did
// to get away: another session, another group, an empty environment. Whoever calls it collects
// them.
void AdoptOrphans();

// Ends `roots` and everything below them at once (SIGKILL), and collects those that are, or become,
// children of this process. Returns when nothing of them is left, or after ten seconds: a process
// that hangs in the kernel cannot be ended. True: nothing is left. Requires: AdoptOrphans was
// called, so that nobody gets away while its parent ends.
bool EndAll(const std::function<std::vector<pid_t>()>& roots);

// "(pid 7, python3) is stopped (state T)"; empty when the process is not stopped, or gone.
std::string DescribeStopped(pid_t process);

// The program's name as ps shows it; empty when the process is gone.
std::string NameOf(pid_t process);

}  // namespace eidolon::process
