#include "services/agent/server/network_time.h"

#include <algorithm>
#include <limits>

namespace eidolon::agent::server {

using base::SimTime;

namespace {

constexpr std::int64_t kClaimEveryNs = 2'000'000;

}  // namespace

SimTime TimeOf(std::uint64_t ps) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {static_cast<std::int64_t>(std::min(ps, kMax))};
}

void NetworkTime::Settle(SimTime time) { settled_ = std::max(settled_, time); }

void NetworkTime::SetSafe(SimTime time) {
  safe_through_ = std::max(safe_through_, time);
  Settle(time);
}

SimTime NetworkTime::ClampReady(SimTime ready) {
  if (ready >= settled_) return ready;
  ++clamped_;
  metrics_->clamped_posts.Increment();
  return settled_;
}

bool HorizonClaims::Take(const HorizonClaim& claim, std::int64_t now_ns) {
  if (claim == told_) return false;
  const bool only_clock = claim.processed == told_.processed &&
                          claim.quiescent == told_.quiescent && claim.wanted == told_.wanted &&
                          claim.waits == told_.waits && claim.bound != SimTime::Max() &&
                          told_.bound != SimTime::Max();
  if (only_clock && now_ns - told_ns_ < kClaimEveryNs) return false;
  told_ = claim;
  told_ns_ = now_ns;
  return true;
}

}  // namespace eidolon::agent::server
