// Names the channel of a descriptor: the writer and the reader get the same number, whatever their
// descriptors are. Pipes, connected Unix sockets that keep order, and TCP
// connections have one for each direction; everything else has none.
//
// Thread safe, safe in signal handlers, leaves errno alone.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace eidolon::shim::channel {

// Both return 0 for what is not a channel.
std::uint64_t SendingKey(int file) noexcept;
std::uint64_t ReceivingKey(int file) noexcept;

// Name the channels in which a process notes its end, that it becomes another program, and that it
// starts a child.
std::uint64_t EndKey(pid_t process) noexcept;
std::uint64_t ProgramKey(pid_t process) noexcept;
std::uint64_t ChildrenKey(pid_t process) noexcept;

}  // namespace eidolon::shim::channel
