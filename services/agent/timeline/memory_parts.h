// Determines what lies in the memory of a process's GPUs over time: parameters, gradients, the
// optimizer's state and activations, by the blocks of PyTorch's allocator.
//
// What a block is shows late: parameters when the optimizer first updates them, activations when a
// backward pass gives them back. So blocks are kept from when they are taken until the timeline is
// written; of those that went, the ones that turned out to be one of these alone.
//
// The report tells the same parts (docs/how-to/read_a_report.md), by the same signs: what the
// optimizer's kernels list, by the bytes of tensors, and the blocks that backward passes give back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/ring/memory_block.h"

namespace eidolon::agent::timeline {

// A place in the process's program: `order` counts what concerns memory, `sequence` is the next
// operation's.
struct MemoryMoment {
  base::SimTime at;
  std::uint64_t sequence = 0;
  std::uint64_t order = 0;
};

// Bytes booked on a device, by category.
struct MemoryUse {
  std::uint16_t device = 0;
  base::SimTime at;
  std::uint64_t sequence = 0;
  std::int64_t allocations = 0;
  std::int64_t workspace = 0;
  std::int64_t nccl = 0;
  std::int64_t context = 0;
  std::uint64_t order = 0;  // Of the MemoryMoment; the recorder's.
};

struct MemoryPart {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer_state = 0;
  std::int64_t activations = 0;

  std::int64_t sum() const { return parameters + gradients + optimizer_state + activations; }
  bool operator==(const MemoryPart&) const = default;
};
MemoryPart operator+(const MemoryPart& a, const MemoryPart& b);
MemoryPart operator-(const MemoryPart& a, const MemoryPart& b);

// Limits of what is kept of blocks that went and of the optimizer's tensors. Those that are beyond
// are left out, or the oldest forgotten for them.
struct MemoryRoom {
  std::size_t most = 0;
  bool forgets_oldest = false;
};

// One process. Main loop only. Memory is bounded: at most kBlocksMax blocks that are there,
// kTensorsMax tensors in them, and what a MemoryRoom allows.
class MemoryParts {
 public:
  static constexpr std::size_t kBlocksMax = 1 << 20;
  static constexpr std::size_t kTensorsMax = 1 << 20;

  void NoteBlock(const ::eidolon::ring::MemoryBlockRecord& record, const MemoryMoment& moment,
                 const MemoryRoom& room);
  // Called before operation `sequence`, which works on it.
  void NoteTensor(std::uint16_t device, const ::eidolon::ring::OptimizerTensor& tensor,
                  std::uint64_t sequence, const MemoryRoom& room);

  // Forgets what ended before this operation.
  void DropBefore(std::uint64_t sequence);

  // A change of what lies on a device.
  struct Change {
    std::uint16_t device = 0;
    MemoryMoment moment;
    MemoryPart added;
  };
  // Returns changes in the order of the program, up to operation `end`. Where the optimizer's
  // kernels between `first` and `end` did not update as much as they read of gradients, something
  // else was taken for an optimizer, and only activations are reported.
  std::vector<Change> Changes(std::uint64_t first, std::uint64_t end) const;
  // Returns whether there were any blocks.
  bool has_blocks() const { return has_blocks_; }

 private:
  using Place = std::pair<std::uint16_t, std::uint64_t>;  // Device, address.
  struct Tensor {
    std::uint64_t bytes = 0;
    ::eidolon::ring::TensorRole role{};
  };
  struct Block {
    Place place;
    std::uint64_t bytes = 0;
    MemoryMoment taken;
    MemoryMoment gone;  // Of those that went.
    bool is_activation = false;
    std::map<std::uint64_t, Tensor> tensors;  // By address.
  };
  // Tensor that an optimizer's kernel worked on.
  struct Use {
    std::uint64_t sequence = 0;
    Place place;
    Tensor tensor;
  };

  void End(Block block, const MemoryRoom& room);
  template <typename Kept>
  bool HasRoom(std::deque<Kept>* kept, const MemoryRoom& room);
  bool UsesFit(std::uint64_t first, std::uint64_t end) const;
  static MemoryPart PartOf(const Block& block, bool with_tensors);

  std::map<Place, Block> there_;
  std::deque<Block> gone_;  // In the order in which they went.
  std::deque<Use> uses_;
  std::size_t tensors_ = 0;
  bool has_blocks_ = false;
};

}  // namespace eidolon::agent::timeline
