// Warps of small launches that find out that they have nothing to do: a kernel of 128 threads has
// three of them for ten elements. They touch no memory, so all that they do follows from the code,
// the shape and the words of the parameters that they read: where those are the same again, such
// warps need not run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace eidolon::interpret {

// Result of one launch. Warps count through the blocks, 64 at most.
struct IdleMemo {
  struct Word {
    std::uint32_t number = 0;  // Among the parameters.
    std::uint32_t value = 0;
  };
  std::uint64_t warps = 0;  // A bit for each one that was idle.
  std::size_t parameter_bytes = 0;
  std::vector<Word> words;  // That these read.
  std::uint64_t warp_steps = 0;
  std::uint64_t lane_steps = 0;
};

// Idle warps of launches of one program with one shape, whose owner keeps it. Not thread safe.
class IdleWarps {
 public:
  static constexpr std::uint64_t kMostWarps = 64;  // Of a launch.

  // The memo that holds for such parameters; null: none does.
  const IdleMemo* Find(std::span<const std::byte> parameters);
  // False when launches taught nothing for long.
  bool is_worth_learning() const { return attempts_left_ != 0; }
  void Add(IdleMemo memo);

 private:
  static constexpr unsigned kMostAttempts = 16;

  std::array<IdleMemo, 4> memos_;
  std::size_t next_ = 0;  // To be replaced.
  unsigned attempts_left_ = kMostAttempts;
};

// The word of four bytes of this number; what lies behind the parameters is zero.
std::uint32_t ParameterWord(std::span<const std::byte> parameters, std::size_t number);

}  // namespace eidolon::interpret
