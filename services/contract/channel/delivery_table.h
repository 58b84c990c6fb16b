// Shared memory in which the processes of an emulated server note when they sent the bytes that
// other processes of it read. The agent owns the memory file and links it as `channels` into the
// run directory; every process of the job maps it to read and write, and the agent never reads it.
//
// A channel is one direction of a pipe, of a Unix socket or of a TCP connection, or the notes of
// one process about itself. All times are picoseconds of the programs' clocks.
//
// A stray pointer of the program may damage the table. That can move the clocks of processes
// without a GPU and of the programs that they give work to; ranks of a launcher never read it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eidolon::channel {

// Origin of the sender's time.
enum class Sender : std::uint64_t {
  kFreely = 0,  // The sender has no GPU, and has received no time yet.
  kByOthers,    // It has no GPU, and follows received times.
  kAsRank,      // It uses a GPU.
};

// The bytes before `end`, and behind those of the delivery before, were sent at `time_ps`.
struct Delivery {
  std::uint64_t end;
  std::int64_t time_ps;
  std::int64_t start_up_ps;  // Lead of the programs' clocks over the rank clocks.
  Sender sender;
};

// A reader that is further behind takes the oldest of these, whose time is later.
inline constexpr std::size_t kDeliveries = 30;

struct alignas(64) Channel {
  std::atomic<std::uint64_t> key;   // 0: the place is free.
  std::atomic<std::uint32_t> busy;  // 1 while a process works on what follows.
  std::uint64_t next;  // Deliveries so far; the last one is at (next - 1) % kDeliveries.
  std::uint64_t used;  // DeliveryTable::uses at the last use.
  std::uint64_t sent;  // Bytes.
  std::uint64_t received;
  std::array<Delivery, kDeliveries> deliveries;
};
static_assert(sizeof(Channel) == 1024);

// Number of channels. A further one replaces the least recently used of the kNearPlaces places from
// its own on.
inline constexpr std::size_t kChannels = 4096;
inline constexpr std::size_t kNearPlaces = 8;

struct DeliveryTable {
  std::atomic<std::uint64_t> uses;
  std::array<Channel, kChannels> channels;
};

}  // namespace eidolon::channel
