// Sockets that wait for connections. The front takes them as descriptors, of whatever family.
#pragma once

#include <string>

#include "services/base/error.h"
#include "services/controller/http/descriptor.h"

namespace eidolon::controller::http {

struct Listener {
  Descriptor descriptor;
  int port = 0;  // The real one.
};

// Listens on a path that its owner alone may connect to; a socket that nobody listens on any more
// is replaced. The path is at most 107 bytes long.
base::Result<Descriptor> ListenUnix(const std::string& path);

// Listens on a host's address (a name, 127.0.0.1, ::1 or [::1]); port 0 takes a free one.
base::Result<Listener> ListenTcp(const std::string& host, int port);

}  // namespace eidolon::controller::http
