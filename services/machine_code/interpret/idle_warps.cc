#include "services/machine_code/interpret/idle_warps.h"

#include <algorithm>
#include <cstring>

namespace eidolon::interpret {

std::uint32_t ParameterWord(std::span<const std::byte> parameters, std::size_t number) {
  std::uint32_t word = 0;
  if (number * 4 >= parameters.size()) return word;
  const std::size_t size = std::min<std::size_t>(4, parameters.size() - number * 4);
  std::memcpy(&word, parameters.data() + number * 4, size);
  return word;
}

const IdleMemo* IdleWarps::Find(std::span<const std::byte> parameters) {
  for (const IdleMemo& memo : memos_) {
    if (memo.warps == 0 || memo.parameter_bytes != parameters.size()) continue;
    const bool holds = std::ranges::all_of(memo.words, [&](const IdleMemo::Word& word) {
      return ParameterWord(parameters, word.number) == word.value;
    });
    if (!holds) continue;
    attempts_left_ = kMostAttempts;
    return &memo;
  }
  return nullptr;
}

void IdleWarps::Add(IdleMemo memo) {
  if (attempts_left_ != 0) --attempts_left_;
  if (memo.warps == 0) return;
  memos_[next_] = std::move(memo);
  next_ = (next_ + 1) % memos_.size();
}

}  // namespace eidolon::interpret
