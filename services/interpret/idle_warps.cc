#include "services/interpret/idle_warps.h"

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

const IdleLesson* IdleWarps::Find(std::span<const std::byte> parameters) {
  for (const IdleLesson& lesson : lessons_) {
    if (lesson.warps == 0 || lesson.parameter_bytes != parameters.size()) continue;
    const bool holds = std::ranges::all_of(lesson.words, [&](const IdleLesson::Word& word) {
      return ParameterWord(parameters, word.number) == word.value;
    });
    if (!holds) continue;
    attempts_left_ = kMostAttempts;
    return &lesson;
  }
  return nullptr;
}

void IdleWarps::Add(IdleLesson lesson) {
  if (attempts_left_ != 0) --attempts_left_;
  if (lesson.warps == 0) return;
  lessons_[next_] = std::move(lesson);
  next_ = (next_ + 1) % lessons_.size();
}

}  // namespace eidolon::interpret
