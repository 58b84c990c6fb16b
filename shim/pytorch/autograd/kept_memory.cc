#include "shim/pytorch/autograd/kept_memory.h"

#include <algorithm>

namespace eidolon::shim::autograd {

void KeptMemory::Take(std::uint64_t address, std::uint64_t bytes) {
  in_pass_ = false;
  blocks_[address] = {bytes, pass_ + 1};
}

void KeptMemory::NoteBackward() {
  if (in_pass_) return;
  in_pass_ = true;
  ++pass_;
  kept_[pass_ % kPasses] = 0;
}

std::optional<std::uint64_t> KeptMemory::BytesOf(std::uint64_t address) const {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return std::nullopt;
  return found->second.bytes;
}

void KeptMemory::GiveBack(std::uint64_t address, bool kept) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  const Block block = found->second;
  blocks_.erase(found);
  if (!kept) return;
  const std::uint64_t known = pass_ >= kPasses ? pass_ - kPasses + 1 : 1;
  for (std::uint64_t pass = std::max(block.first_pass, known); pass <= pass_; ++pass) {
    std::uint64_t& bytes = kept_[pass % kPasses];
    bytes += block.bytes;
    most_ = std::max(most_, bytes);
  }
}

std::optional<std::uint64_t> KeptMemory::News() {
  if (in_pass_ || most_ == told_) return std::nullopt;
  told_ = most_;
  return told_;
}

}  // namespace eidolon::shim::autograd
