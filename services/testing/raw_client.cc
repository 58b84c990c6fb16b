#include "services/testing/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace eidolon::testing {
namespace {

constexpr timeval kWait = {.tv_sec = 60, .tv_usec = 0};

int Prepare(int socket) {
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kWait, sizeof kWait);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kWait, sizeof kWait);
  return socket;
}

template <typename Address>
int Connect(int socket, const Address& address) {
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  close(socket);
  return -1;
}

}  // namespace

RawClient RawClient::Tcp(const std::string& address, const std::string& from) {
  const int socket = Prepare(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  if (!from.empty()) {
    inet_pton(AF_INET, from.c_str(), &at.sin_addr);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      close(socket);
      return RawClient(-1);
    }
  }
  const std::size_t colon = address.rfind(':');
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &at.sin_addr);
  at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  return RawClient(Connect(socket, at));
}

RawClient RawClient::Unix(const std::string& path) {
  const int socket = Prepare(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.c_str(), std::min(path.size(), sizeof at.sun_path - 1));
  return RawClient(Connect(socket, at));
}

RawClient::RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

RawClient::~RawClient() {
  if (socket_ >= 0) close(socket_);
}

bool RawClient::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawClient::EndSending() const { shutdown(socket_, SHUT_WR); }

std::string RawClient::ReadSome() const {
  char bytes[65536];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
  return count <= 0 ? std::string() : std::string(bytes, static_cast<std::size_t>(count));
}

std::string RawClient::ReadAll() const { return ReadUntil(""); }

std::string RawClient::ReadUntil(std::string_view end) const {
  std::string text;
  while (end.empty() || !text.ends_with(end)) {
    const std::string part = ReadSome();
    if (part.empty()) break;
    text += part;
  }
  return text;
}

}  // namespace eidolon::testing
