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
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::agent::rendezvous {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr int kBacklog = 1024;
constexpr std::size_t kReadBytes = 1 << 16;
// TCPStore's answers to kCheck and kWait.
constexpr char kReady = 0;
constexpr char kNotReady = 1;
constexpr char kStopWaiting = 0;
constexpr char kWaitCancelled = 1;
constexpr std::size_t kWaitsShown = 4;

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

StoreServer::StoreServer(int listener, int wake, std::uint16_t port, World world)
    : listener_(listener), wake_(wake), port_(port), world_(std::move(world)) {
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
    watched = {{.fd = wake_, .events = POLLIN, .revents = 0},
               {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const auto& [socket, connection] : connections_) {
      const short events = connection.out.empty() ? POLLIN : POLLIN | POLLOUT;
      watched.push_back({.fd = socket, .events = events, .revents = 0});
    }
    if (poll(watched.data(), watched.size(), -1) < 0) continue;  // A signal.
    const std::lock_guard lock(mutex_);
    if (watched[1].revents != 0) Accept();
    for (std::size_t i = 2; i < watched.size(); ++i) {
      Connection& connection = connections_.at(watched[i].fd);
      if ((watched[i].revents & ~POLLOUT) != 0) Read(watched[i].fd, &connection);
    }
    AnswerWaits();
    for (auto at = connections_.begin(); at != connections_.end();) {
      Write(at->first, &at->second);
      if (at->second.is_broken) close(at->first);
      at = at->second.is_broken ? connections_.erase(at) : std::next(at);
    }
  }
}

void StoreServer::Accept() {
  for (int socket;
       (socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections_.try_emplace(socket);
  }
}

void StoreServer::Read(int socket, Connection* connection) {
  char buffer[kReadBytes];
  const ssize_t bytes = recv(socket, buffer, sizeof(buffer), 0);
  if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR)) {
    connection->is_broken = true;
    return;
  }
  if (bytes > 0) connection->in.append(buffer, static_cast<std::size_t>(bytes));
  std::size_t read_bytes = 0;
  while (!connection->is_broken) {
    auto read = TakeRequest(std::string_view(connection->in).substr(read_bytes));
    if (!read) {
      base::Log(base::Level::kWarning, "rendezvous_refused", {{"reason", read.error().message}});
      connection->is_broken = true;
      return;
    }
    if (!read->has_value()) break;
    read_bytes += (*read)->bytes;
    Answer(connection, std::move((*read)->request));
  }
  connection->in.erase(0, read_bytes);
}

void StoreServer::Write(int socket, Connection* connection) {
  if (connection->out.empty() || connection->is_broken) return;
  const ssize_t bytes = send(socket, connection->out.data(), connection->out.size(), MSG_NOSIGNAL);
  if (bytes > 0) connection->out.erase(0, static_cast<std::size_t>(bytes));
  if (bytes < 0 && errno != EAGAIN && errno != EINTR) connection->is_broken = true;
}

void StoreServer::Answer(Connection* connection, Request request) {
  std::string& out = connection->out;
  switch (request.operation) {
    case Operation::kSet:
      return store_.Set(request.keys[0], std::move(request.values[0]));
    case Operation::kAppend:
      return store_.Append(request.keys[0], request.values[0]);
    case Operation::kQueuePush:
      return store_.Push(request.keys[0], std::move(request.values[0]));
    case Operation::kCompareSet:
      return AppendText(&out, store_.CompareSet(request.keys[0], request.values[0],
                                                std::move(request.values[1])));
    case Operation::kAdd: {
      const std::int64_t sum = store_.Add(request.keys[0], request.number);
      const std::int64_t ghosts = GhostCount(world_, request.keys[0], sum);
      return AppendNumber(&out, ghosts == 0 ? sum : store_.Add(request.keys[0], ghosts));
    }
    case Operation::kCountKeys:
      return AppendNumber(&out, static_cast<std::int64_t>(store_.size()));
    case Operation::kDelete:
      return AppendNumber(&out, store_.Delete(request.keys[0]) ? 1 : 0);
    case Operation::kQueueLength:
      return AppendNumber(&out, static_cast<std::int64_t>(store_.QueueLength(request.keys[0])));
    case Operation::kPing: {
      const auto nonce = static_cast<std::uint32_t>(request.number);
      out.append(reinterpret_cast<const char*>(&nonce), sizeof(nonce));
      return;
    }
    case Operation::kCancelWait:
      connection->waits_for.clear();
      out.push_back(kWaitCancelled);
      return;
    default:
      return AnswerKeys(connection, request);
  }
}

void StoreServer::AnswerKeys(Connection* connection, const Request& request) {
  std::string& out = connection->out;
  switch (request.operation) {
    case Operation::kWait:
      return Wait(connection, request.keys);
    case Operation::kCheck:
      out.push_back(store_.HasAll(request.keys) ? kReady : kNotReady);
      return;
    case Operation::kGet:
    case Operation::kMultiGet:
      // Clients have waited for them.
      for (const std::string& key : request.keys) {
        const std::string* value = store_.Find(key);
        AppendText(&out, value == nullptr ? std::string_view() : std::string_view(*value));
      }
      return;
    case Operation::kMultiSet:
      for (std::size_t i = 0; i < request.keys.size(); ++i) {
        store_.Set(request.keys[i], request.values[i]);
      }
      return;
    case Operation::kQueuePop: {
      const auto first = store_.Pop(request.keys[0]);
      AppendNumber(&out, first.has_value() ? 1 : 0);
      if (first.has_value()) AppendText(&out, *first);
      return;
    }
    default:  // kValidate has no answer.
      return;
  }
}

void StoreServer::Wait(Connection* connection, std::vector<std::string> keys) {
  // What a live rank sets later replaces it. That ranks of one group may then have different ids
  // does no harm: the members of a folded job's communicators know each other by their ranks.
  for (const std::string& key : keys) {
    if (store_.Find(key) != nullptr) continue;
    if (auto value = GhostValue(key)) store_.Set(key, std::move(*value));
  }
  connection->waits_for = std::move(keys);
  if (!connection->waits_for.empty()) return;
  connection->out.push_back(kStopWaiting);
}

void StoreServer::AnswerWaits() {
  for (auto& [socket, connection] : connections_) {
    if (connection.waits_for.empty() || !store_.HasAll(connection.waits_for)) continue;
    connection.waits_for.clear();
    connection.out.push_back(kStopWaiting);
  }
}

std::vector<std::string> StoreServer::DescribeWaits() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> waits;
  for (const auto& [socket, connection] : connections_) {
    for (const std::string& key : connection.waits_for) {
      if (store_.Find(key) != nullptr || waits.size() == kWaitsShown) continue;
      waits.push_back(StrCat("a rank waits in the rendezvous store for '", key,
                             "', which no live rank has set"));
    }
  }
  return waits;
}

}  // namespace eidolon::agent::rendezvous
