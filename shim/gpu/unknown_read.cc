#include "shim/gpu/unknown_read.h"

#include <atomic>
#include <cstdint>

#include "services/ring/record.h"
#include "shim/compute/trace.h"
#include "shim/core/session.h"

namespace eidolon::shim::gpu {
namespace {

constinit std::atomic<std::uint64_t> unknown_bytes{0};
constinit std::atomic<std::uint64_t> unknown_reads{0};

}  // namespace

unsigned char UnknownByte() noexcept {
  core::Session* session = core::Session::Existing();
  return session == nullptr ? 0
                            : static_cast<unsigned char>(session->header().unknown_reads & 0xff);
}

void NoteUnknownRead(std::size_t bytes) noexcept {
  if (bytes == 0) return;
  unknown_bytes.fetch_add(bytes, std::memory_order_relaxed);
  unknown_reads.fetch_add(1, std::memory_order_release);
  compute::TraceUnknownRead(bytes);
}

void FlushUnknownReads() noexcept {
  if (unknown_reads.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t reads = unknown_reads.exchange(0, std::memory_order_acquire);
  std::uint64_t bytes = unknown_bytes.exchange(0, std::memory_order_relaxed);
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return;
  // One record for each: how many reads end in one flush depends on when results arrive.
  for (std::uint64_t left = reads; left > 0; --left) {
    ring::MarkRecord record{};
    record.header.kind = ring::RecordKind::kUnknownRead;
    record.id = bytes / left;
    bytes -= record.id;
    core::Append(*session, record);
  }
}

}  // namespace eidolon::shim::gpu
