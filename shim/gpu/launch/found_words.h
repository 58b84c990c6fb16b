// Words that were found in a parameter block: few as a rule, and no allocation then.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace eidolon::shim::gpu {

template <typename Word>
class FoundWords {
 public:
  void Add(const Word& word) {
    if (count_ < few_.size()) {
      few_[count_] = word;
    } else {
      if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
      many_.push_back(word);
    }
    ++count_;
  }
  std::span<const Word> list() const {
    return {count_ <= few_.size() ? few_.data() : many_.data(), count_};
  }

 private:
  std::array<Word, 256> few_;  // Set up to `count_`.
  std::vector<Word> many_;
  std::size_t count_ = 0;
};

}  // namespace eidolon::shim::gpu
