#include "shim/core/damage.h"

#include <atomic>

namespace eidolon::shim::core {
namespace {

constinit std::atomic<const char*> finding{nullptr};

}  // namespace

void NoteDamage(const char* what) noexcept {
  const char* none = nullptr;
  finding.compare_exchange_strong(none, what, std::memory_order_acq_rel);
}

const char* NotedDamage() noexcept { return finding.load(std::memory_order_acquire); }

}  // namespace eidolon::shim::core
