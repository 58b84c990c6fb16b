// Restricts a process and all that it starts.
#pragma once

namespace eidolon::process {

// Programs that are started from here on gain nothing by set-user-ID, set-group-ID or file
// capabilities (no_new_privs, prctl(2)). Nobody can end a process of another user, so only then
// does nothing of a job outlive it.
void RenounceNewPrivileges();

// The kernel ends this process before those that have not called this, unless they hold more than
// half of the memory more: `kSacrificePoints` of 1000 are added to oom_score_adj (proc(5)), up to
// 1000. Raising needs no privilege.
void SacrificeFirst();
inline constexpr int kSacrificePoints = 500;

// Both may be called between fork and execve: they allocate nothing. What the kernel refuses is
// left as it was.

}  // namespace eidolon::process
