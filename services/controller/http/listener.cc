// A Unix socket is closed to other users between bind and listen: connecting fails before listen,
// so there is no moment at which another user could get in, and the process-wide umask stays as it
// is. A TCP socket gets SO_REUSEADDR, to start again while old connections are in TIME_WAIT, and
// never SO_REUSEPORT, with which two servers would share a port without noticing it.
#include "services/controller/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "services/base/text.h"

namespace eidolon::controller::http {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Connections that the kernel keeps until they are accepted.
constexpr int kBacklog = 1024;

int PortOf(int socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  sockaddr_in address;
  std::memcpy(&address, &storage, sizeof address);
  return ntohs(address.sin_port);  // At the same place in sockaddr_in6.
}

Descriptor Bind(const addrinfo& at) {
  Descriptor socket(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return {};
  // Without SO_REUSEPORT: two servers never share a port, each answering by chance.
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket.get(), at.ai_addr, at.ai_addrlen) != 0 || listen(socket.get(), kBacklog) != 0) {
    return {};
  }
  return socket;
}

// Removes the socket that an earlier process has left at the path. Fails if anything else is there.
Result<void> RemoveAbandoned(const sockaddr_un& address) {
  struct stat status = {};
  if (lstat(address.sun_path, &status) != 0) {
    if (errno == ENOENT) return {};
    return Fail(ErrorCode::kUnavailable, std::strerror(errno));
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Fail(ErrorCode::kFailedPrecondition,
                "the path exists and is not a socket; remove it, or name another path");
  }
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool connects =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  // EAGAIN: the listener has as many waiting connections as it takes.
  if (connects || errno == EAGAIN) {
    return Fail(ErrorCode::kAlreadyExists,
                "another process listens on this socket; end it, or name another path");
  }
  if (errno != ECONNREFUSED || unlink(address.sun_path) != 0) {
    return Fail(ErrorCode::kUnavailable, std::strerror(errno));
  }
  return {};
}

}  // namespace

Result<Descriptor> ListenUnix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the path of a socket may have ", sizeof address.sun_path - 1, " bytes"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  if (auto removed = RemoveAbandoned(address); !removed) return std::unexpected(removed.error());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Nobody connects before listen, and by then it is its owner's alone.
  if (!socket.valid() ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || listen(socket.get(), kBacklog) != 0) {
    return Fail(ErrorCode::kUnavailable, std::strerror(errno));
  }
  return socket;
}

Result<Listener> ListenTcp(const std::string& host, int port) {
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  const std::string name = brackets ? host.substr(1, host.size() - 2) : host;
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    return Fail(ErrorCode::kUnavailable, StrCat("'", host, "' is not the address of a host"));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Descriptor socket = Bind(*at);
    error = errno;
    if (!socket.valid()) continue;
    const int real = PortOf(socket.get());
    return Listener{std::move(socket), real};
  }
  return Fail(ErrorCode::kUnavailable, StrCat("the address is in use or not one of this machine (",
                                              std::strerror(error), ")"));
}

}  // namespace eidolon::controller::http
