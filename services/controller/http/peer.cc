#include "services/controller/http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "services/base/text.h"

namespace eidolon::controller::http {
namespace {

constexpr std::string_view kUnix = "unix:";

template <typename Address>
Address As(const sockaddr_storage& storage) {
  Address address;
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

std::string Text(int family, const void* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  return inet_ntop(family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

}  // namespace

std::optional<Peer> PeerOf(int socket) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  if (storage.ss_family == AF_INET) {
    const auto address = As<sockaddr_in>(storage);
    return Peer{Text(AF_INET, &address.sin_addr), ntohs(address.sin_port)};
  }
  if (storage.ss_family == AF_INET6) {
    const auto address = As<sockaddr_in6>(storage);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&address.sin6_addr);
    const std::string text = IN6_IS_ADDR_V4MAPPED(&address.sin6_addr) ? Text(AF_INET, bytes + 12)
                                                                      : Text(AF_INET6, bytes);
    return Peer{text, ntohs(address.sin6_port)};
  }
  ucred credentials = {};
  socklen_t credentials_size = sizeof credentials;
  if (storage.ss_family != AF_UNIX ||
      getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_size) != 0) {
    return std::nullopt;
  }
  return Peer{base::StrCat(kUnix, credentials.uid), 0, credentials.uid};
}

std::optional<uid_t> UserOf(std::string_view address) {
  if (!address.starts_with(kUnix)) return std::nullopt;
  const auto user = base::ParseInteger(address.substr(kUnix.size()));
  if (!user || *user < 0) return std::nullopt;
  return static_cast<uid_t>(*user);
}

std::string ClientOf(const Peer& peer) {
  return peer.user ? base::StrCat("user ", *peer.user) : ClientOf(peer.address);
}

std::string ClientOf(const std::string& address) {
  in6_addr bytes = {};
  if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
  std::memset(bytes.s6_addr + 8, 0, 8);
  return Text(AF_INET6, &bytes) + "/64";
}

}  // namespace eidolon::controller::http
