// gRPC closes a connection without saying so, hence the count of open connections cannot be kept by
// events. Each connection that was handed on is remembered by its descriptor and its socket's
// inode: once the descriptor is closed, or means another socket, the inode differs. This costs a
// system call each, so it is checked only when a limit is reached. At most half of the process's
// descriptors go to connections; the rest stays for files and sockets of the service. When none is
// left, a listening socket remains readable and poll would spin, so the thread leaves listeners out
// for a moment.
#include "services/runtime/tcp_front.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::runtime {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr int kBacklog = 1024;
// While the process has no descriptor left.
constexpr int kShortPauseMs = 100;

// A port in network byte order, at the same place in addresses of either family.
std::uint16_t* PortIn(sockaddr* address) {
  return address->sa_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

// A listening socket; -1 with errno.
int ListenAt(const sockaddr* address, socklen_t size) {
  const int made = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return -1;
  const int yes = 1;
  const int no = 0;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address->sa_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(made, address, size) == 0 && listen(made, kBacklog) == 0) return made;
  const int why = errno;
  close(made);
  errno = why;
  return -1;
}

int PortOf(int listener) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  return getsockname(listener, address, &size) == 0 ? ntohs(*PortIn(address)) : 0;
}

std::string TextOf(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  const void* bytes = nullptr;
  int family = storage.ss_family;
  if (family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr;
  } else if (family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&address);
    bytes = mapped ? &address.s6_addr[12] : static_cast<const void*>(&address);
    if (mapped) family = AF_INET;
  }
  if (bytes == nullptr) return "";
  return inet_ntop(family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

// Nothing when the descriptor is closed or no socket.
unsigned long InodeOf(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

std::size_t HalfOfDescriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  return static_cast<std::size_t>(limit.rlim_cur) / 2;
}

}  // namespace

Result<int> TcpFront::Listen(const std::string& address) {
  const auto fail = [&](std::string_view why) {
    return Fail(ErrorCode::kUnavailable, StrCat("cannot listen on '", address, "': ", why));
  };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fail("write host:port, such as 127.0.0.1:7402");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port_number = base::ParseInteger(std::string_view(address).substr(colon + 1));
  if (!port_number || *port_number < 0 || *port_number > 65535) return fail("it has no port");
  const bool everywhere = host == "0.0.0.0" || host == "::";
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  const std::string service = std::to_string(*port_number);
  int port = static_cast<int>(*port_number);
  int why = 0;
  // One socket of IPv6 takes both families, where the machine has it.
  for (const char* name : {everywhere ? "::" : host.c_str(), "0.0.0.0"}) {
    if (!everywhere && name != host.c_str()) break;
    addrinfo* found = nullptr;
    if (getaddrinfo(name, service.c_str(), &wanted, &found) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      *PortIn(at->ai_addr) = htons(static_cast<std::uint16_t>(port));
      const int listener = ListenAt(at->ai_addr, at->ai_addrlen);
      if (listener < 0) why = errno;
      if (listener < 0) continue;
      listeners_.push_back(listener);
      port = PortOf(listener);
    }
    if (!listeners_.empty()) return port;
  }
  return fail(why == 0 ? "the host has no address" : std::strerror(why));
}

void TcpFront::Start(Take take) {
  take_ = std::move(take);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(wake_ >= 0);
  thread_ = std::thread([this] { Run(); });
}

void TcpFront::Stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
    thread_.join();
  }
  for (const int listener : listeners_) close(listener);
  listeners_.clear();
  if (wake_ >= 0) close(std::exchange(wake_, -1));
}

// After an accept that found no descriptor left, only the stop event is polled for a moment.
void TcpFront::Run() {
  std::vector<pollfd> waits = {{wake_, POLLIN, 0}};
  for (const int listener : listeners_) waits.push_back({listener, POLLIN, 0});
  while (true) {
    const bool pauses = std::exchange(is_short_, false);
    poll(waits.data(), pauses ? 1 : waits.size(), pauses ? kShortPauseMs : -1);
    if (waits[0].revents != 0) return;
    for (std::size_t at = 1; !pauses && at < waits.size(); ++at) {
      if (waits[at].revents != 0) Accept(waits[at].fd);
    }
  }
}

void TcpFront::Accept(int listener) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof peer;
  const int made =
      accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (made < 0) {
    is_short_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return;
  }
  std::string client = TextOf(peer);
  if (!HasRoomFor(client)) {
    close(made);
    LogRefusal(client);
    return;
  }
  const int yes = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  handed_.push_back({made, InodeOf(made), std::move(client)});
  take_(made);
}

bool TcpFront::HasRoomFor(const std::string& client) {
  const auto count = [&] {
    return static_cast<std::size_t>(std::ranges::count(handed_, client, &Handed::client));
  };
  const std::size_t most = std::min(limits_.connections_max, HalfOfDescriptors());
  const auto has_room = [&] {
    return handed_.size() < most && count() < limits_.client_connections_max;
  };
  if (has_room()) return true;
  std::erase_if(handed_, [](const Handed& one) { return InodeOf(one.descriptor) != one.inode; });
  return has_room();
}

// The first refusal, the second, the fourth and so on: a flood does not fill the log.
void TcpFront::LogRefusal(const std::string& client) {
  if (!std::has_single_bit(++refused_)) return;
  base::Log(base::Level::kWarning, "connections_refused",
            {{"client", client},
             {"count", StrCat(refused_)},
             {"reason", "too many connections of this address or in all"}});
}

}  // namespace eidolon::runtime
