// SO_PEERCRED exists for Unix sockets only. For TCP over loopback the peer's socket is in the
// kernel of this machine, and the kernel's table of sockets has the user of each. sock_diag looks
// up one socket by both of its ends; /proc/net/tcp is the fallback for kernels without it and is
// read up to a bound. A lookup must be exact: for an unknown connection the kernel answers with the
// listener at the port, which is not the peer. ENOENT means that the kernel can look up and has no
// such socket, so the table is not searched then.
#include "services/controller/http/peer_users.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "services/base/text.h"

namespace eidolon::controller::http {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(nlmsghdr);
static_assert(kHeaderBytes % NLMSG_ALIGNTO == 0);

// One end of a connection, in network byte order. IPv4 has its address in the first word.
struct Endpoint {
  std::uint8_t family = 0;
  std::array<std::uint32_t, 4> address = {};
  std::uint16_t port = 0;

  bool IsLoopback() const {
    if (family == AF_INET) return (ntohl(address[0]) >> 24) == 127;
    return address == std::array<std::uint32_t, 4>{0, 0, 0, htonl(1)};
  }
};

std::optional<Endpoint> ToEndpoint(const sockaddr_storage& storage) {
  Endpoint end;
  if (storage.ss_family == AF_INET) {
    sockaddr_in from;
    std::memcpy(&from, &storage, sizeof from);
    end = {.family = AF_INET, .address = {from.sin_addr.s_addr}, .port = from.sin_port};
    return end;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 from;
  std::memcpy(&from, &storage, sizeof from);
  end = {.family = AF_INET6, .address = {}, .port = from.sin6_port};
  std::memcpy(end.address.data(), &from.sin6_addr, sizeof end.address);
  if (IN6_IS_ADDR_V4MAPPED(&from.sin6_addr)) {
    end.family = AF_INET;
    end.address = {end.address[3]};
  }
  return end;
}

// The kernel's answer: the socket's user, or why not.
struct Found {
  bool supported = true;
  std::optional<uid_t> user;
};

struct DiagRequest {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

// Asks for the peer's socket: its own end is `peer`, its other end is ours.
DiagRequest ToRequest(const Endpoint& peer, const Endpoint& own, unsigned sequence) {
  DiagRequest request = {};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = sequence;
  request.body.sdiag_family = peer.family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;
  request.body.id.idiag_sport = peer.port;
  request.body.id.idiag_dport = own.port;
  std::memcpy(request.body.id.idiag_src, peer.address.data(), sizeof peer.address);
  std::memcpy(request.body.id.idiag_dst, own.address.data(), sizeof own.address);
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

Found AskKernel(int kernel, const DiagRequest& request) {
  if (send(kernel, &request, sizeof request, MSG_DONTWAIT) != sizeof request) return {false, {}};
  std::array<char, 4096> answer;
  // An answer to an earlier question, which was not waited for, is passed over.
  for (int at = 0; at < 4; ++at) {
    const ssize_t count = recv(kernel, answer.data(), answer.size(), MSG_DONTWAIT);
    nlmsghdr header;
    if (count < static_cast<ssize_t>(sizeof header)) return {false, {}};
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.nlmsg_seq != request.header.nlmsg_seq) continue;
    if (header.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr error = {};
      if (count < static_cast<ssize_t>(kHeaderBytes + sizeof error)) return {false, {}};
      std::memcpy(&error, answer.data() + kHeaderBytes, sizeof error);
      return {error.error == -ENOENT, {}};
    }
    inet_diag_msg message;
    if (count < static_cast<ssize_t>(kHeaderBytes + sizeof message)) return {false, {}};
    std::memcpy(&message, answer.data() + kHeaderBytes, sizeof message);
    // The lookup falls back to who listens at the peer's port.
    const bool same = message.id.idiag_dport == request.body.id.idiag_dport;
    if (!same || message.idiag_state == TCP_LISTEN || message.idiag_inode == 0) return {};
    return {true, message.idiag_uid};
  }
  return {};
}

// Formats an address as /proc/net/tcp does: the address's words as numbers of this machine, and the
// port.
std::string InTable(const Endpoint& end) {
  std::array<char, 48> text = {};
  int at = 0;
  for (std::size_t word = 0; word < (end.family == AF_INET ? 1 : end.address.size()); ++word) {
    at += std::snprintf(text.data() + at, text.size() - static_cast<std::size_t>(at), "%08X",
                        end.address[word]);
  }
  std::snprintf(text.data() + at, text.size() - static_cast<std::size_t>(at), ":%04X",
                ntohs(end.port));
  return text.data();
}

std::optional<uid_t> FindInTable(const Endpoint& peer, const Endpoint& own) {
  std::ifstream table(peer.family == AF_INET ? "/proc/self/net/tcp" : "/proc/self/net/tcp6");
  const std::string wanted = " " + InTable(peer) + " " + InTable(own) + " ";
  std::string line;
  for (int at = 0; at < PeerUsers::kTableLinesMax && std::getline(table, line); ++at) {
    if (line.find(wanted) == std::string::npos) continue;
    std::istringstream words(line);
    std::string word, user, inode;
    for (int skipped = 0; skipped < 7; ++skipped) words >> word;
    words >> user >> word >> inode;
    const auto number = base::ParseInteger(user);
    if (!number || inode == "0") return std::nullopt;
    return static_cast<uid_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

PeerUsers::PeerUsers() : kernel_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

std::optional<uid_t> PeerUsers::Find(int socket) {
  sockaddr_storage peer_storage = {}, own_storage = {};
  socklen_t peer_size = sizeof peer_storage, own_size = sizeof own_storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer_storage), &peer_size) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr*>(&own_storage), &own_size) != 0) {
    return std::nullopt;
  }
  const auto peer = ToEndpoint(peer_storage);
  const auto own = ToEndpoint(own_storage);
  if (!peer || !own || peer->family != own->family) return std::nullopt;
  // The peer is on this machine: over loopback, or from the very address that it asks.
  if (!peer->IsLoopback() && peer->address != own->address) return std::nullopt;
  if (kernel_.valid()) {
    const Found found = AskKernel(kernel_.get(), ToRequest(*peer, *own, ++sequence_));
    if (found.supported) return found.user;
  }
  return FindInTable(*peer, *own);
}

}  // namespace eidolon::controller::http
