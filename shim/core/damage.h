// What this process has found overwritten in the memory it shares with the agent (layout.h,
// "Damage"): a stray pointer of the program, mostly. The ring tells the agent with its next record,
// and the agent ends the job.
#pragma once

namespace eidolon::shim::core {

// Remembers the first finding. `what` lives for ever: "the rank clock was overwritten". Thread
// safe, also in signal handlers.
void NoteDamage(const char* what) noexcept;
// The first finding; nullptr: none.
const char* NotedDamage() noexcept;

}  // namespace eidolon::shim::core
