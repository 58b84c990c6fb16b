// Identifies launched work, whatever number this process gave it: by the hash of its definition,
// which is the same in all ranks of a job that launch the same.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::core {

// Thread safe. Of more works than it holds, old ones lose their identity to new ones.
class WorkIdentities {
 public:
  void Note(std::uint32_t work, std::uint64_t identity) noexcept {
    identities_[work % kHeld].store(identity, std::memory_order_relaxed);
  }
  // 0 for a work that was never noted.
  std::uint64_t Of(std::uint32_t work) const noexcept {
    return identities_[work % kHeld].load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kHeld = std::size_t{1} << 16;
  std::array<std::atomic<std::uint64_t>, kHeld> identities_{};
};

}  // namespace eidolon::shim::core
