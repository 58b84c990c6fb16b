// The control flow of a translated kernel: its basic blocks, who follows whom, and where ways that
// parted meet again for sure.
//
// A call leads behind itself; what it calls hangs beside (FlowBlock::callee) and ends at the
// kernel's end. Indirect branches lead where the compiler says (Program::indirect_targets); where
// it does not, to every address that the kernel's jump tables (constant bank 2) hold, or
// everywhere: more ways than there are, never fewer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

struct FlowBlock {
  std::uint32_t begin = 0;  // Steps [begin, end).
  std::uint32_t end = 0;
  std::vector<std::uint32_t> next;  // Blocks; flow.exit() for the kernel's end.
  bool decides = false;             // More than one way on: the last step's operands choose.
  bool joins = false;               // More than one way here.
  std::uint32_t callee = kNoBlock;  // Its last step calls the function that starts there.
  bool returns = false;             // Its last step returns to where its function was called.
};

// Stands for a step behind the kernel's end.
inline constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

// Direction that a branch, or an exit under a guard, takes in every thread of a launch.
struct Decision {
  std::uint32_t step = 0;
  std::uint32_t next = 0;  // The step that follows; kNoStep for an exit that is taken.
  bool operator==(const Decision&) const = default;
};

// Actions of a block of a launch with one content of memory.
struct BlockTrace {
  std::uint64_t block = 0;
  std::vector<std::uint32_t> ran;   // Last steps of blocks of the flow, ascending.
  std::vector<Decision> decisions;  // Of those, by step, where all threads went one way.
};

class Flow {
 public:
  // Builds the flow without the ways that the decided branches do not take.
  explicit Flow(const Program& program, std::span<const Decision> decisions = {});

  const std::vector<FlowBlock>& blocks() const { return blocks_; }
  std::uint32_t BlockOf(std::uint32_t step) const { return block_of_[step]; }
  // The last step of each block.
  std::vector<std::uint32_t> Ends() const;
  // The blocks behind a block, which decides, where all its ways but the one to `taken` lead before
  // they meet that one.
  std::vector<bool> PassedBy(std::uint32_t block, std::uint32_t taken) const;
  // The number that stands for the kernel's end.
  std::uint32_t exit() const { return static_cast<std::uint32_t>(blocks_.size()); }
  // The blocks of the function that starts at a block, and of those that it calls.
  std::vector<std::uint32_t> BodyOf(std::uint32_t entry) const;
  // The blocks that run, or run as often as they do, because of the way that a block took: those
  // behind it and before all its ways have met, functions that they call included.
  std::vector<std::uint32_t> DecidedBy(std::uint32_t block) const;
  // Those of DecidedBy where the block's way decides which way they were come by: several of its
  // ways lead there, or it decides how often.
  std::vector<std::uint32_t> ChosenBy(std::uint32_t block) const;
  // A way leads from it back to it.
  bool IsInLoop(std::uint32_t block) const;
  // Returns where all ways of a block have met: exit() when only there, or never.
  std::uint32_t MeetingOf(std::uint32_t block) const;

 private:
  // The blocks that ways from `open` lead to, calls included, but for those already seen.
  std::vector<std::uint32_t> Reach(std::vector<std::uint32_t> open, std::vector<bool>& seen) const;
  void Split(const Program& program);
  void Connect(const Program& program);
  void Decide(const Decision& decision);
  void FindMeetings();

  std::vector<FlowBlock> blocks_;
  std::vector<std::uint32_t> block_of_;  // By step.
  std::vector<std::uint32_t> meeting_;   // By block: the first that all ways lead through.
};

}  // namespace eidolon::interpret
