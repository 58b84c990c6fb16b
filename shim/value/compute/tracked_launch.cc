// The strict run of a launch ends at the first unknown byte, which costs next to nothing.
// This run comes to the launch's end and takes some times as long, in every step of the program if
// it finds anything, so only small launches get it; and a kernel whose runs yield nothing is given
// up, first with this shape and then with all. Whether it pays is decided before it starts, too: a
// launch with no known byte where its pointers lead can only copy constants.
#include "shim/value/compute/tracked_launch.h"

#include <algorithm>

#include "shim/value/compute/page_memory.h"
#include "shim/value/compute/trace.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kMostTrackedThreads = 1 << 15;
constexpr interpret::Limits kTrackedLimits{.warp_steps = 200'000, .foretold_warp_steps = 400'000};
// Of kernels that join tensors: nearly all of their warps find nothing to do.
constexpr interpret::Limits kTrackedJoinLimits{.warp_steps = 1'000'000};
constexpr std::uint32_t kMostFruitlessOfShape = 2;
constexpr std::uint32_t kMostFruitless = 8;
// So far behind a pointer a known byte is looked for.
constexpr std::uint64_t kNearBytes = 4096;

}  // namespace

bool IsWorthTracking(const KernelExperience& kernel, const ShapeExperience& shape,
                     std::uint64_t threads, const LaunchPointers& pointers,
                     const value::Store& store) {
  // What a guess stands for stays a guess: it is noted for launches that were not run.
  if (kernel.plausible != PlausibleKind::kNone || kernel.writer.only_sorts) return false;
  if (threads > kMostTrackedThreads) return false;
  if (kernel.fruitless_runs >= kMostFruitless || shape.fruitless_runs >= kMostFruitlessOfShape) {
    return false;
  }
  return std::ranges::any_of(pointers.list, [&store](const PointerWord& pointer) {
    return store.MayHold(pointer.address) &&
           store.HasKnown(pointer.address, pointer.address + kNearBytes);
  });
}

void NoteTracked(bool yields, KernelExperience& kernel, ShapeExperience& shape) {
  shape.yields_in_part = yields;
  if (yields) {
    kernel.fruitless_runs = 0;
    shape.fruitless_runs = 0;
  } else {
    ++kernel.fruitless_runs;
    ++shape.fruitless_runs;
  }
}

std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> RunInPart(
    const interpret::Program& program, interpret::Launch launch, const TrackedKernel& kernel,
    const Arena& arena, value::Store& store) {
  static auto* const stock = new PageStock;                 // Under Pending's lock.
  static auto* const workspace = new interpret::Workspace;  // The same.
  PageMemory memory(store, arena, *stock);
  launch.tracks_unknown = true;
  launch.idle = nullptr;
  const interpret::Outcome outcome =
      interpret::Run(program, launch, memory,
                     kernel.joins_tensors ? kTrackedJoinLimits : kTrackedLimits, *workspace);
  Trace(kernel.name, outcome);
  if (outcome.stop != interpret::Stop::kNone || memory.WrittenAnd(true).empty()) {
    return std::nullopt;
  }
  memory.CommitInPart(value::InternAuthor(kernel.name), store);
  return memory.WrittenAnd(false);
}

}  // namespace eidolon::shim::compute
