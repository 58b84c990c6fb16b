// Page that every process of an emulated server shares with its agent, and the messages with which
// a process that touches a GPU gets a segment of its own. The picture is in layout.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "services/contract/ring/host_costs.h"

namespace eidolon::ring {

inline constexpr std::uint64_t kMagic = 0x31676e6952646945;  // "EidRing1" in little endian.
inline constexpr std::uint32_t kVersion = 4;

// Shared by all processes of one emulated server, also by those that never open a session. They map
// it to read: only the agent writes, and the file is sealed against everybody else.
struct ServerPage {
  std::uint64_t magic;
  std::uint32_t version;
  HostModel host_model;
  std::uint32_t device_count;  // What a launcher of ranks is told without a session.
  std::int64_t epoch_unix_ns;  // As in SegmentHeader.
  alignas(64)
      std::atomic<std::uint64_t> job_clock_ps;  // Largest rank clock of this server, and the
                                                // committed time; what session-less processes read.
  alignas(64) std::atomic<std::uint32_t> agent_sleeps;  // On the doorbell.
};

inline constexpr std::size_t kServerPageBytes = 4096;
static_assert(sizeof(ServerPage) <= kServerPageBytes);

// Written by all processes with a session; nothing but the agent's sleep depends on it.
struct Doorbell {
  std::atomic<std::uint32_t> rings;  // Futex word the agent sleeps on, for a millisecond at most.
};
inline constexpr std::size_t kDoorbellBytes = 4096;

// First message of the socket, shim to agent.
struct Hello {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t pid;
  std::int32_t rank;        // RANK, or -1.
  std::int32_t local_rank;  // LOCAL_RANK, or -1.
  std::int32_t world_size;  // WORLD_SIZE, or -1.
};

// Second message, agent to shim; when accepted, the descriptors of the process's segment and of the
// doorbell ride along, in this order.
struct Welcome {
  std::uint64_t magic;
  std::uint32_t accepted;
  char reason[116];  // A sentence when refused.
};

}  // namespace eidolon::ring
