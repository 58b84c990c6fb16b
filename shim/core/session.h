// The process's conversation with the agent of its emulated server: connection, shared segment,
// ring.
//
// Nothing happens before the first GPU call: constructors are trivial, because LD_PRELOAD brings
// the shim into every child (compilers, shells) too. A process without EIDOLON_RUN_DIR has no
// session: GPU calls then answer "no device", and everything else behaves as without the shim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"

namespace eidolon::shim::core {

// One per process, never destroyed (threads may outlive main). All methods are thread safe and
// noexcept.
class Session {
 public:
  // The session, connecting on the first call; nullptr when there is no agent, the agent refused,
  // the process is a fork of one that used GPUs, or the process is being torn down.
  static Session* Get() noexcept;
  // The same for who asks about GPUs without using them (NVML): a fork of a process in which nobody
  // did anything else can have a session of its own.
  static Session* GetForQueries() noexcept;
  // Returns whether Get() gave one.
  static bool UsesGpus() noexcept;
  // The session if one exists already; never connects. For time and exit paths.
  static Session* Existing() noexcept;
  // Returns whether the session was requested, which this process remembers whatever came of it.
  static bool WasWanted() noexcept;

  int device_count() const noexcept;
  // Requires: 0 <= device < device_count().
  const ring::DeviceProperties& device(int device) const noexcept;
  const ring::SegmentHeader& header() const noexcept;
  // True while a timeline is made (ring::Cursors::wants_timeline).
  bool wants_timeline() const noexcept;
  // False once the agent was seen to be gone: records are dropped, questions answered kJobEnding.
  bool agent_alive() const noexcept;

  // Appends one record and its tail parts (concatenated), padded to 8 bytes. Fills header.bytes and
  // header.host_clock_ps (the rank clock); the caller has set header.kind and header.device. Blocks
  // while the ring is full. Requires: total size <= ring::kMaxRecordBytes.
  void Append(ring::RecordHeader* record, std::size_t record_bytes,
              std::span<const std::span<const std::byte>> tail = {}) noexcept;

  // Appends a question and waits for its answer. `slot_field` is where the record keeps its slot
  // number. Moves the rank clock to at least value_ps when the reply is a completion time
  // (`advance_clock`) and the thread is a driver. payload, when given, receives up to its size of
  // the reply's payload; `tail` follows the record.
  struct Answer {
    ring::ReplyStatus status = ring::ReplyStatus::kJobEnding;
    std::uint64_t value_ps = 0;
    std::uint64_t extra = 0;
    std::uint32_t payload_bytes = 0;
  };
  Answer Ask(ring::RecordHeader* record, std::size_t record_bytes, std::uint32_t* slot_field,
             bool advance_clock, std::span<std::byte> payload = {},
             std::span<const std::byte> tail = {}) noexcept;
  // Returns how many threads wait for an answer now.
  static int ThreadsAsking() noexcept;
  // The same without those that sleep.
  static int ThreadsAwaitingWork() noexcept;

  // The identifier of a work definition (workload/work.h), defining it in the ring when it is new;
  // 0 when it is too large for a record. Requires: definition is a whole WorkHeader with tail.
  std::uint32_t InternWork(std::span<const std::byte> definition) noexcept;

  // Fresh identifiers, unique in the process, starting at 1.
  std::uint32_t NewId() noexcept;

 private:
  Session() = default;
  static Session* Connect() noexcept;
};

// The process is ending: from now on Get() and Existing() are nullptr and exported calls are
// refused.
void BeginTearDown() noexcept;
bool IsTearingDown() noexcept;

// Counts records of work that the calling thread appended: tells a poll loop from a program that
// works between two queries.
std::uint64_t ThreadWorkCount() noexcept;
// Returns whether this process has begun what is simulated: its first record of work, or its first
// communicator. What it did before is start-up.
bool HasBegun() noexcept;

// Shorthands for the common record shapes.
template <typename Record>
void Append(Session& session, Record record) noexcept {
  session.Append(&record.header, sizeof(record));
}
template <typename Record>
Session::Answer Ask(Session& session, Record record, bool advance_clock,
                    std::span<std::byte> payload = {},
                    std::span<const std::byte> tail = {}) noexcept {
  return session.Ask(&record.header, sizeof(record), &record.slot, advance_clock, payload, tail);
}

}  // namespace eidolon::shim::core
