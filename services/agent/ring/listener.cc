// The socket keeps message boundaries (SOCK_SEQPACKET), so a hello is whole or wrong, and no length
// has to be read. The process gets its segment as a descriptor and not as a path: no name is left
// behind. A refusal carries a sentence, because the shim prints it where the user looks.
#include "services/agent/ring/listener.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "services/base/text.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr int kBacklog = 128;

Result<void> Send(int connection, const wire::Welcome& welcome, const SharedFiles* files) {
  wire::Welcome copy = welcome;
  iovec part{&copy, sizeof(copy)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(SharedFiles))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (files != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rider = CMSG_FIRSTHDR(&message);
    rider->cmsg_level = SOL_SOCKET;
    rider->cmsg_type = SCM_RIGHTS;
    rider->cmsg_len = CMSG_LEN(sizeof(*files));
    std::memcpy(CMSG_DATA(rider), files, sizeof(*files));
  }
  if (sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(copy))) return {};
  return Fail(ErrorCode::kUnavailable, StrCat("answering a process: ", std::strerror(errno)));
}

}  // namespace

Result<int> Listen(const std::string& run_directory) {
  const std::string path = StrCat(run_directory, "/agent.sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("run directory '", run_directory, "' is too long for a socket: at most ",
                       sizeof(address.sun_path) - sizeof("/agent.sock"), " bytes"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  unlink(path.c_str());
  if (listener < 0 ||
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, kBacklog) != 0) {
    const std::string reason = std::strerror(errno);
    if (listener >= 0) close(listener);
    return Fail(ErrorCode::kInternal, StrCat("listening on '", path, "': ", reason));
  }
  return listener;
}

Result<int> Accept(int listener) {
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection >= 0) return connection;
  return Fail(ErrorCode::kUnavailable, StrCat("accepting a process: ", std::strerror(errno)));
}

std::optional<wire::VirtualSleep> TakeVirtualSleep(int connection) {
  wire::VirtualSleep virtual_sleep{};
  const ssize_t size =
      recv(connection, &virtual_sleep, sizeof(virtual_sleep), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  const bool is_virtual_sleep = size == static_cast<ssize_t>(sizeof(virtual_sleep)) &&
                                virtual_sleep.magic == wire::kVirtualSleepMagic &&
                                virtual_sleep.version == wire::kVersion;
  if (!is_virtual_sleep) return std::nullopt;
  recv(connection, &virtual_sleep, sizeof(virtual_sleep), MSG_DONTWAIT);
  return virtual_sleep;
}

void SendVirtualSleepEnd(int connection, bool passed) {
  const wire::VirtualSleepEnd end{
      .magic = wire::kVirtualSleepMagic, .passed = passed ? std::uint32_t{1} : 0, .reserved = 0};
  // A process that is gone needs no answer, and one that reads none gets one message at most.
  [[maybe_unused]] const ssize_t sent =
      send(connection, &end, sizeof(end), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<wire::Hello> ReadHello(int connection) {
  wire::Hello hello{};
  const ssize_t size = recv(connection, &hello, sizeof(hello), MSG_TRUNC);
  if (size == 0) return Fail(ErrorCode::kUnavailable, "a process hung up without a hello");
  if (size != static_cast<ssize_t>(sizeof(hello)) || hello.magic != wire::kMagic) {
    return Fail(ErrorCode::kCorrupt, "a connection did not begin with a hello");
  }
  if (hello.version != wire::kVersion) {
    return Fail(ErrorCode::kUnsupported,
                StrCat("the shim speaks version ", hello.version, " of the ring, the agent ",
                       wire::kVersion, ": they come from different builds"));
  }
  return hello;
}

Result<void> SendWelcome(int connection, const SharedFiles& files) {
  return Send(connection, {.magic = wire::kMagic, .accepted = 1, .reason = {}}, &files);
}

void SendRefusal(int connection, const std::string& reason) {
  wire::Welcome welcome{.magic = wire::kMagic, .accepted = 0, .reason = {}};
  std::copy_n(reason.begin(), std::min(reason.size(), sizeof(welcome.reason) - 1), welcome.reason);
  // A process that is gone already needs no refusal.
  [[maybe_unused]] const auto sent = Send(connection, welcome, nullptr);
}

}  // namespace eidolon::agent::ring
