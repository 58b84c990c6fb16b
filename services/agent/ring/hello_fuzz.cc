// Any bytes as the first message of a process that connects.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "services/agent/ring/listener.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  constexpr std::size_t kBytesMax = 4096;
  CHECK(send(ends[0], data, std::min(size, kBytesMax), 0) >= 0);
  close(ends[0]);
  static_cast<void>(eidolon::agent::ring::TakeVirtualSleep(ends[1]));
  const auto hello = eidolon::agent::ring::ReadHello(ends[1]);
  if (!hello) CHECK(!hello.error().message.empty());
  close(ends[1]);
  return 0;
}
