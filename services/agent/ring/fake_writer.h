// Writes records into a segment as the shim does, for tests and benchmarks of the agent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/check.h"
#include "services/contract/ring/check.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/work.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// One writer of one mapped segment. Never waits for space: CHECKs that there is some.
class FakeWriter {
 public:
  explicit FakeWriter(void* segment) : segment_(segment) {}

  void SetClock(std::uint64_t clock_ps) {
    clock_ps_ = clock_ps;
    wire::CursorsOf(segment_)->clock_ps.value.store(clock_ps, std::memory_order_release);
  }

  // Appends a record of the kind, with the clock set before, and its tail.
  template <typename T>
  void Append(wire::RecordKind kind, T record, std::span<const std::byte> tail = {}) {
    const std::size_t bytes = (sizeof(T) + tail.size() + 7) / 8 * 8;
    record.header.bytes = static_cast<std::uint32_t>(bytes);
    record.header.kind = kind;
    record.header.host_clock_ps = clock_ps_;
    std::vector<std::byte> whole(bytes);
    std::memcpy(whole.data(), &record, sizeof(T));
    if (!tail.empty()) std::memcpy(whole.data() + sizeof(T), tail.data(), tail.size());
    AppendRaw(whole);
  }

  // Appends a record's bytes with their check, behind a pad when they would wrap.
  void AppendRaw(std::span<const std::byte> bytes) {
    std::vector<std::byte> record(bytes.begin(), bytes.end());
    CHECK(record.size() >= sizeof(wire::RecordHeader) && record.size() % 8 == 0);
    const std::size_t contiguous = wire::kRingBytes - position_ % wire::kRingBytes;
    const std::uint64_t position = position_ + (record.size() > contiguous ? contiguous : 0);
    const std::uint64_t check = wire::RecordCheck(position, record.data(), record.size());
    std::memcpy(record.data() + offsetof(wire::RecordHeader, check), &check, sizeof(check));
    AppendDamaged(record);
  }
  // Appends bytes as they are.
  void AppendDamaged(std::span<const std::byte> bytes) {
    const std::size_t contiguous = wire::kRingBytes - position_ % wire::kRingBytes;
    if (bytes.size() > contiguous) {
      const wire::RecordHeader pad{static_cast<std::uint32_t>(contiguous), wire::RecordKind::kPad,
                                   0, 0};
      Put(std::as_bytes(std::span(&pad, 1)).first(std::min(contiguous, sizeof(pad))));
      position_ += contiguous;
    }
    Put(bytes);
    position_ += bytes.size();
    auto& cursors = *wire::CursorsOf(segment_);
    // A test may have written over the other position.
    const std::uint64_t read = cursors.read_position.value.load();
    CHECK(read > position_ || position_ - read <= wire::kRingBytes);
    cursors.write_position.value.store(position_, std::memory_order_release);
  }

  // A copy definition: the smallest valid work. Different sizes are different works.
  void DefineCopy(std::uint32_t work, workload::CopyKind kind, std::uint64_t bytes) {
    workload::Copy copy{};
    copy.header = {workload::WorkKind::kCopy, sizeof(copy)};
    copy.kind = kind;
    copy.bytes = copy.row_bytes = bytes;
    copy.peer_device = -1;
    DefineWork(work, std::as_bytes(std::span(&copy, 1)));
  }

  // A kernel without parameters that fills the GPU.
  void DefineKernel(std::uint32_t work, std::string_view name, std::uint32_t blocks = 4096) {
    workload::Kernel kernel{};
    kernel.grid = {blocks, 1, 1};
    kernel.block = {256, 1, 1};
    kernel.blocks_per_multiprocessor = 8;
    kernel.name_bytes = static_cast<std::uint32_t>(name.size());
    kernel.header = {workload::WorkKind::kKernel,
                     static_cast<std::uint32_t>(sizeof(kernel) + name.size())};
    std::vector<std::byte> whole(sizeof(kernel) + name.size());
    std::memcpy(whole.data(), &kernel, sizeof(kernel));
    std::memcpy(whole.data() + sizeof(kernel), name.data(), name.size());
    DefineWork(work, whole);
  }

  void DefineWork(std::uint32_t work, std::span<const std::byte> definition) {
    wire::DefineWork record{};
    record.work = work;
    record.definition_bytes = static_cast<std::uint32_t>(definition.size());
    Append(wire::RecordKind::kDefineWork, record, definition);
  }

  void Launch(std::uint32_t stream, std::uint32_t work) {
    Append(wire::RecordKind::kLaunch, wire::LaunchRecord{{}, stream, work});
  }

  // Asks a question in the given slot.
  void Ask(wire::RecordKind kind, std::uint32_t slot, std::uint64_t id, std::uint64_t id2 = 0,
           bool observer = false) {
    Pend(slot);
    Append(kind, wire::WaitRecord{{}, slot, observer ? 1u : 0u, id, id2});
  }
  void Pend(std::uint32_t slot) {
    SlotOf(slot).state.store(static_cast<std::uint32_t>(wire::SlotState::kPending));
  }

  wire::ReplySlot& SlotOf(std::uint32_t slot) { return wire::RepliesOf(segment_)[slot]; }
  bool IsAnswered(std::uint32_t slot) {
    return SlotOf(slot).state.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(wire::SlotState::kReady);
  }
  std::uint64_t position() const { return position_; }
  void set_position(std::uint64_t position) { position_ = position; }

 private:
  void Put(std::span<const std::byte> bytes) {
    std::memcpy(wire::RingOf(segment_) + position_ % wire::kRingBytes, bytes.data(), bytes.size());
  }

  void* segment_;
  std::uint64_t clock_ps_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace eidolon::agent::ring
