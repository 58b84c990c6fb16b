// The writing end of the ring (services/contract/ring/layout.h): places records, waits while the
// ring is full, rings the agent's doorbell.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/python_line.h"
#include "services/contract/ring/record.h"
#include "shim/core/spin_lock.h"

namespace eidolon::shim::core {

// Thread safe; one lock orders all writers of the process, and the clock that a record carries is
// read under it, so that clocks never step back along the ring.
class RingWriter {
 public:
  RingWriter() = default;

  // Requires: what is shared outlives the writer.
  struct Shared {
    void* segment = nullptr;
    const ring::ServerPage* page = nullptr;
    ring::Doorbell* doorbell = nullptr;
  };
  void Start(const Shared& shared) noexcept;

  // Session::Append. False when the agent is gone: the record is dropped. Damage that was noted
  // (damage.h) goes before the record. `position`, when given, receives where the record lies.
  bool Append(ring::RecordHeader* record, std::size_t record_bytes,
              std::span<const std::span<const std::byte>> tail,
              std::uint64_t* position = nullptr) noexcept;
  // The same for a call made at this line (services/contract/ring/python_line.h), which the agent
  // is told where it is not that of the call before. Requires: the line was given its text.
  bool AppendFrom(std::uint32_t line, ring::RecordHeader* record, std::size_t record_bytes,
                  std::span<const std::span<const std::byte>> tail,
                  std::uint64_t* position) noexcept;

  // Wakes the agent.
  void RingDoorbell() noexcept;

  // Looks whether the write position is still what was written. For a thread whose answer takes
  // long.
  void CheckPosition() noexcept;
  // Tells the agent of damage that was noted, if there is some, and wakes it.
  void TellDamage() noexcept;

  bool agent_gone() const noexcept { return agent_gone_.load(std::memory_order_relaxed); }
  // Looks at the socket. Real time: one system call.
  bool CheckAgent() noexcept;

 private:
  // The position of `bytes` contiguous free bytes. Requires: lock_ held, bytes a multiple of 8.
  bool Reserve(std::size_t bytes, std::uint64_t* position) noexcept;
  bool WaitForSpace(std::uint64_t end) noexcept;
  // Requires: lock_ held.
  bool Put(ring::RecordHeader* record, std::size_t record_bytes,
           std::span<const std::span<const std::byte>> tail,
           std::uint64_t* placed = nullptr) noexcept;
  void PutDamage() noexcept;
  void PutLine(std::uint32_t line) noexcept;

  SpinLock lock_;  // Guards the five below and the order of records.
  std::uint64_t write_ = 0;
  std::uint64_t read_seen_ = 0;  // The reader was at least here.
  std::uint64_t rung_at_ = 0;    // write_ when the doorbell last rang for fullness.
  bool damage_told_ = false;
  std::uint32_t line_ = ring::kNoPythonLine;  // Of the last call that has one.

  char* ring_ = nullptr;
  ring::Cursors* cursors_ = nullptr;
  const ring::ServerPage* page_ = nullptr;
  ring::Doorbell* doorbell_ = nullptr;
  std::atomic<bool> agent_gone_{false};
};

}  // namespace eidolon::shim::core
