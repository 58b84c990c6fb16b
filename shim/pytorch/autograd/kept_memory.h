// Tracks the memory that forward passes of PyTorch leave for backward passes: blocks of its
// allocator that were taken outside of backward passes and that a backward pass releases. How much
// that is at most.
//
// A block shows that it was kept only when it goes. So the table counts by backward passes: when
// one begins, every block that is there may have been kept for it, and counts for it as soon as it
// is given back by this or a later one. Blocks only grow in number before a backward pass begins
// and shrink while it runs, also where backward passes of several parts of a batch take turns.
//
//   forward         backward 1        forward         backward 2
//   a+  b+  c+  c-  |  b-             d+              |  d-  a-
//                   1: a + b                          2: a + d
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace eidolon::shim::autograd {

// Memory of one GPU. Not thread safe.
class KeptMemory {
 public:
  // A block taken outside of backward passes. Ends the backward pass that ran.
  void Take(std::uint64_t address, std::uint64_t bytes);
  // A backward pass takes or gives back a block; the first time, it begins.
  void NoteBackward();

  // Returns the size of a block that Take has recorded.
  std::optional<std::uint64_t> BytesOf(std::uint64_t address) const;
  // The block is given back. `kept`: by a backward pass, for which it was kept.
  void GiveBack(std::uint64_t address, bool kept);

  // The most that was kept for one backward pass, once that has ended; nothing when it was told
  // before.
  std::optional<std::uint64_t> News();

 private:
  // Blocks may be kept over so many passes; what stays longer counts for the last ones.
  static constexpr std::size_t kPasses = 256;

  struct Block {
    std::uint64_t bytes = 0;
    std::uint64_t first_pass = 0;  // That may use it.
  };

  std::unordered_map<std::uint64_t, Block> blocks_;
  std::array<std::uint64_t, kPasses> kept_{};  // Bytes, by number of backward pass.
  std::uint64_t pass_ = 0;                     // The last one that began.
  bool in_pass_ = false;
  std::uint64_t most_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace eidolon::shim::autograd
