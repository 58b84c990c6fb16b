// How the program's own work moves the rank clock (see docs/host_time.md), and what a call costs in
// the fixed host model.
#pragma once

#include <cstdint>

namespace eidolon::ring {

// Determines how host work moves the rank clock (docs/host_time.md).
enum class HostModel : std::uint32_t {
  kMeasured = 0,  // CPU time of the calling thread, over speed_ratio.
  kFixed = 1,     // HostCosts of calls and operators; two runs are bit-identical.
  kCounted = 2,   // HostCosts of Python functions as well, and long computations by their CPU time.
};

// Returns whether HostCosts say what a call costs.
constexpr bool HasCosts(HostModel model) { return model != HostModel::kMeasured; }

// Returns whether CPU time of threads moves the clock: all of it, or that of long computations.
constexpr bool TimesThreads(HostModel model) { return model != HostModel::kFixed; }

// Cost in picoseconds of one API call of each class where costs are given. Clock reads cost
// nothing.
enum class CallClass : std::uint32_t {
  kLaunch,       // Kernel launch.
  kLibrary,      // cuBLAS, cuBLASLt and other libraries' calls.
  kDnn,          // cuDNN's calls that start work.
  kCollective,   // An NCCL operation or group end.
  kCopy,         // Asynchronous copy or memset.
  kStream,       // Stream and event operations, callbacks.
  kAllocation,   // Memory allocation, free, mapping.
  kSynchronize,  // Synchronising calls, besides the waiting itself; stream queries.
  kGraph,        // Graph launch and instantiate.
  kModule,       // Module loading, function look-up.
  kQuery,        // Everything else that reads state (attributes, properties): cheap.
  kEventQuery,   // Free once threads share such queries (NotePinnedMemory and NoteCommunicator of
                 // shim/core/rank_clock.h).
  kThreadState,  // Creating events, the thread's current device: free, because how often a thread
                 // does so depends on what others have put back into caches by then.
  kCount,
};

struct HostCosts {
  std::uint64_t ps[static_cast<int>(CallClass::kCount)];
  // The framework's work for each operator that it ran before a call, where these
  // can be counted, and otherwise before a call that gives the GPU work.
  std::uint64_t operator_ps;
  std::uint64_t framework_ps;
  // Counted host model: for each Python function that ran before a call.
  std::uint64_t frame_ps;
};

}  // namespace eidolon::ring
