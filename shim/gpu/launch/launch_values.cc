// The interpreter needs to know where memory is, and this is where it learns of the emulated
// address space: what is a device address, what one pointer may lead to, and a version that changes
// with allocations. A pointer's reach is the reservation and not the single mapping, since a kernel
// may run over the seams of PyTorch's expandable segments. Without values the launch counts as
// having written wherever its pointers lead, and the table of authors notes the kernel for each of
// them.
#include "shim/gpu/launch/launch_values.h"

#include <cstring>
#include <optional>

#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/virtual_memory.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

// Reducing a few sizes takes a block or two; joining bytes takes some blocks for each
// multiprocessor, most threads of which have nothing to do.
constexpr std::uint64_t kTinyThreads = 1 << 18;

interpret::Dims ToDims(const workload::Dim3& dims) { return {dims.x, dims.y, dims.z}; }

compute::RecordedShape ToRecorded(const LaunchShape& shape) {
  return {.grid = ToDims(shape.grid),
          .block = ToDims(shape.block),
          .dynamic_shared_bytes = static_cast<std::uint32_t>(shape.dynamic_shared_bytes),
          .cooperative = shape.cooperative};
}

// All that one pointer may lead to: an allocation, or the reservation that mappings lie in.
std::optional<compute::Arena::Range> FindBuffer(std::uint64_t address) {
  auto extent = FindReservation(address);
  if (!extent) extent = FindExtent(address);
  if (!extent) return std::nullopt;
  return compute::Arena::Range(extent->begin, extent->begin + extent->bytes);
}

// The emulated GPUs of a process are all alike.
cubin::Capability TheCapability() {
  const ring::DeviceProperties& properties = PropertiesOf(0);
  return {properties.compute_major, properties.compute_minor};
}

std::optional<compute::Arena::Range> FindHost(std::uint64_t address) {
  const auto range = FindHostRange(reinterpret_cast<const void*>(address));
  if (!range) return std::nullopt;
  return compute::Arena::Range(range->begin, range->begin + range->bytes);
}

constexpr compute::Arena kArena{
    .begin = kArenaBegin,
    .holds = HoldsDeviceAddress,
    .find_buffer = FindBuffer,
    .find_host = FindHost,
    .version = [] { return arena_version.load(std::memory_order_acquire); }};

// True when a word points into memory of the host that kernels reach.
bool ReachesHost(std::span<const std::byte> block) {
  for (std::size_t at = 0; at + 8 <= block.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, block.data() + at, sizeof(word));
    if (FindHostRange(reinterpret_cast<const void*>(word)).has_value()) return true;
  }
  return false;
}

}  // namespace

bool MustRecord() noexcept { return compute::IsOn(); }

bool IsTiny(const Kernel& kernel, const LaunchShape& shape) noexcept {
  const compute::RecordedShape whole = ToRecorded(shape);
  const compute::RecordedShape recorded = kernel.joins_tensors ? compute::OneRow(whole) : whole;
  return compute::IsSmall(recorded) &&
         recorded.grid.volume() * recorded.block.volume() <= kTinyThreads;
}

bool MayLeadToValue(std::uint64_t pointer) noexcept {
  return value::ProcessStore().MayHold(pointer) || value::ProcessPending().waiting() != 0;
}

void LaunchNote::Add(std::uint64_t pointer) {
  value::ProcessPending().NoteKernelPointer(pointer);
  if (count_ != 0 && kernel_.writes_first_only) return;
  value::AuthorTable& authors = value::ProcessStore().authors();
  if (count_ == 0) {
    origin_.author = kernel_.author;
    origin_.call = authors.NextCall(kernel_.author);
  }
  origin_.pointer = count_++;
  origin_.begin = pointer;
  authors.Note(origin_);
}

void RecordLaunch(const Kernel& kernel, int device, const LaunchShape& shape, std::uint32_t work,
                  const compute::RecordedParameters& parameters) {
  compute::Record({.image = kernel.library->image(),
                   .name = kernel.name,
                   .device = TheCapability(),
                   .shown = kernel.library->ShownOn(device),
                   .writes_first_only = kernel.writes_first_only,
                   .joins_tensors = kernel.joins_tensors,
                   .writes_its_buffers_only = !MustRecord()},
                  ToRecorded(shape), work, parameters, kArena);
  // Nothing else is put off where values are off, and nothing has to wait behind this. Memory of
  // the host is not put off either: the program may write there once a GPU would have read it, and
  // looks there without asking.
  if (!MustRecord() || ReachesHost(parameters.block)) value::ProcessPending().PerformReady();
}

void RecordLaunch(const Kernel& kernel, int device, const LaunchShape& shape, std::uint32_t work,
                  std::span<const std::byte> parameters) {
  const compute::LaunchPointers pointers(parameters, kArena);
  RecordLaunch(kernel, device, shape, work, {.block = parameters, .pointers = pointers.list});
}

}  // namespace eidolon::shim::gpu
