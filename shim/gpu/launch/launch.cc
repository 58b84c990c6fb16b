#include "shim/gpu/launch/launch.h"

#include <algorithm>
#include <span>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/launch/idle_parameters.h"
#include "shim/gpu/launch/kernel_work.h"
#include "shim/gpu/launch/launch_check.h"
#include "shim/gpu/launch/launch_values.h"
#include "shim/gpu/launch/parameter_block.h"
#include "shim/gpu/launch/replay_context.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/torch/optimizer_kernel.h"

namespace eidolon::shim::gpu {
namespace {

// True when the launch is to be recorded; otherwise it is noted.
bool NoteTiny(std::span<const compute::PointerWord> pointers, LaunchNote& note) {
  const auto leads = [](const auto& pointer) { return MayLeadToValue(pointer.address); };
  if (std::ranges::any_of(pointers, leads)) return true;
  for (const auto& pointer : pointers) note.Add(pointer.address);
  return false;
}

}  // namespace

Status LaunchKernel(const Kernel& kernel, const LaunchShape& shape,
                    const LaunchParameters& parameters, StreamHandle handle) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureKernel(*stream, kernel, shape, parameters);
  }
  if (const Status status = CheckLegacyStreamUse(*stream); status != Status::kSuccess)
    return status;
  if (const Status status = CheckShape(kernel, shape); status != Status::kSuccess) return status;
  core::Session* session = core::Session::Get();
  if (session == nullptr) return Status::kNoDevice;
  try {
    ParameterBlock block;
    if (!Gather(kernel, parameters, block)) return Status::kInvalidValue;
    AddGroupedSizes(kernel, shape, block);
    TellOptimizerTensors(*session, kernel, shape.grid.x, {block.bytes, block.size}, stream->device);
    bool recorded = MustRecord();
    const bool tiny = !recorded && IsTiny(kernel, shape);
    const IdleParameters& idle = IdleParametersOf(kernel);
    idle.Clear(block.bytes, shape.grid);
    const bool kept = recorded || tiny || WantsReplays(*session);
    FoundInBlock words;
    LaunchNote note(kernel);
    BlankPointers(block, [&](std::uint32_t at, std::uint64_t address) {
      if (!recorded && !tiny) note.Add(address);
      if (kept) words.pointers.Add({at, address});
    });
    if (tiny) recorded = NoteTiny(words.pointers.list(), note);
    idle.TakeNumbers(block.bytes, words.numbers);
    const KernelWorkResult found =
        FindOrDefine(*session, kernel, shape, block, stream->device, words);
    if (found.status != Status::kSuccess) return found.status;
    if (recorded) {
      RecordLaunch(kernel, stream->device, shape, found.work,
                   {.block = {found.parameters, kernel.row->parameter_bytes},
                    .pointers = words.pointers.list(),
                    .numbers = words.numbers.list(),
                    .block_stays = true});
    }
    ring::LaunchRecord record{};
    record.header.kind = ring::RecordKind::kLaunch;
    record.header.device = RingDevice(stream->device);
    record.stream = stream->id;
    record.work = found.work;
    stream->issued.fetch_add(1, std::memory_order_relaxed);
    core::Append(*session, record);
    return session->agent_alive() ? Status::kSuccess : Status::kUnknown;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

}  // namespace eidolon::shim::gpu
