// Any bytes on the channel: whole messages come out, then an error, never more than was sent.
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/timing/measure/channel.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSocketBuffer = 64 << 10;
  if (size > kSocketBuffer) return 0;
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  eidolon::timing::measure::Channel channel(ends[0]);
  CHECK(write(ends[1], data, size) == static_cast<ssize_t>(size));
  close(ends[1]);
  std::size_t received = 0;
  while (true) {
    const auto message = channel.Receive(-1);
    if (!message) {
      CHECK(!message.error().message.empty());
      return 0;
    }
    received += 4 + message->size();
    CHECK(received <= size);
  }
}
