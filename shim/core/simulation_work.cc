#include "shim/core/simulation_work.h"

#include <atomic>

#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

constinit std::atomic<int> host_functions{0};

}  // namespace

bool SimulationIsAtWork() noexcept {
  return Session::ThreadsAwaitingWork() > 0 || host_functions.load(std::memory_order_acquire) > 0;
}

void NoteHostFunctionQueued() noexcept { host_functions.fetch_add(1, std::memory_order_release); }

void NoteHostFunctionRan() noexcept { host_functions.fetch_sub(1, std::memory_order_release); }

}  // namespace eidolon::shim::core
