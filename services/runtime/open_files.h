// The number of descriptors that this process may have. The usual soft limit of 1,024 is kept low
// for programs that use select(), and is too low for a server: each connection takes one.
#pragma once

#include <cstdint>
#include <optional>

namespace eidolon::runtime {

// Raises the soft limit of this process to its hard limit. Returns the soft limit before, which
// programs that this process starts should get back; nothing when it was not changed.
std::optional<std::uint64_t> RaiseOpenFiles();

}  // namespace eidolon::runtime
