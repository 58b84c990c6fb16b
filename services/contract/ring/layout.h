// The shared memory in which the shim (inside every rank process) and the agent (one per emulated
// server) meet. This header is the whole contract; records are in record.h, definitions in
// contract/workload/work.h.
//
//   run directory of one emulated server (environment variable EIDOLON_RUN_DIR)
//     agent.sock      SOCK_SEQPACKET; a process's shim connects on its first GPU call
//     server.page     link to the agent's memfd with one ServerPage, mapped to read by every
//     process
//                     of the job, also those without a GPU
//
//   handshake:  shim  --- Hello{pid, rank, ...} --->  agent
//               shim  <-- Welcome{} + 2 memfds ------  agent      (or a refusal with a reason)
//   The socket then stays open and silent: its hang-up tells the agent that the process is gone.
//   Cursors::farewell tells how: who says nothing was ended, or has lost its socket and goes on.
//
//   The memfds are a Segment, of this process alone, and the server's Doorbell. No memfd can change
//   its size (file seals): whoever cut it would kill the others that map it. A segment is:
//
//     0         +-----------------------------+
//               | SegmentHeader               |  written by the agent before the handshake ends
//     4096      +-----------------------------+
//               | Cursors: one cache line each|  write position (shim), read position (agent),
//               |                             |  rank clock (shim), clock floor (agent)
//     8192      +-----------------------------+
//               | DeviceProperties[16]        |  what the emulated GPUs answer when asked
//     64 KiB    +-----------------------------+
//               | ReplySlot[256]              |  one per blocked thread; futex words
//     128 KiB   +-----------------------------+
//               | payload area, 256 x 4 MiB   |  reply bytes of slot i (small collectives)
//     1 GiB     +-----------------------------+
//               | ring, kRingBytes            |  records, see record.h
//               +-----------------------------+
//
// Ring: positions are byte counts that only grow; a record lies at position % kRingBytes, is 8-byte
// aligned and never wraps: a kPad record fills the rest. One lock in the shim orders writers; the
// agent is the only reader. The writer publishes by a release store of write_position; the reader
// frees by a release store of read_position. A writer that finds the ring full waits (futex on
// read_position's low word after setting writer_waits): back-pressure, never loss.
//
// Waking the agent: after publishing a record that needs an answer, or when the ring is over a
// quarter full, the shim adds 1 to Doorbell::rings and, if ServerPage::agent_sleeps is set, wakes
// its futex. Plain launches do not ring; the agent also looks at least every millisecond.
//
// Replies: a thread owns a ReplySlot while it waits. It stores kPending, appends a record naming
// the slot, and waits on the futex word `state`. The agent fills value_ps, status, payload_bytes
// and the payload, then stores kReady (release) and wakes the futex.
//
// Damage: the user's program may write here too, by a stray pointer. Whoever reads trusts nothing:
//   * records and answers carry a check (check.h) of their bytes and their place;
//   * header and device properties are copied when the session begins and not read again;
//   * each position and clock is kept by the side that writes it; what stands here is its copy. A
//   read
//     position that the agent did not write, a write position beyond the ring, a floor above its
//     copy and a clock above the shim's own are damage.
// The agent ends the job when it finds damage, or when the shim tells it of some (kDamage).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "services/contract/collective/values.h"
#include "services/contract/ring/device_properties.h"
#include "services/contract/ring/host_costs.h"
#include "services/contract/ring/server_page.h"

