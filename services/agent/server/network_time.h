// Tracks what the network has settled, and what this server has claimed to it: the two sides of the
// horizon.
#pragma once

#include <cstdint>
#include <vector>

#include "services/agent/server/metrics.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::server {

// A time of a message; what is beyond all time is its end.
base::SimTime TimeOf(std::uint64_t ps);

// Settled time only grows, and is never before the safe time. Main loop only.
class NetworkTime {
 public:
  explicit NetworkTime(Metrics* metrics) : metrics_(metrics) {}

  // Nothing may be posted before this any more.
  void Settle(base::SimTime time);
  // The network has told everything up to this time.
  void SetSafe(base::SimTime time);
  base::SimTime safe_through() const { return safe_through_; }

  // What the network has settled cannot change any more. A rank that is late (an unmodelled side
  // channel) is moved to the settled time and counted.
  base::SimTime ClampReady(base::SimTime ready);
  std::uint64_t clamped() const { return clamped_; }

 private:
  Metrics* metrics_;
  base::SimTime safe_through_;
  base::SimTime settled_;
  std::uint64_t clamped_ = 0;
};

// Time before which the ranks on a GPU will not issue anything.
struct OwnBound {
  std::uint32_t device = 0;
  base::SimTime time;

  bool operator==(const OwnBound&) const = default;
};

// Claim that was sent to the network last.
struct HorizonClaim {
  base::SimTime bound{-1};
  std::uint64_t processed = 0;
  bool quiescent = false;
  base::SimTime wanted;
  std::vector<OwnBound> own_bounds;
  std::uint64_t waits = 0;  // That have begun: whoever waits shall not be kept waiting.

  bool operator==(const HorizonClaim&) const = default;
};

// Which claims are worth telling: a rank's clock moves all the time, and nobody needs each value of
// it. Main loop only.
class HorizonClaims {
 public:
  // Whether the network is to be told; it then counts as told.
  bool Take(const HorizonClaim& claim, std::int64_t now_ns);
  // The network has released the quiescent server: that claim has been used up.
  void UseUp() { told_.quiescent = false; }

 private:
  HorizonClaim told_;
  std::int64_t told_ns_ = 0;
};

}  // namespace eidolon::agent::server
