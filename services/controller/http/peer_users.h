// Identifies the user of this machine at the other end of a TCP connection of loopback, so that
// limits go by user: all of them come from 127.0.0.1.
#pragma once

#include <sys/types.h>

#include <optional>

#include "services/controller/http/descriptor.h"

namespace eidolon::controller::http {

// This class is not thread-safe. A lookup is one exchange with the kernel (sock_diag(7)), or where
// it has none a reading of at most kTableLinesMax lines of /proc/net/tcp.
class PeerUsers {
 public:
  static constexpr int kTableLinesMax = 4096;

  PeerUsers();

  // Finds the user of a connected TCP socket. Nothing for a peer on another machine, and for one
  // that has closed its socket: the kernel shows such a socket as root's. Not for authentication:
  // the socket may have been passed on by another user.
  std::optional<uid_t> Find(int socket);

 private:
  Descriptor kernel_;  // A netlink socket; invalid: there is none.
  unsigned sequence_ = 0;
};

}  // namespace eidolon::controller::http
