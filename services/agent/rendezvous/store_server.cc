// One thread serves all connections by poll, so the handler needs no order of its own. A client
// that does not take its answers is not read from, and requests that have not come whole count
// against a sum over all connections: no client can make the agent run out of memory. When no
// descriptor is left, accept would fail at once and for ever, so accepting pauses for a moment and
// the reason is logged once. The mutex is there for DescribeWaits, which other threads call.
#include "services/agent/rendezvous/store_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/runtime/process/socket_peer.h"

namespace eidolon::agent::rendezvous {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr int kBacklog = 1024;
constexpr std::size_t kReadBytes = 1 << 16;
// Who does not take answers is not read from.
constexpr std::size_t kUnsentBytesMax = 16 << 20;
// Limit of the requests that have not come whole, of all connections.
constexpr std::size_t kHeldBytesMax = 1 << 30;
constexpr std::int64_t kPauseMs = 100;
constexpr std::int64_t kNsPerMs = 1'000'000;

// A socket that listens at one of the address's numbers.
Result<int> Listen(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int looked = getaddrinfo(address.empty() ? nullptr : address.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (looked != 0) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("the rendezvous cannot listen at ", address, ": ", gai_strerror(looked)));
  }
  int error = EADDRNOTAVAIL;
  int listener = -1;
  for (const addrinfo* one = found; one != nullptr && listener < 0; one = one->ai_next) {
    listener = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (listener >= 0 && bind(listener, one->ai_addr, one->ai_addrlen) == 0 &&
        listen(listener, kBacklog) == 0) {
      break;
    }
    error = errno;
    if (listener >= 0) close(listener);
    listener = -1;
  }
  freeaddrinfo(found);
  if (listener >= 0) return listener;
  return Fail(ErrorCode::kUnavailable, StrCat("the rendezvous cannot listen at ", address, ":",
                                              port, ": ", strerror(error)));
}

std::uint16_t PortOf(int listener) {
  sockaddr_storage bound{};
  socklen_t bytes = sizeof(bound);
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &bytes);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

Result<std::unique_ptr<StoreServer>> StoreServer::Start(Options options) {
  const auto listener = Listen(options.address, options.port);
  if (!listener) return std::unexpected(listener.error());
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    close(*listener);
    return Fail(ErrorCode::kResourceExhausted, StrCat("an eventfd: ", strerror(errno)));
  }
  return std::unique_ptr<StoreServer>(
      new StoreServer(*listener, wake, PortOf(*listener), std::move(options.world)));
}

StoreServer::Connection::Connection() : reader(kRequestBytesMax) {}

StoreServer::StoreServer(int listener, int wake, std::uint16_t port, World world)
    : listener_(listener),
      wake_(wake),
      port_(port),
      handler_({.world = std::move(world)},
               [this](int socket) { return &connections_.at(socket).out; }) {
  thread_ = std::thread([this] { Serve(); });
}

StoreServer::~StoreServer() {
  stopping_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  for (const auto& [socket, connection] : connections_) close(socket);
  close(listener_);
  close(wake_);
}

void StoreServer::Serve() {
  std::vector<pollfd> watched;
  while (!stopping_) {
    const int timeout_ms = Watch(&watched);
    if (poll(watched.data(), watched.size(), timeout_ms) >= 0) {
      Step(watched);
    } else if (errno != EINTR) {
      PauseAccepting(StrCat("poll: ", strerror(errno)));
      poll(nullptr, 0, kPauseMs);
    }
  }
}

int StoreServer::Watch(std::vector<pollfd>* watched) const {
  const std::int64_t pause_ns = accepts_at_ns_ - clock_.MonotonicNs();
  const bool accepts = accepts_at_ns_ == 0 || pause_ns <= 0;
  *watched = {{.fd = wake_, .events = POLLIN, .revents = 0},
              {.fd = accepts ? listener_ : -1, .events = POLLIN, .revents = 0}};
  for (const auto& [socket, connection] : connections_) {
    const std::size_t unsent = connection.out.size() - connection.sent_bytes;
    short events = unsent > 0 ? POLLOUT : 0;
    if (unsent < kUnsentBytesMax) events |= POLLIN;
    watched->push_back({.fd = socket, .events = events, .revents = 0});
  }
  return accepts ? -1 : static_cast<int>(pause_ns / kNsPerMs) + 1;
}

