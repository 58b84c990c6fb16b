// Memory of the emulated GPUs: addresses without RAM behind them, and the ledger of what is used.
//
//   0x6b01'0000'0000   device 0: reservation for cudaMalloc, 320 GiB, then a gap
//   0x6b81'0000'0000   device 1 ...
//   0x7301'0000'0000   ranges of the virtual-memory API and of IPC, reserved one by one
//   0x7b01'0000'0000   end
//
// As on a real GPU, memory is used in pieces of 2 MiB; allocations up to 1 MiB share such pieces at
// 512-byte alignment. Every change is told to the agent (kMemory), every refusal too
// (kOutOfMemory).
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/ring/record.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

inline constexpr std::uint64_t kGranuleBytes = 2 << 20;

struct MemoryInfo {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};
MemoryInfo GetMemoryInfo(int device) noexcept;

// cudaMalloc. A size of 0 gives address 0 and succeeds. The category is how it appears in the
// ledger.
Status Allocate(int device, std::uint64_t bytes, std::uint64_t* address,
                ring::MemoryCategory category = ring::MemoryCategory::kAllocation) noexcept;
// True for up to 1 MiB that Allocate gave and no allocation of the process had before: drivers
// clear memory before a process gets it.
bool IsCleared(std::uint64_t begin) noexcept;
// Frees what Allocate gave; kInvalidValue for any other address. 0 succeeds.
Status Free(std::uint64_t address) noexcept;

// Memory used without an address that the program sees (context, NCCL buffers, library workspaces).
// A positive delta may be refused with kOutOfMemory.
Status Book(int device, ring::MemoryCategory category, std::int64_t delta) noexcept;
// The device's context, once per process.
Status BookContext(int device) noexcept;
// Tells the agent that `bytes` could not be had.
void ReportOutOfMemory(int device, ring::MemoryCategory category, std::uint64_t bytes) noexcept;

// Tells the agent that the program has kept so much at once for backward passes.
void TellActivations(int device, std::uint64_t bytes) noexcept;

// Ranges of the virtual-memory API and of IPC: addresses only, nothing is booked.
Status ReserveRange(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted,
                    std::uint64_t* address) noexcept;
Status ReleaseRange(std::uint64_t address, std::uint64_t bytes) noexcept;

// Extents that FindExtent finds and that Allocate did not make. Mappings may be used across their
// borders; memory imported from another process is one allocation of it.
enum class ExtentKind { kMapping, kImported };
void AddExtent(const Extent& extent, ExtentKind kind) noexcept;
void RemoveExtent(std::uint64_t begin) noexcept;
// How much of what Allocate gave belongs to the program: a pool hands out a part of it, and nothing
// while it is kept for later. Requires: `begin` is of Allocate, and bytes is no more than it gave.
void ResizeExtent(std::uint64_t begin, std::uint64_t bytes) noexcept;

// True when mappings without a gap hold all of these bytes. Requires: bytes > 0.
bool HoldsMappings(std::uint64_t address, std::uint64_t bytes) noexcept;

// A number for an allocation that no other has had (CU_POINTER_ATTRIBUTE_BUFFER_ID).
std::uint64_t BufferId(std::uint64_t begin) noexcept;

}  // namespace eidolon::shim::gpu
