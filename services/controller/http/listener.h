// Sockets that wait for connections. The front takes them as descriptors, of whatever family.
#pragma once

#include <cstddef>
#include <string>

#include "services/base/error.h"
#include "services/controller/http/descriptor.h"

namespace eidolon::controller::http {

struct Listener {
  Descriptor descriptor;
  int port = 0;  // The real one.
};

// Longest path of a Unix socket (unix(7)).
inline constexpr std::size_t kUnixPathBytesMax = 107;

// Listens on a path that its owner alone may connect to. Replaces a socket that no process listens
// on; fails if another one does, or if the path is not a socket.
base::Result<Descriptor> ListenUnix(const std::string& path);

// Listens on a host's address (a name, 127.0.0.1, ::1 or [::1]); port 0 takes a free one.
base::Result<Listener> ListenTcp(const std::string& host, int port);

}  // namespace eidolon::controller::http
