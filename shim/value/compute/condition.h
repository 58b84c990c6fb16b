// Words of a parameter block and what they must hold for something that was learned of one launch
// to hold for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace eidolon::shim::compute {

class Condition {
 public:
  struct Word {
    std::uint32_t at;  // Offset in the block.
    std::uint32_t mask;
    std::uint32_t value;
    bool operator==(const Word&) const = default;
  };

  // `read`: a mark for each word of four bytes. Of pointers, whose places are given, only the
  // lowest byte counts: kernels ask how they are aligned.
  Condition(std::span<const std::byte> parameters, std::span<const std::uint8_t> read,
            std::span<const std::uint32_t> places);
  explicit Condition(std::vector<Word> words) : words_(std::move(words)) {}

  // What lies behind the block is zero.
  bool Holds(std::span<const std::byte> parameters) const;

  std::span<const Word> words() const { return words_; }

 private:
  std::vector<Word> words_;
};

}  // namespace eidolon::shim::compute
