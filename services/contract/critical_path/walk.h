// The critical path of an iteration: from its end backward, what each moment waited for.
//
//   rank 0   ... kernel ─ launch gap ─ kernel ──────────────────┐ waits
//   rank 1   ... host ─ launch ─ kernel ─ launch gap ─ kernel ──┴ ncclAllReduce ─ ... end
//                                                               ^ the last rank that came
//
// An operation leads to the one that it was ready behind, or to the host's call. Communication
// leads to the rank that was ready last. The host's work leads to the wait before it, and that to
// the operation it waited for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/critical_path/trace.h"

namespace eidolon::critical_path {

enum class Kind : std::uint8_t {
  kKernel,
  kCopy,
  kCommunication,  // From when the last rank was ready on.
  kLaunch,         // From a call, or the end before, until the GPU starts.
  kDelay,          // Of a stream whose work shared its GPU with NCCL.
  kHost,           // Python, PyTorch, host functions in streams.
  kSleep,
  kUnknown,  // The trace does not tell.
};
constexpr std::size_t kKinds = 8;

// Names and links live as long as the traces.
struct Segment {
  base::SimTime begin;
  base::SimTime end;
  Kind kind = Kind::kUnknown;
  std::int32_t rank = 0;
  std::string_view name;
  std::span<const LinkTime> links;  // Of communication, all that it spent its time on.
};

// An iteration lasts from the time at which its last rank began until its last rank ended.
struct Path {
  base::SimTime start;
  base::SimTime finish;
  std::vector<Segment> segments;  // From the end backward; none is empty, together they are it all.
};

// Empty without traces. Traces that contradict themselves give segments of unknown kind.
Path FindPath(std::span<const RankTrace> traces);

}  // namespace eidolon::critical_path
