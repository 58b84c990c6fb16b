#include "shim/core/call_observer.h"

namespace eidolon::shim::core {

constinit std::atomic<CallObserver*> call_observer{nullptr};

void Observe(CallObserver* observer) noexcept {
  call_observer.store(observer, std::memory_order_release);
}

}  // namespace eidolon::shim::core
