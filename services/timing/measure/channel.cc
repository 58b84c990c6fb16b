// A worker can hang or die in the middle of a message, so every wait has a deadline, and reading
// goes on after a part. A frame's length is checked before memory is taken for it. Sending has no
// deadline: a batch is sent only when the worker has answered the one before and reads.
// MSG_NOSIGNAL turns a closed socket into an error; without it the signal would end the service.
#include "services/timing/measure/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/text.h"

namespace eidolon::timing::measure {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

std::unexpected<base::Error> Failed(std::string_view doing) {
  return base::Fail(ErrorCode::kUnavailable, StrCat(doing, ": ", std::strerror(errno)));
}

Result<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return base::Fail(ErrorCode::kInvalidArgument, StrCat("socket path '", path, "' is too long"));
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

// Waits until there is something to read; `deadline_ns` negative: for ever.
Result<void> WaitReadable(int descriptor, std::int64_t deadline_ns) {
  const base::SystemClock clock;
  while (true) {
    int wait_ms = -1;
    if (deadline_ns >= 0) {
      const std::int64_t left = (deadline_ns - clock.MonotonicNs() + kNsPerMs - 1) / kNsPerMs;
      wait_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
    }
    pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = poll(&entry, 1, wait_ms);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Failed("waiting for a message");
    if (ready == 0 && deadline_ns >= 0 && clock.MonotonicNs() >= deadline_ns) {
      return base::Fail(ErrorCode::kResourceExhausted, "no message in time");
    }
  }
}

std::int64_t DeadlineAfter(std::int64_t limit_ms) {
  if (limit_ms < 0) return -1;
  return base::SystemClock().MonotonicNs() + limit_ms * kNsPerMs;
}

}  // namespace

Channel::Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Channel::~Channel() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Channel> Channel::Connect(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address) return std::unexpected(address.error());
  Channel channel(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (channel.descriptor_ < 0 ||
      connect(channel.descriptor_, reinterpret_cast<const sockaddr*>(&*address),
              sizeof(*address)) != 0) {
    return Failed(StrCat("connecting to '", path, "'"));
  }
  return channel;
}

Result<void> Channel::Send(std::string_view message) {
  CHECK(message.size() <= kFrameBytesMax);
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame;
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(size >> (8 * i) & 0xff));
  frame += message;
  std::string_view left = frame;
  while (!left.empty()) {
    const ssize_t sent = send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Failed("sending a message");
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<void> Channel::Wait(std::int64_t limit_ms) {
  return WaitReadable(descriptor_, DeadlineAfter(limit_ms));
}

Result<std::string> Channel::Receive(std::int64_t limit_ms) {
  const std::int64_t deadline = DeadlineAfter(limit_ms);
  unsigned char head[4];
  if (auto read = Read(reinterpret_cast<char*>(head), sizeof(head), deadline); !read) {
    return std::unexpected(read.error());
  }
  const std::uint32_t size = head[0] | std::uint32_t{head[1]} << 8 | std::uint32_t{head[2]} << 16 |
                             std::uint32_t{head[3]} << 24;
  if (size > kFrameBytesMax) {
    return base::Fail(ErrorCode::kCorrupt, StrCat("a message of ", size, " bytes"));
  }
  std::string message(size, '\0');
  if (auto read = Read(message.data(), size, deadline); !read) {
    return std::unexpected(read.error());
  }
  return message;
}

Result<void> Channel::Read(char* to, std::size_t bytes, std::int64_t deadline_ns) {
  while (bytes > 0) {
    if (auto ready = WaitReadable(descriptor_, deadline_ns); !ready) return ready;
    const ssize_t got = recv(descriptor_, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("receiving a message");
    if (got == 0) return base::Fail(ErrorCode::kUnavailable, "the other side is gone");
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return {};
}

Result<Listener> Listener::At(const std::string& path) {
  const auto address = AddressOf(path);
  if (!address) return std::unexpected(address.error());
  Listener listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), path);
  if (listener.descriptor_ < 0 ||
      bind(listener.descriptor_, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
          0 ||
      listen(listener.descriptor_, 1) != 0) {
    return Failed(StrCat("listening at '", path, "'"));
  }
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

Listener::~Listener() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(path_.c_str());
}

Result<Channel> Listener::Accept(std::int64_t limit_ms) {
  if (auto ready = WaitReadable(descriptor_, DeadlineAfter(limit_ms)); !ready) {
    return std::unexpected(ready.error());
  }
  const int accepted = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return Failed("accepting a connection");
  return Channel(accepted);
}

}  // namespace eidolon::timing::measure
