// Weights that were filled with random numbers are mostly overwritten unread, so running such a
// launch at once would be wasted. A launch may only wait if it reads no memory, because memory
// changes meanwhile, and if its place is known well enough that later writes can be taken out of
// it. Three checks show this: the code reaches one bounded buffer through one pointer, the first
// blocks run on a store without any value and read nothing, and no reachable instruction reads
// global memory. The tried blocks may use their share of the launch's limit of steps, so an unread
// launch can be expected to come to its end.
#include "shim/value/compute/unread_launch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/machine_code/interpret/stores.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/compute/page_memory.h"
#include "shim/value/compute/reachable_stores.h"
#include "shim/value/compute/trace.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::size_t kTriedBlocks = 8;
constexpr std::uint64_t kFewestBlocks = 8 * kTriedBlocks;
constexpr std::uint64_t kFewestThreads = 1 << 14;

// Nothing is known in it.
const value::Store& Nothing() {
  static const auto* const nothing = new value::Store;
  return *nothing;
}

class UnreadLaunch : public value::UnreadResult {
 public:
  UnreadLaunch(const interpret::Program& program, const interpret::Launch& launch,
               std::string_view name, const Arena& arena, const interpret::Limits& limits)
      : program_(program),
        parameters_(launch.parameters.begin(), launch.parameters.end()),
        launch_(launch),
        name_(name),
        arena_(arena),
        limits_(limits) {
    launch_.parameters = parameters_;
  }

  bool Compute(const Give& give) override {
    PageStock stock;
    PageMemory memory(Nothing(), arena_, stock);
    const interpret::Outcome outcome = interpret::Run(program_, launch_, memory, limits_);
    Trace(name_, outcome);
    if (outcome.stop != interpret::Stop::kNone) return false;
    for (const auto& [begin, end] : memory.Written()) {
      give(begin, memory.BytesAt(begin), end - begin);
    }
    return true;
  }

 private:
  const interpret::Program& program_;
  const std::vector<std::byte> parameters_;
  interpret::Launch launch_;
  const std::string_view name_;
  const Arena& arena_;
  const interpret::Limits limits_;
};

// Returns where the launch may write: from its only written pointer on, to the end of what that
// leads to.
std::optional<Arena::Range> RangeOf(const Learning& learning, const Arena& arena) {
  const std::size_t count = learning.pointers.list.size();
  const std::vector<std::uint32_t> written = WrittenPointers(learning.stores, count);
  if (written.size() != 1 || written[0] >= count) return std::nullopt;
  if (!AreBounded(learning.stores) || WritesVariables(learning.stores)) return std::nullopt;
  const std::uint64_t begin = learning.pointers.list[written[0]].address;
  const auto buffer = arena.find_buffer(begin);
  if (!buffer || begin >= buffer->second) return std::nullopt;
  return Arena::Range(begin, buffer->second);
}

// Returns where the launch's writes end, seen from its first blocks, none of which writes less than
// a later one: behind as many bytes as all blocks write if each writes as much, or at the range's
// end where they leave gaps or write nothing. Nothing where these blocks read memory, write
// elsewhere, or foretell a launch beyond the limits.
std::optional<std::uint64_t> EndOfWrites(const Learning& learning, const Arena& arena,
                                         const Arena::Range& range,
                                         const interpret::Limits& limits) {
  std::array<std::uint64_t, kTriedBlocks> blocks;
  std::iota(blocks.begin(), blocks.end(), std::uint64_t{0});
  interpret::Launch launch = learning.launch;
  launch.blocks = blocks;
  const interpret::Limits tried{.warp_steps =
                                    limits.warp_steps * kTriedBlocks / launch.grid.volume()};
  PageStock stock;
  PageMemory memory(Nothing(), arena, stock);
  if (interpret::Run(learning.program, launch, memory, tried).stop != interpret::Stop::kNone ||
      !memory.Read().empty()) {
    return std::nullopt;
  }
  std::uint64_t bytes = 0, last = range.first;
  for (const auto& [begin, end] : memory.Written()) {
    if (begin < range.first || end > range.second) return std::nullopt;
    bytes += end - begin;
    last = std::max(last, end);
  }
  const std::uint64_t all = bytes * ((launch.grid.volume() + kTriedBlocks - 1) / kTriedBlocks);
  const std::uint64_t end = range.first + all;
  return bytes > 0 && last <= end && end <= range.second ? end : range.second;
}

}  // namespace

bool PutOff(const Learning& learning, std::string_view name, const Arena& arena,
            const interpret::Limits& limits, KernelExperience& kernel, value::Store& store) {
  const interpret::Launch& launch = learning.launch;
  const std::uint64_t blocks = launch.grid.volume();
  const bool is_large = blocks >= kFewestBlocks && blocks * launch.block.volume() >= kFewestThreads;
  if (!is_large || launch.cooperative || kernel.may_read_memory) return false;
  const auto range = RangeOf(learning, arena);
  if (!range) return false;
  const auto written_end = EndOfWrites(learning, arena, *range, limits);
  if (!written_end) return false;
  if (!kernel.steady) kernel.steady = interpret::FindSteadyBranches(learning.program);
  Learning steady = learning;
  steady.steady = &*kernel.steady;
  kernel.may_read_memory = MayReadMemory(steady, store);
  return !kernel.may_read_memory &&
         store.WriteUnread(
             range->first, range->second, *written_end,
             std::make_shared<UnreadLaunch>(learning.program, launch, name, arena, limits));
}

}  // namespace eidolon::shim::compute
