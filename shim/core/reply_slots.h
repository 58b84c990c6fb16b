// Which reply slot a blocked thread owns. A thread keeps its slot until it exits; a process with
// more than ring::kReplySlots threads asking at once makes the others wait for one.
#pragma once

namespace eidolon::shim::core {

// The calling thread's slot, 0 <= slot < ring::kReplySlots. Blocks while all are taken.
int OwnReplySlot() noexcept;

}  // namespace eidolon::shim::core