namespace eidolon::ring {

inline constexpr int kMaxDevices = 16;
inline constexpr int kReplySlots = 256;
// Largest payload of an answer. The slots' memory is used as far as answers reach.
inline constexpr std::size_t kPayloadBytes = collective::kValueBytesLimit;
inline constexpr std::size_t kRingBytes = 16 << 20;
inline constexpr std::size_t kMaxRecordBytes = kPayloadBytes + (1 << 20);

inline constexpr std::size_t kCursorsOffset = 4096;
inline constexpr std::size_t kDevicesOffset = 8192;
inline constexpr std::size_t kRepliesOffset = 64 << 10;
inline constexpr std::size_t kPayloadsOffset = 128 << 10;
inline constexpr std::size_t kRingOffset = kPayloadsOffset + kReplySlots * kPayloadBytes;
inline constexpr std::size_t kSegmentBytes = kRingOffset + kRingBytes;

// In SegmentHeader::unknown_reads: small kernels are run for their values.
inline constexpr std::uint32_t kComputeValues = 0x100;
// The same: losses, means and norms that nobody computed are plausible ones.
inline constexpr std::uint32_t kPlausibleValues = 0x1000;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t bytes;         // sizeof the segment.
  std::uint32_t process;       // The agent's number for this process.
  std::uint32_t device_count;  // Entries of DeviceProperties that are valid.
  HostModel host_model;
  std::uint32_t strict;  // 1: the first refused call ends the process with a clear message.
  // Measured model only: the target's processor relative to the one of services/base/host_speed,
  // or, if speed_ratio is above zero, relative to this machine's.
  double target_speed;
  double speed_ratio;
  HostCosts host_costs;
  std::uint64_t start_clock_ps;  // The rank clock when the session begins.
  std::int64_t epoch_unix_ns;    // Wall-clock time at virtual time 0; the same for all of a job.
  std::uint32_t driver_version;  // As cuDriverGetVersion: 13020.
  std::uint32_t nccl_version;    // As ncclGetVersion: 23007.
  char driver_name[32];          // As NVML: "580.82.07".
  std::uint32_t nccl_channels;   // Channels per communicator, for buffer memory.
  // Policy for host reads of unknown values: 0 zero, 1 one; kComputeValues and others may be added.
  std::uint32_t unknown_reads;
  // Ranks of a folded job: most of them have no process, and communicators name their members. 0:
  // all ranks run.
  std::uint32_t folded_ranks;
  std::uint32_t reserved;
};
static_assert(sizeof(SegmentHeader) <= kCursorsOffset);

struct alignas(64) Cursor {
  std::atomic<std::uint64_t> value;
};

struct Cursors {
  Cursor write_position;  // Shim.
  Cursor read_position;   // Agent.
  Cursor clock_ps;        // Shim: the rank clock; grows only. Read by the agent for the horizon.
  Cursor floor_ps;  // Agent: the clock must be at least this at the next call (after a wait that
                    // the agent released because the whole job was idle).
  Cursor floor_copy_ps;  // Agent: raised before the floor, so never below it.
  alignas(64) std::atomic<std::uint32_t> writer_waits;  // A writer sleeps on read_position.
  alignas(64) std::atomic<std::uint32_t> farewell;      // Farewell; shim.
  // Agent: 1 while a timeline is made, for which calls tell their line (python_line.h) and
  // allocators their blocks (memory_block.h).
  alignas(64) std::atomic<std::uint32_t> wants_timeline;
};
static_assert(kCursorsOffset + sizeof(Cursors) <= kDevicesOffset);

// How a process goes, told before it does.
enum class Farewell : std::uint32_t {
  kNone = 0,
  kEnded = 1,     // It ends by itself: exit, _exit, the end of main.
  kReplaced = 2,  // Another program takes its place (exec).
};

enum class SlotState : std::uint32_t { kFree = 0, kPending = 1, kReady = 2 };

enum class ReplyStatus : std::uint32_t {
  kOk = 0,
  kNotReady = 1,         // Queries: the work is not complete at the asking clock.
  kInvalid = 2,          // The record named something unknown.
  kCollectiveError = 3,  // The communicator failed (mismatch, lost rank); payload holds a sentence.
  kJobEnding = 4,        // The job is being ended; the caller should return an error and stop.
};

struct alignas(64) ReplySlot {
  std::atomic<std::uint32_t> state;  // SlotState; futex word.
  ReplyStatus status;
  std::uint64_t value_ps;       // Completion time, or elapsed picoseconds (as int64).
  std::uint64_t extra;          // Meaning depends on the request; see record.h.
  std::uint32_t payload_bytes;  // Bytes in the payload area of this slot.
  std::uint64_t check;          // ReplyCheck (check.h) of an answer, never 0; 0 while asking.
};
static_assert(sizeof(ReplySlot) == 64);
static_assert(kRepliesOffset + kReplySlots * sizeof(ReplySlot) <= kPayloadsOffset);

// Typed views into a mapped segment. Requires: base points to kSegmentBytes mapped bytes.
inline SegmentHeader* HeaderOf(void* base) { return static_cast<SegmentHeader*>(base); }
inline Cursors* CursorsOf(void* base) {
  return reinterpret_cast<Cursors*>(static_cast<char*>(base) + kCursorsOffset);
}
inline DeviceProperties* DevicesOf(void* base) {
  return reinterpret_cast<DeviceProperties*>(static_cast<char*>(base) + kDevicesOffset);
}
inline ReplySlot* RepliesOf(void* base) {
  return reinterpret_cast<ReplySlot*>(static_cast<char*>(base) + kRepliesOffset);
}
inline char* PayloadOf(void* base, int slot) {
  return static_cast<char*>(base) + kPayloadsOffset +
         static_cast<std::size_t>(slot) * kPayloadBytes;
}
inline char* RingOf(void* base) { return static_cast<char*>(base) + kRingOffset; }

}  // namespace eidolon::ring
