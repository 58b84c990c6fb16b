// Where the time of a rank's GPU goes between two cuts: compute, exposed communication, idle, host;
// and by which kind of estimate.
//
//   compute                 some kernel, copy or memset runs
//   exposed communication   otherwise, a collective is in progress or waits for its peers
//   host                    otherwise, the next operation waits for nothing but the host's call;
//   also the
//                           time after the last operation
//   idle                    otherwise: launch gaps, dependencies between streams
//
// The four add up to the length of the window, to the picosecond.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::agent::iteration {

enum class Source : std::uint8_t { kMeasured, kInterpolated, kModelled, kAssumed };
inline constexpr int kSources = 4;

// What one operation is, as far as reports care.
struct OperationFacts {
  bool communication = false;
  Source source = Source::kModelled;
  float relative_error = 0;  // One standard deviation over the duration.
  std::uint32_t family = 0;  // Errors within a family go together.
  std::uint32_t name = 0;    // For the list of what was assumed.
};

// One operation with its place in virtual time.
struct Span {
  base::SimTime begin;  // A collective begins when this rank is ready for it.
  base::SimTime end;
  bool host_bound = false;
  OperationFacts facts;
};

// Sums over a window; add up.
struct Split {
  base::Duration compute, exposed_communication, idle, host;
  base::Duration busy[kSources];                    // Sums of durations, overlaps counted twice.
  std::map<std::uint32_t, base::Duration> assumed;  // By name.
  std::map<std::uint32_t, double> error_seconds;    // By family: durations times relative errors.

  Split& operator+=(const Split& other);
  base::Duration Length() const { return compute + exposed_communication + idle + host; }
  // One standard deviation of the length: errors within a family go together, families do not.
  // Errors of work hidden behind other work count in proportion to what of the busy time is
  // exposed.
  base::Duration Error() const;
};

// Splits the window [begin, end]. `spans` may reach over its edges; the parts outside do not count.
Split SplitWindow(base::SimTime begin, base::SimTime end, const std::vector<Span>& spans);

}  // namespace eidolon::agent::iteration
