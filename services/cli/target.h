// Selects the controller of a command, and the credentials for it.
#pragma once

#include <string>

#include "services/base/error.h"
#include "services/cli/globals.h"

namespace eidolon::cli {

struct Target {
  std::string server;  // "http://host:port"; over a socket only a name for messages.
  std::string socket;  // Unix socket of an `eidolon up` of this user; empty: TCP.
  std::string token;   // Shown to the server; empty: none.
};

// Without --server, finds the socket in the data folder when a server listens there, or else the
// usual address. With --server: the socket, too, when it is the same server, so that its own user
// needs no token. A token goes only where its user says so (--token-file, EIDOLON_TOKEN): whoever
// else listens on a port of this machine must not be told one.
base::Result<Target> FindTarget(const Globals& globals);

}  // namespace eidolon::cli
