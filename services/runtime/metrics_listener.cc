// One thread and one poll serve all connections without blocking, so a client that is silent or
// reads slowly delays no other. A connection first collects its request's head, then sends its
// answer; whether the answer is empty says which. The page is made on this thread too, so a slow
// page delays all connections. In the loop `polled[i + 2]` belongs to `connections_[i]`: entries
// are erased from the back, and new ones are accepted only after all have been visited.
#include "services/runtime/metrics_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::runtime {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr int kPageBacklog = 64;
constexpr int kSweepMs = 500;  // Between two looks at deadlines.
constexpr std::string_view kEndOfHead = "\r\n\r\n";

std::string Answer(std::string_view status, std::string_view body) {
  return StrCat("HTTP/1.1 ", status,
                "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"
                "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: ",
                body.size(), "\r\n\r\n", body);
}

int PortOfPage(int socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  sockaddr_in address;
  std::memcpy(&address, &storage, sizeof address);
  return ntohs(address.sin_port);  // At the same place in sockaddr_in6.
}

// A socket that listens at what `at` names, or -1 and errno.
int Listen(const addrinfo& at) {
  const int fd = socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, kPageBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Result<std::unique_ptr<MetricsListener>> MetricsListener::Start(const std::string& address,
                                                                std::function<std::string()> page,
                                                                const base::RealClock& clock) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("'", address, "' is not a host and a port, as 127.0.0.1:9464 is"));
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure =
      getaddrinfo(host.empty() ? nullptr : host.c_str(), &address[colon + 1], &wanted, &found);
  if (failure != 0) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("'", address, "' is not an address: ", gai_strerror(failure)));
  }
  int fd = -1;
  int error = 0;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = Listen(*at);
    error = errno;
  }
  freeaddrinfo(found);
  if (fd < 0) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("cannot listen at '", address, "': ", std::strerror(error)));
  }
  return std::unique_ptr<MetricsListener>(
      new MetricsListener(fd, PortOfPage(fd), std::move(page), clock));
}

MetricsListener::MetricsListener(int listener, int port, std::function<std::string()> page,
                                 const base::RealClock& clock)
    : listener_(listener),
      port_(port),
      page_(std::move(page)),
      clock_(clock),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(stop_ >= 0);
  thread_ = std::thread([this] { Run(); });
}

MetricsListener::~MetricsListener() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_, &one, sizeof one);
  thread_.join();
  close(stop_);
  close(listener_);
}

void MetricsListener::Run() {
  std::vector<pollfd> polled;
  while (true) {
    polled = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Connection& each : connections_) {
      polled.push_back({each.fd, static_cast<short>(each.answer.empty() ? POLLIN : POLLOUT), 0});
    }
    if (poll(polled.data(), polled.size(), kSweepMs) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) break;
    const std::int64_t now = clock_.MonotonicNs();
    for (std::size_t i = connections_.size(); i-- > 0;) {
      Connection& each = connections_[i];
      const bool ready = polled[i + 2].revents != 0;
      const bool goes_on =
          now < each.until_ns && (!ready || (each.answer.empty() ? Read(&each) : Write(&each)));
      if (goes_on) continue;
      close(each.fd);
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) Accept();
  }
  while (!connections_.empty()) CloseFirst();
}

void MetricsListener::CloseFirst() {
  close(connections_.front().fd);
  connections_.erase(connections_.begin());
}

void MetricsListener::Accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without a descriptor left nobody can be accepted, and poll would return at once.
    if ((errno == EMFILE || errno == ENFILE) && !connections_.empty()) CloseFirst();
    return;
  }
  if (connections_.size() == kConnectionsMax) CloseFirst();
  connections_.push_back(
      {.fd = fd, .until_ns = clock_.MonotonicNs() + kDeadlineNs, .head = {}, .answer = {}});
}

bool MetricsListener::Read(Connection* connection) {
  std::array<char, 4096> bytes;
  const ssize_t count = recv(connection->fd, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection->head.append(bytes.data(), static_cast<std::size_t>(count));
  if (connection->head.find(kEndOfHead) != std::string::npos) {
    connection->answer = AnswerTo(connection->head);
  } else if (connection->head.size() > kHeadBytesMax) {
    connection->answer = Answer("431 Request Header Fields Too Large", "The head is too long.\n");
  }
  return true;
}

bool MetricsListener::Write(Connection* connection) {
  const ssize_t count = send(connection->fd, connection->answer.data(), connection->answer.size(),
                             MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  connection->answer.erase(0, static_cast<std::size_t>(count));
  if (!connection->answer.empty()) return true;
  shutdown(connection->fd, SHUT_WR);
  return false;
}

std::string MetricsListener::AnswerTo(const std::string& head) const {
  const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
  const std::size_t method_end = line.find(' ');
  const std::size_t path_end =
      method_end == std::string_view::npos ? method_end : line.find(' ', method_end + 1);
  if (path_end == std::string_view::npos || !line.substr(path_end + 1).starts_with("HTTP/1.")) {
    return Answer("400 Bad Request", "This is not a request of HTTP/1.1.\n");
  }
  const std::string_view method = line.substr(0, method_end);
  std::string_view path = line.substr(method_end + 1, path_end - method_end - 1);
  path = path.substr(0, path.find('?'));
  if (path != "/metrics") return Answer("404 Not Found", "The metrics are at /metrics.\n");
  if (method != "GET") return Answer("405 Method Not Allowed", "/metrics can be read (GET).\n");
  return Answer("200 OK", page_());
}

}  // namespace eidolon::runtime
