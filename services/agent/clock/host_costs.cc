// Two host models need different tables. The measured model times the program on this machine, so
// it charges only what the real driver would do within a call that the shim answers at once. The
// fixed model measures nothing, so its costs also stand for the framework's work that leads to a
// call. All values are picoseconds on the reference processor, and each table is divided by the
// speed once, at its end. Calls whose number may differ between two runs of one program cost
// nothing: otherwise the same job would have another length each time.
#include "services/agent/clock/host_costs.h"

#include <cmath>
#include <cstdint>

namespace eidolon::agent::clock {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000'000;

// Work of Python, PyTorch's dispatcher and the framework, on the reference processor. Of four
// training steps timed call by call (GPT-2, ResNet-50, an MLP, a Llama of 1B;
// e2e/measured/h100/calls.jsonl), what the measured model charges for the work between calls that
// give the GPU work is 7.62, 6.36, 3.84 and 21.89 ms: 10.8, 9.2, 5.4 and 9.4 us over the number of
// such calls, and 1.46, 1.85, 1.80 and 1.88 us over 5,221, 3,440, 2,131 and 11,643 operators and
// nodes of backward passes (docs/host_time.md). The shim counts fewer of them with the packages
// that were timed: 4,658, 3,051, 1,976 and 10,413, by which an operator would be 1.94 us.
constexpr std::uint64_t kOperatorWork = 175 * kMicrosecond / 100;
constexpr std::uint64_t kFrameworkWork = 87 * kMicrosecond / 10;

// A Python function, with what it does itself: between the operators of a model 0.34 to 0.59 us on
// a core of 0.88 of the reference's speed, 0.42 in the mean of four kinds of functions
// (e2e/measured/programs/python_functions.py), times the 1.23 by which the measured model, too,
// charges more than the second smallest of many samples. Without the 2,696, 2,257, 915 and 6,532
// functions of those four steps each of the operators that the shim counts is 1.38, 1.75, 1.73 and
// 1.82 us.
constexpr std::uint64_t kFrameWork = 45 * kMicrosecond / 100;
constexpr std::uint64_t kOperatorWorkBesides = 167 * kMicrosecond / 100;

void Scale(double speed, ::eidolon::ring::HostCosts& costs) {
  for (std::uint64_t& ps : costs.ps) {
    ps = static_cast<std::uint64_t>(std::llround(static_cast<double>(ps) / speed));
  }
  for (std::uint64_t* ps : {&costs.operator_ps, &costs.framework_ps, &costs.frame_ps}) {
    *ps = static_cast<std::uint64_t>(std::llround(static_cast<double>(*ps) / speed));
  }
}

}  // namespace

::eidolon::ring::HostCosts FixedHostCosts(double speed) {
  using ::eidolon::ring::CallClass;
  ::eidolon::ring::HostCosts costs{};
  const auto set = [&](CallClass call, std::uint64_t ps) { costs.ps[static_cast<int>(call)] = ps; };
  const ::eidolon::ring::HostCosts driver = DriverHostCosts(1.0);
  for (const CallClass call :
       {CallClass::kLaunch, CallClass::kLibrary, CallClass::kDnn, CallClass::kCopy}) {
    set(call, driver.ps[static_cast<int>(call)]);
  }
  costs.operator_ps = kOperatorWork;
  costs.framework_ps = kFrameworkWork;
  // ProcessGroupNCCL's bookkeeping (work object, events, flight recorder) and NCCL's enqueue.
  set(CallClass::kCollective, 25 * kMicrosecond);
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
  // events back to a cache in real time, so that their number need not be the same in every run;
  // nor is that of the primary context's state, which is asked for before and behind each new
  // event.
  set(CallClass::kThreadState, 0);
  Scale(speed, costs);
  return costs;
}

::eidolon::ring::HostCosts EvenHostCosts(std::uint64_t call_ps, std::uint64_t operator_ps) {
  ::eidolon::ring::HostCosts costs = FixedHostCosts(1.0);
  for (std::uint64_t& ps : costs.ps) {
    if (ps > 0) ps = call_ps;
  }
  costs.operator_ps = costs.framework_ps = operator_ps;
  return costs;
}

::eidolon::ring::HostCosts CountedHostCosts(double speed) {
  ::eidolon::ring::HostCosts costs = FixedHostCosts(1.0);
  costs.operator_ps = kOperatorWorkBesides;
  costs.frame_ps = kFrameWork;
  Scale(speed, costs);
  return costs;
}

// Returns the cost of calls within training steps, with driver 580: launches, libraries and copies
// beside an H100 (e2e/measured/h100/calls.jsonl), where they were timed in eager steps of GPT-2,
// ResNet-50 and an MLP together with the program's own work between them. That work took 1 / 0.41,
// 1 / 0.32 and 1 / 0.49 of what this model charges for it on the reference processor, and so did
// the calls. The others, which are rare there, by calls in a row beside an H200
// (e2e/measured/h200/host.jsonl) on a processor on which the probe of services/base/host_speed
// measures 0.8 to 0.9 of the reference, times 0.85.
::eidolon::ring::HostCosts DriverHostCosts(double speed) {
  using ::eidolon::ring::CallClass;
  ::eidolon::ring::HostCosts costs{};
  const auto set = [&](CallClass call, std::uint64_t ps) { costs.ps[static_cast<int>(call)] = ps; };
  set(CallClass::kLaunch, 23 * kMicrosecond / 10);  // 4.9 to 6.5 us there; in a row 3.2.
  set(CallClass::kLibrary, 8 * kMicrosecond);  // GEMMs: 15 to 20 us, cuBLASLt's choice included.
  set(CallClass::kDnn, 13 * kMicrosecond);     // Convolutions and attention: 34 to 35 us.
  // A launch, and NCCL's plan; by judgement, no collective was measured.
  set(CallClass::kCollective, 8 * kMicrosecond);
  set(CallClass::kCopy, 7 * kMicrosecond);         // 17 us in a step of Llama; in a row 1.3 to 3.9.
  set(CallClass::kStream, 3 * kMicrosecond / 10);  // Records 0.14 to 0.75 us, waits 0.17.
  set(CallClass::kAllocation, 34 * kMicrosecond);  // 2 to 20 MiB, taken and given back: 40 us.
  set(CallClass::kSynchronize, kMicrosecond / 4);  // Of what is idle: 0.2 to 0.3 us.
  set(CallClass::kGraph, 13 * kMicrosecond / 10);  // 1.2 us, of 1000 nodes 2.3.
  set(CallClass::kModule, 2 * kMicrosecond);       // Attributes of a function: 2.4 us.
  // Queries take 0.02 to 0.2 us. How often a program makes them depends on the machine that
  // simulates, so that they are free.
  Scale(speed, costs);
  return costs;
}

}  // namespace eidolon::agent::clock
