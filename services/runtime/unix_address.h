// Addresses of gRPC servers that listen on a Unix socket: "unix:" and a path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::runtime {

// The path in "unix:PATH"; nothing when the address is of another kind.
std::optional<std::string> SocketPathOf(std::string_view address);

// Whether a server may listen at `path`: it fits the kernel's 107 bytes, its folder belongs to this
// user and is closed to others, and no server listens there. The error names the way out.
base::Result<void> CheckSocketPath(const std::string& path);

// Closes the socket at `path` to other users (mode 0600).
base::Result<void> CloseSocketToOthers(const std::string& path);

}  // namespace eidolon::runtime
