#include "services/agent/clock/host_costs.h"

#include <cmath>
#include <cstdint>

namespace eidolon::agent::clock {

::eidolon::ring::HostCosts FixedHostCosts(double speed) {
  using ::eidolon::ring::CallClass;
  constexpr std::uint64_t kMicrosecond = 1'000'000;
  ::eidolon::ring::HostCosts costs{};
  const auto set = [&](CallClass call, std::uint64_t ps) { costs.ps[static_cast<int>(call)] = ps; };
  // Python, dispatcher and TensorIterator take 3 to 4 us an eager operator, cudaLaunchKernel 1.5 to
  // 2 us.
  set(CallClass::kLaunch, 5 * kMicrosecond);
  // As a launch, plus the library's choice of a kernel.
  set(CallClass::kLibrary, 8 * kMicrosecond);
  // ProcessGroupNCCL's bookkeeping (work object, events, flight recorder) and NCCL's enqueue.
  set(CallClass::kCollective, 25 * kMicrosecond);
  // Tensor.copy_ and cudaMemcpyAsync.
  set(CallClass::kCopy, 6 * kMicrosecond);
  // Event record and wait: about 1 us in the driver.
  set(CallClass::kStream, kMicrosecond);
  // cudaMalloc and cudaFree enter the kernel; the caching allocator makes them rare.
  set(CallClass::kAllocation, 60 * kMicrosecond);
  // The call itself, without the waiting.
  set(CallClass::kSynchronize, 2 * kMicrosecond);
  set(CallClass::kEventQuery, 2 * kMicrosecond);
  set(CallClass::kGraph, 12 * kMicrosecond);
  // Loading a cubin or looking up a function for the first time.
  set(CallClass::kModule, 20 * kMicrosecond);
  set(CallClass::kQuery, kMicrosecond / 5);
  // Tens of nanoseconds each. PyTorch calls these thousands of times a step, and its watchdog gives
  // events back to a cache in real time, so that their number need not be the same in every run.
  set(CallClass::kThreadState, 0);
  for (std::uint64_t& ps : costs.ps) {
    ps = static_cast<std::uint64_t>(std::llround(static_cast<double>(ps) / speed));
  }
  return costs;
}

}  // namespace eidolon::agent::clock
