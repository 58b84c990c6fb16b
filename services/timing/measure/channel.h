// Messages between the timing service and its worker over a socket: each is a frame, its length in
// 4 bytes (little endian) and then the message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::timing::measure {

// Longest message: a parameter block and a list of allocations stay far below.
inline constexpr std::uint32_t kFrameBytesMax = 16 << 20;

// Owns one end of a connected stream socket. Movable. One thread at a time.
class Channel {
 public:
  Channel() = default;
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  // Connects to a listening socket at this path.
  static base::Result<Channel> Connect(const std::string& path);

  bool is_open() const { return descriptor_ >= 0; }

  // Requires: the message is not longer than kFrameBytesMax.
  base::Result<void> Send(std::string_view message);
  // Waits until there is something to receive, or the end; kResourceExhausted after `limit_ms`.
  base::Result<void> Wait(std::int64_t limit_ms);
  // kUnavailable when the other side is gone, kResourceExhausted after `limit_ms` (negative: none),
  // kCorrupt for a frame that is too long.
  base::Result<std::string> Receive(std::int64_t limit_ms);

 private:
  base::Result<void> Read(char* to, std::size_t bytes, std::int64_t deadline_ns);
  int descriptor_ = -1;
};

// A listening socket of the file system, removed at the end. Not thread safe.
class Listener {
 public:
  static base::Result<Listener> At(const std::string& path);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  // kResourceExhausted when nobody has come after `limit_ms`.
  base::Result<Channel> Accept(std::int64_t limit_ms);

 private:
  Listener(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace eidolon::timing::measure
