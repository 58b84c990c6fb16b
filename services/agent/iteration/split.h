// Splits the time of one iteration: what it was spent on, how well its operations' durations are
// known, and how wrong its length may be.
//
// Split. A moment of the iteration is
//   compute                 when a kernel or copy runs on a GPU of the process,
//   exposed communication   when only collectives run (waiting for peers inside one included),
//   host                    when nothing runs, and what ends the gap waited for the host's call,
//   idle                    when nothing runs for another reason (events, launch gaps, queued
//                           copies).
// The four add up to the iteration's length exactly.
//
// Error, one standard deviation. Estimates of one family share their model, so their errors are
// taken as fully correlated: a family's error is the sum over its operations of duration x relative
// error. Different families are independent: the errors add as the root of the sum of squares. Time
// that is hidden behind other work does not count: compute errors are scaled by (compute share of
// the iteration) / (sum of compute durations), communication errors by exposed / total, both at
// most 1.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/estimate/source.h"

namespace eidolon::agent::iteration {

// Rows of a table that an operation gathers by indices.
struct Lookups {
  std::uint64_t indices = 0;  // 0: not a lookup.
  std::uint64_t table_rows = 0;
  std::uint64_t row_bytes = 0;
  auto operator<=>(const Lookups&) const = default;
};

// What lookups in a table are for.
struct TableUse {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t sharers = 1;        // Ranks that look up the same indices; 0: not clear.
  std::uint64_t forward_flops = 0;  // Of matrix operations until its entries are scored.
};

// An iteration has these inputs: of the model, and of the batches that a data loader gave.
struct Inputs {
  std::uint64_t samples = 0;  // Of all calls of the model; 0: not known, like what follows.
  std::uint64_t tokens = 0;
  std::uint64_t batch = 0;      // Samples that the one loader was asked for.
  bool is_later_stage = false;  // The model's inputs are another rank's outputs.
  bool is_clear = true;         // No other rank may work on the same samples.
  bool operator==(const Inputs&) const = default;
};

// A GEMM by a matrix of outputs x inputs, over how many rows.
struct GemmRows {
  std::uint64_t rows = 0;  // 0: not a GEMM.
  std::uint64_t outputs = 0;
  std::uint64_t inputs = 0;
  auto operator<=>(const GemmRows&) const = default;
};

// Purposes of operations; sums of a report.
struct WorkCounts {
  std::uint64_t matrix_flops = 0;
  std::uint64_t parameter_bytes = 0;  // Of a step of an optimizer, like what follows.
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_state_bytes = 0;
  Lookups lookups;  // Of one operation, like what follows.
  GemmRows gemm;
  auto operator<=>(const WorkCounts&) const = default;
};

// Source of a duration; many operations share one.
struct Basis {
  estimate::Source source = estimate::Source::kAssumed;
  float relative_error = 0;
  std::uint32_t family = 0;  // The caller's number.
  std::uint32_t name = 0;    // The caller's number of the kernel's name.
  WorkCounts counts;         // Of one operation.
};

enum class Activity : std::uint8_t { kCompute, kCommunication };

struct Interval {
  base::SimTime start;  // Communication: when this rank was ready.
  base::SimTime end;
  std::uint32_t basis = 0;  // Index into the bases.
  Activity activity = Activity::kCompute;
  bool host_bound = false;
  std::uint32_t milliwatts = 0;   // Of the GPU, a mean over the time before it.
  std::uint64_t microjoules = 0;  // Of its own, above what the GPU draws anyway.
};

struct Breakdown {
  base::Duration compute;
  base::Duration exposed_communication;
  base::Duration idle;
  base::Duration host;
  bool operator==(const Breakdown&) const = default;
  Breakdown& operator+=(const Breakdown& other) {
    compute += other.compute;
    exposed_communication += other.exposed_communication;
    idle += other.idle;
    host += other.host;
    return *this;
  }
};

struct NamedTime {
  std::uint32_t name = 0;
  base::Duration time;
};

// All operations of one basis.
struct BasisTime {
  std::uint32_t basis = 0;
  base::Duration time;
  base::Duration shortest;
  std::uint64_t count = 0;
  bool operator==(const BasisTime&) const = default;
};

struct Split {
  Breakdown breakdown;
  std::array<base::Duration, estimate::kSources> busy_by_source;
  std::vector<NamedTime> assumed;  // Largest first, at most 20.
  std::vector<BasisTime> times;    // Of every basis that occurs, by its number.
  base::Duration error;
  std::uint64_t microjoules = 0;  // Of all intervals.
  std::uint32_t milliwatts = 0;   // The highest of them.
};

struct Window {
  base::SimTime start;
  base::SimTime end;
  bool ends_by_host = false;  // The host's clock set the end, not the GPU.
};

// Busy time of what was assumed, by name: the largest first, at most 20.
std::vector<NamedTime> AssumedOf(std::span<const BasisTime> times, std::span<const Basis> bases);

// Intervals in any order; they may reach out of the window and are cut.
Split SplitWindow(const Window& window, std::span<const Interval> intervals,
                  std::span<const Basis> bases);

}  // namespace eidolon::agent::iteration
