// Each agent computes the deal for itself from the seed, so all servers agree without a message.
// GPUs and servers are shuffled with different seeds, so that neither order follows from the other.
// The values dealt out are expected order statistics and not random draws, which keeps the spread
// of every job the same.
#include "services/agent/job/gpu_variation.h"

#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/random.h"

namespace eidolon::agent::job {
namespace {

// Standard deviations in millionths; the header names their source.
constexpr double kWithinServers = 10'300;
constexpr double kBetweenServers = 2'100;

// The share p of a normal distribution lies below it: Acklam's rational approximations, which are
// right to nine digits. Requires: 0 < p < 1.
double NormalQuantile(double p) {
  constexpr std::array kA = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                             1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array kB = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                             6.680131188771972e+01, -1.328068155288572e+01};
  constexpr std::array kC = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                             -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array kD = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                             3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  if (p > 0.5) return -NormalQuantile(1 - p);
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    return (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

// Returns, of a normal sample of `count`, the `index`-th smallest on average (Blom, "Statistical
// Estimates and Transformed Beta-Variables", 1958: off by 4.5 % of two, by less than 1 % of eight
// and more).
double ExpectedOrderStatistic(std::uint32_t index, std::uint32_t count) {
  return NormalQuantile((index + 0.625) / (count + 0.25));
}

// Returns which order statistic `position` has when all are dealt out at random.
std::uint32_t Dealt(std::uint32_t position, std::uint32_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  base::Random random(seed);
  for (std::uint32_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.Below(i))]);
  }
  return order[position];
}

std::uint64_t SeedOf(std::uint64_t seed, std::uint64_t purpose) {
  const std::uint64_t both[] = {seed, purpose};
  return base::Hash64(both, sizeof(both));
}

std::uint32_t ServersOf(const RankPlace& place) {
  return (place.ranks + place.ranks_per_server - 1) / place.ranks_per_server;
}

std::int32_t Rounded(double millionths) {
  return static_cast<std::int32_t>(std::lround(millionths));
}

}  // namespace

std::int32_t SlownessOf(const RankPlace& place, std::uint64_t seed) {
  CHECK(place.rank < place.ranks && place.ranks_per_server > 0);
  const std::uint32_t servers = ServersOf(place);
  const std::uint32_t server = place.rank / place.ranks_per_server;
  const double of_gpu =
      ExpectedOrderStatistic(Dealt(place.rank, place.ranks, SeedOf(seed, 0)), place.ranks);
  const double of_server = ExpectedOrderStatistic(Dealt(server, servers, SeedOf(seed, 1)), servers);
  return Rounded(of_gpu * kWithinServers + of_server * kBetweenServers);
}

std::int32_t SlowestOf(const RankPlace& place) {
  CHECK(place.ranks > 0 && place.ranks_per_server > 0);
  const double between = ServersOf(place) > 1 ? kBetweenServers : 0;
  return Rounded(ExpectedOrderStatistic(place.ranks - 1, place.ranks) *
                 std::hypot(kWithinServers, between));
}

}  // namespace eidolon::agent::job