void StoreServer::Step(const std::vector<pollfd>& watched) {
  const std::lock_guard lock(mutex_);
  if ((watched[1].revents & POLLIN) != 0) {
    Accept();
  } else if (watched[1].revents != 0) {
    PauseAccepting(StrCat("poll reports ", watched[1].revents, " of the listener"));
  }
  for (std::size_t i = 2; i < watched.size(); ++i) {
    Connection& connection = connections_.at(watched[i].fd);
    if ((watched[i].revents & ~POLLOUT) != 0) Read(watched[i].fd, &connection);
  }
  // A request may set the answer to an earlier connection's: all requests come first.
  for (auto& [socket, connection] : connections_) Answer(socket, &connection);
  for (auto at = connections_.begin(); at != connections_.end();) {
    Write(at->first, &at->second);
    if (!at->second.is_broken) {
      ++at;
      continue;
    }
    handler_.Forget(at->first);
    ranks_.erase(at->first);
    held_bytes_ -= at->second.reader.held_bytes();
    close(at->first);
    at = connections_.erase(at);
  }
}

void StoreServer::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      connections_.try_emplace(socket);
      was_told_ = false;
      accepts_at_ns_ = 0;
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) PauseAccepting(strerror(errno));
    return;
  }
}

// What stands in the way may stay for long: it is told once, and tried again a few times a second.
void StoreServer::PauseAccepting(const std::string& reason) {
  accepts_at_ns_ = clock_.MonotonicNs() + kPauseMs * kNsPerMs;
  if (was_told_) return;
  was_told_ = true;
  base::Log(base::Level::kError, "rendezvous_accepts_nobody",
            {{"reason", reason}, {"connections", StrCat(connections_.size())}});
}

void StoreServer::Read(int socket, Connection* connection) {
  char buffer[kReadBytes];
  const ssize_t bytes = recv(socket, buffer, sizeof(buffer), 0);
  if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) connection->is_broken = true;
  if (bytes <= 0) return;
  connection->reader.Append(std::string_view(buffer, static_cast<std::size_t>(bytes)));
  held_bytes_ += static_cast<std::size_t>(bytes);
  if (held_bytes_ > kHeldBytesMax) {
    Refuse(socket, connection,
           {.code = ErrorCode::kResourceExhausted,
            .message = StrCat("the requests to the rendezvous that have not come whole have more "
                              "than ",
                              kHeldBytesMax, " bytes")});
  }
}

// All requests that have come, unless the client does not take the answers.
void StoreServer::Answer(int socket, Connection* connection) {
  const std::size_t before = connection->reader.held_bytes();
  while (!connection->is_broken &&
         connection->out.size() - connection->sent_bytes < kUnsentBytesMax) {
    auto read = connection->reader.Next();
    if (!read) {
      Refuse(socket, connection, read.error());
      break;
    }
    if (!read->has_value()) break;
    auto answered = handler_.Answer(socket, std::move(**read));
    if (!answered) Refuse(socket, connection, answered.error());
  }
  held_bytes_ += connection->reader.held_bytes() - before;
}

void StoreServer::Write(int socket, Connection* connection) {
  while (!connection->is_broken && connection->sent_bytes < connection->out.size()) {
    const ssize_t bytes = send(socket, connection->out.data() + connection->sent_bytes,
                               connection->out.size() - connection->sent_bytes, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno != EAGAIN) connection->is_broken = true;
    if (bytes < 0) return;
    connection->sent_bytes += static_cast<std::size_t>(bytes);
    if (connection->sent_bytes < connection->out.size()) continue;
    connection->out.clear();
    connection->sent_bytes = 0;
    Answer(socket, connection);  // Those that had to wait until the answers were taken.
  }
}

// The rank whose process is at the other end; nothing where that is not known.
std::optional<std::int64_t> StoreServer::RankAt(int socket) const {
  if (const auto known = ranks_.find(socket); known != ranks_.end()) return known->second;
  const auto process = process::PeerProcess(socket);
  if (!process.has_value()) return std::nullopt;
  const auto variable = process::VariableOf(*process, "RANK");
  const auto rank = variable.has_value() ? base::ParseInteger(*variable) : std::nullopt;
  if (rank.has_value()) ranks_[socket] = *rank;
  return rank;
}

void StoreServer::Refuse(int socket, Connection* connection, const base::Error& error) {
  const auto rank = RankAt(socket);
  base::Log(base::Level::kError, "rendezvous_refused",
            {{"rank", rank.has_value() ? StrCat(*rank) : "unknown"}, {"reason", error.message}});
  connection->is_broken = true;
}

std::vector<std::string> StoreServer::DescribeWaits() const {
  const std::lock_guard lock(mutex_);
  return handler_.DescribeWaits([this](int socket) { return RankAt(socket); });
}

}  // namespace eidolon::agent::rendezvous
