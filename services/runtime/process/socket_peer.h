// Identifies the process at the other end of a TCP connection of this machine, by /proc.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace eidolon::process {

// The process at the other end of `socket`, a TCP connection. Nothing when it runs on another
// machine or cannot be looked at. Reads the descriptors of all processes: not for loops.
std::optional<pid_t> PeerProcess(int socket);

// A variable of the environment with which the process was started.
std::optional<std::string> VariableOf(pid_t process, std::string_view name);

}  // namespace eidolon::process
