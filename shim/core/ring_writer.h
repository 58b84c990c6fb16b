// The writing end of the ring (services/ring/layout.h): places records, waits while the ring is
// full, rings the agent's doorbell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/ring/layout.h"
#include "services/ring/record.h"
#include "shim/core/spin_lock.h"

namespace eidolon::shim::core {

// Thread safe; one lock orders all writers of the process, and the clock that a record carries is
// read under it, so that clocks never step back along the ring.
class RingWriter {
 public:
  RingWriter() = default;

  // Requires: segment and page outlive the writer; socket is the agent's.
  void Start(void* segment, ring::ServerPage* page) noexcept;

  // Session::Append. False when the agent is gone: the record is dropped.
  bool Append(ring::RecordHeader* record, std::size_t record_bytes,
              std::span<const std::span<const std::byte>> tail) noexcept;

  // Wakes the agent.
  void RingDoorbell() noexcept;

  bool agent_gone() const noexcept { return agent_gone_.load(std::memory_order_relaxed); }
  // Looks at the socket. Real time: one system call.
  bool CheckAgent() noexcept;

 private:
  // The position of `bytes` contiguous free bytes. Requires: lock_ held, bytes a multiple of 8.
  bool Reserve(std::size_t bytes, std::uint64_t* position) noexcept;
  bool WaitForSpace(std::uint64_t end) noexcept;

  SpinLock lock_;  // Guards the three below and the order of records.
  std::uint64_t write_ = 0;
  std::uint64_t read_seen_ = 0;  // The reader was at least here.
  std::uint64_t rung_at_ = 0;    // write_ when the doorbell last rang for fullness.

  char* ring_ = nullptr;
  ring::Cursors* cursors_ = nullptr;
  ring::ServerPage* page_ = nullptr;
  std::atomic<bool> agent_gone_{false};
};

}  // namespace eidolon::shim::core
