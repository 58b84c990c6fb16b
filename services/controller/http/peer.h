// Who is at the other end of a connection, as the kernel says it: no header can change it. Handlers
// find it in httplib::Request::remote_addr.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace eidolon::controller::http {

struct Peer {
  std::string address;  // "127.0.0.1", "2001:db8::1", "unix:1000" with the user of the process.
  int port = 0;         // 0 for a Unix socket.
  // The user at the other end, where the kernel tells; for limits, not for rights (peer_users.h).
  std::optional<uid_t> user = std::nullopt;
};

// Returns the peer of a connected socket; nothing when it is connected no more.
std::optional<Peer> PeerOf(int socket);

// The user of a peer's address, when it came over a Unix socket.
std::optional<uid_t> UserOf(std::string_view address);

// Returns what limits per client go by: the user, or else the address.
std::string ClientOf(const Peer& peer);

// Of an address alone: the address, the /64 network of an IPv6 address (one machine may
// take any address in it), or a user of this machine.
std::string ClientOf(const std::string& address);

}  // namespace eidolon::controller::http
