// A process that cannot reach its agent must go on without GPUs and say why in one line, so each
// step that fails ends in a reason. The agent is another build at worst: its page, its welcome and
// its segment are checked for magic number, version and size before a field of theirs is used. The
// files of the shared memory are closed once they are mapped; the socket alone stays open, because
// its end tells both sides that the other one is gone. A signal of the program may interrupt the
// wait for the welcome, which is then repeated.
#include "shim/core/connection.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "shim/core/server_page.h"

namespace eidolon::shim::core {
namespace {

constexpr int kWelcomeLimitSeconds = 60;

std::int32_t NumberFromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return -1;
  return static_cast<std::int32_t>(base::ParseInteger(text).value_or(-1));
}

// Closes what it holds unless released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Connection Failed(std::string reason) {
  Connection result;
  result.reason = std::move(reason);
  return result;
}

std::string LastError(std::string_view doing) {
  return base::StrCat(doing, ": ", std::strerror(errno));
}

// Files that a welcome carries, in this order.
struct SharedFiles {
  int segment = -1;
  int doorbell = -1;
};

// Reads the welcome and the descriptors that came with it.
bool ReceiveWelcome(int socket, ring::Welcome* welcome, SharedFiles* files) {
  iovec part{welcome, sizeof(*welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(SharedFiles))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS) {
      std::memcpy(files, CMSG_DATA(at), std::min(sizeof(*files), at->cmsg_len - CMSG_LEN(0)));
    }
  }
  return size == static_cast<ssize_t>(sizeof(*welcome)) && welcome->magic == ring::kMagic;
}

// nullptr: the file is too small, or cannot be mapped; errno is set.
void* Map(int file, std::size_t bytes) {
  struct stat status {};
  if (fstat(file, &status) != 0) return nullptr;
  if (status.st_size < static_cast<off_t>(bytes)) {
    errno = EINVAL;
    return nullptr;
  }
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

// Maps and checks the segment, and maps the doorbell.
Connection MapShared(const SharedFiles& files, Connection connection) {
  void* mapped = Map(files.segment, ring::kSegmentBytes);
  if (mapped == nullptr) return Failed(LastError("mapping the agent's segment"));
  const ring::SegmentHeader& header = *ring::HeaderOf(mapped);
  if (header.magic != ring::kMagic || header.version != ring::kVersion ||
      header.device_count > ring::kMaxDevices) {
    munmap(mapped, ring::kSegmentBytes);
    return Failed(base::StrCat("the agent's segment is damaged or of another version (",
                               header.version, ", ours is ", ring::kVersion, ")"));
  }
  connection.doorbell = static_cast<ring::Doorbell*>(Map(files.doorbell, ring::kDoorbellBytes));
  if (connection.doorbell == nullptr) {
    munmap(mapped, ring::kSegmentBytes);
    return Failed(LastError("mapping the agent's doorbell"));
  }
  connection.segment = mapped;
  return connection;
}

}  // namespace

Connection ConnectToAgent() {
  const char* directory = RunDirectory();
  if (directory == nullptr) return {};
  Connection connection;
  connection.page = MappedServerPage();
  if (connection.page == nullptr) {
    return Failed(base::StrCat(directory, "/server.page is missing or damaged"));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = base::StrCat(directory, "/agent.sock");
  if (path.size() >= sizeof(address.sun_path)) {
    return Failed(base::StrCat("the run directory's path is too long: ", path));
  }
  std::copy(path.begin(), path.end(), address.sun_path);

  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Failed(LastError("making a socket"));
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return Failed(LastError(base::StrCat("connecting to ", path)));
  }
  const timeval limit{kWelcomeLimitSeconds, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const ring::Hello hello{ring::kMagic,
                          ring::kVersion,
                          getpid(),
                          NumberFromEnvironment("RANK"),
                          NumberFromEnvironment("LOCAL_RANK"),
                          NumberFromEnvironment("WORLD_SIZE")};
  if (send(socket.get(), &hello, sizeof(hello), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(sizeof(hello))) {
    return Failed(LastError("greeting the agent"));
  }
  ring::Welcome welcome{};
  SharedFiles files;
  const bool welcomed = ReceiveWelcome(socket.get(), &welcome, &files);
  const Descriptor segment(files.segment);
  const Descriptor doorbell(files.doorbell);
  if (!welcomed) return Failed("the agent closed the connection before its welcome");
  if (welcome.accepted == 0) {
    welcome.reason[sizeof(welcome.reason) - 1] = '\0';
    return Failed(base::StrCat("the agent refused this process: ", welcome.reason));
  }
  connection.socket = socket.get();
  connection = MapShared(files, std::move(connection));
  if (connection.segment != nullptr) socket.release();
  return connection;
}

}  // namespace eidolon::shim::core
