// The kernel tells the peer's process for Unix sockets only. For TCP within a machine it is found
// by the table of connections: the line with both ports exchanged is the other end, and the process
// that holds a descriptor of its inode is the peer. A process of another user hides its
// descriptors, and none is found.
#include "services/runtime/process/socket_peer.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "services/base/text.h"
#include "services/runtime/process/proc_file.h"

namespace eidolon::process {
namespace {

using AddressOf = int (*)(int socket, sockaddr* address, socklen_t* bytes);

std::optional<std::uint16_t> Port(int socket, AddressOf address_of) {
  sockaddr_in6 address{};  // A sockaddr_in has its port at the same place.
  socklen_t bytes = sizeof(address);
  if (address_of(socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return std::nullopt;
  if (address.sin6_family != AF_INET && address.sin6_family != AF_INET6) return std::nullopt;
  return ntohs(address.sin6_port);
}

// "0100007F:1F90", behind an address of four or sixteen bytes.
std::optional<std::uint16_t> PortIn(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  return static_cast<std::uint16_t>(strtoul(address.c_str() + colon + 1, nullptr, 16));
}

// The inode of the socket whose end is `local`; "" when this machine has none. A connection within
// the machine has a line for each of its ends, so that the two ports find one of them.
std::string InodeOf(std::uint16_t local, std::uint16_t remote) {
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, from, to, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> from >> to >> state >> queues >> timer >> retransmits >> user >> timeout;
      words >> inode;
      if (PortIn(from) == local && PortIn(to) == remote && inode != "0") return inode;
    }
  }
  return "";
}

bool HasDescriptor(const std::filesystem::path& process, const std::string& link) {
  bool has = false;
  ForEachProcEntry(process / "fd", [&](const std::filesystem::path& entry) {
    std::error_code error;
    has = has || std::filesystem::read_symlink(entry, error) == link;
  });
  return has;
}

}  // namespace

std::optional<pid_t> PeerProcess(int socket) {
  const auto mine = Port(socket, getsockname);
  const auto other = Port(socket, getpeername);
  if (!mine.has_value() || !other.has_value()) return std::nullopt;
  const std::string inode = InodeOf(*other, *mine);
  if (inode.empty()) return std::nullopt;
  std::optional<pid_t> found;
  ForEachProcEntry("/proc", [&](const std::filesystem::path& entry) {
    if (found.has_value()) return;
    const auto process = base::ParseInteger(entry.filename().string());
    if (!process.has_value()) return;
    if (HasDescriptor(entry, "socket:[" + inode + "]")) found = static_cast<pid_t>(*process);
  });
  return found;
}

std::optional<std::string> VariableOf(pid_t process, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  for (std::string line; std::getline(file, line, '\0');) {
    if (line.size() > name.size() && line[name.size()] == '=' && line.starts_with(name)) {
      return line.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace eidolon::process
