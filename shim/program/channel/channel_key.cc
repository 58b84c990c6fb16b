// Both ends of a pipe have one inode, which is its key. Each end of a Unix socket has its own
// inode, and only the kernel's socket monitor (sock_diag(7)) returns that of the peer. A direction
// is therefore named by the inode of the writing end, so that only readers query the monitor, once
// for each socket. The far end of a connection that is not yet accepted has no inode; nothing can
// have been read from there either. TCP connections are named by their two addresses.
//
// One fstat recognizes files, which are most descriptors. A socket keeps its kind as long as it
// lives, and the kernel does not reuse inodes of sockets for a long time: their keys are cached by
// inode.
#include "shim/program/channel/channel_key.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "services/base/hash.h"
#include "shim/core/system.h"

namespace eidolon::shim::channel {
namespace {

enum class Kind : std::uint64_t { kPipe = 1, kUnix, kTcp, kEnd, kProgram, kChildren };

struct Keys {
  std::uint64_t sending = 0;
  std::uint64_t receiving = 0;
};

template <typename Identity>
std::uint64_t KeyOf(Kind kind, const Identity& identity) noexcept {
  const std::uint64_t hash =
      base::Hash64(&identity, sizeof(identity), static_cast<std::uint64_t>(kind));
  return hash == 0 ? 1 : hash;
}

template <typename Pointed>
long Address(Pointed* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

// The inode of the socket at the other end of a Unix socket; 0 if it has none or the kernel does
// not say.
std::uint32_t PeerInode(std::uint32_t inode) noexcept {
  struct Request {
    nlmsghdr header;
    unix_diag_req body;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = ~0U;
  request.body.udiag_ino = inode;
  request.body.udiag_show = UDIAG_SHOW_PEER;
  request.body.udiag_cookie[0] = request.body.udiag_cookie[1] = ~0U;
  const long monitor =
      core::RawSyscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (monitor < 0) return 0;
  alignas(nlmsghdr) std::array<char, 1024> answer{};
  long size = core::RawSyscall(SYS_sendto, monitor, Address(&request), sizeof(request), 0, 0, 0);
  if (size > 0) {
    size = core::RawSyscall(SYS_recvfrom, monitor, Address(answer.data()),
                            static_cast<long>(answer.size()), 0, 0, 0);
  }
  core::RawSyscall(SYS_close, monitor);
  nlmsghdr header{};
  constexpr std::size_t kAttributes = sizeof(nlmsghdr) + sizeof(unix_diag_msg);
  if (size < static_cast<long>(kAttributes)) return 0;
  std::memcpy(&header, answer.data(), sizeof(header));
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
  std::size_t at = kAttributes;
  while (at + sizeof(nlattr) + sizeof(std::uint32_t) <= static_cast<std::size_t>(size)) {
    nlattr attribute{};
    std::memcpy(&attribute, &answer[at], sizeof(attribute));
    if (attribute.nla_type == UNIX_DIAG_PEER) {
      std::uint32_t peer = 0;
      std::memcpy(&peer, &answer[at + sizeof(attribute)], sizeof(peer));
      return peer;
    }
    if (attribute.nla_len < sizeof(attribute)) return 0;
    at += NLA_ALIGN(attribute.nla_len);
  }
  return 0;
}

// Address and port of one end, in the same form for both versions of IP.
struct EndPoint {
  std::array<unsigned char, 16> address{};
  std::uint64_t port = 0;
};

bool ReadEndPoint(long call, int file, EndPoint* end) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (core::RawSyscall(call, file, Address(&storage), Address(&size)) != 0) return false;
  if (storage.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &storage, sizeof(four));
    end->address[10] = end->address[11] = 0xff;
    std::memcpy(&end->address[12], &four.sin_addr, sizeof(four.sin_addr));
    end->port = four.sin_port;
    return true;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &storage, sizeof(six));
  std::memcpy(end->address.data(), &six.sin6_addr, sizeof(six.sin6_addr));
  end->port = six.sin6_port;
  return storage.ss_family == AF_INET6;
}

Keys KeysOfTcp(int file) noexcept {
  EndPoint near, far;
  if (!ReadEndPoint(SYS_getsockname, file, &near) || !ReadEndPoint(SYS_getpeername, file, &far)) {
    return {};
  }
  return {.sending = KeyOf(Kind::kTcp, std::array{near, far}),
          .receiving = KeyOf(Kind::kTcp, std::array{far, near})};
}

long SocketOption(int file, int option) noexcept {
  int value = 0;
  socklen_t size = sizeof(value);
  const long result =
      core::RawSyscall(SYS_getsockopt, file, SOL_SOCKET, option, Address(&value), Address(&size));
  return result == 0 ? value : -1;
}

Keys KeysOfUnix(std::uint64_t inode) noexcept {
  const std::uint64_t peer = PeerInode(static_cast<std::uint32_t>(inode));
  return {.sending = KeyOf(Kind::kUnix, inode),
          .receiving = peer == 0 ? 0 : KeyOf(Kind::kUnix, peer)};
}

// Keys of sockets that were asked for, by inode. Who finds a place busy does without it.
struct Remembered {
  std::atomic<bool> busy{false};
  std::uint64_t inode = 0;
  Keys keys;
};
constinit std::array<Remembered, 256> remembered{};

bool Recall(std::uint64_t inode, Keys* keys) noexcept {
  Remembered& place = remembered[inode % remembered.size()];
  if (place.busy.exchange(true, std::memory_order_acquire)) return false;
  const bool found = place.inode == inode;
  if (found) *keys = place.keys;
  place.busy.store(false, std::memory_order_release);
  return found;
}

void Remember(std::uint64_t inode, const Keys& keys) noexcept {
  Remembered& place = remembered[inode % remembered.size()];
  if (place.busy.exchange(true, std::memory_order_acquire)) return;
  place.inode = inode;
  place.keys = keys;
  place.busy.store(false, std::memory_order_release);
}

Keys KeysOfSocket(int file, std::uint64_t inode) noexcept {
  Keys keys;
  if (Recall(inode, &keys)) return keys;
  const long type = SocketOption(file, SO_TYPE);
  const long family = SocketOption(file, SO_DOMAIN);
  if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)) {
    keys = KeysOfUnix(inode);
    // A connection that is not accepted yet will have a peer.
    if (keys.receiving == 0) return keys;
  } else if ((family == AF_INET || family == AF_INET6) && type == SOCK_STREAM) {
    keys = KeysOfTcp(file);
    if (keys.sending == 0) return keys;
  }
  Remember(inode, keys);
  return keys;
}

Keys KeysOf(int file) noexcept {
  struct stat status {};
  if (core::RawSyscall(SYS_fstat, file, Address(&status)) != 0) return {};
  if (S_ISFIFO(status.st_mode)) {
    const std::uint64_t key =
        KeyOf(Kind::kPipe, std::array<std::uint64_t, 2>{status.st_dev, status.st_ino});
    return {.sending = key, .receiving = key};
  }
  return S_ISSOCK(status.st_mode) ? KeysOfSocket(file, status.st_ino) : Keys{};
}

}  // namespace

std::uint64_t SendingKey(int file) noexcept { return KeysOf(file).sending; }

std::uint64_t ReceivingKey(int file) noexcept { return KeysOf(file).receiving; }

std::uint64_t EndKey(pid_t process) noexcept {
  return KeyOf(Kind::kEnd, static_cast<std::int64_t>(process));
}

std::uint64_t ProgramKey(pid_t process) noexcept {
  return KeyOf(Kind::kProgram, static_cast<std::int64_t>(process));
}

std::uint64_t ChildrenKey(pid_t process) noexcept {
  return KeyOf(Kind::kChildren, static_cast<std::int64_t>(process));
}

}  // namespace eidolon::shim::channel
