#include "services/controller/job/band.h"

#include <algorithm>
#include <cmath>

namespace eidolon::controller::job {
namespace {

// 90 % of a normal distribution lie within this many standard deviations.
constexpr double kBandDeviations = 1.645;

}  // namespace

Band BandOf(double estimates_error, double host_error, const HostPart& host) {
  const double slower = kBandDeviations * host_error;
  const double faster = std::min(1.0, slower);
  const double work = std::min(host.work, host.length);
  const double grows = std::max(host.gaps * slower, work * (1 + slower) - host.length);
  const double shrinks = std::max(
      host.gaps * faster, std::min(host.gaps + host.idle, work * faster - (host.length - work)));
  const double estimates = kBandDeviations * estimates_error;
  return {.low = host.length - std::hypot(estimates, shrinks),
          .high = host.length + std::hypot(estimates, grows)};
}

}  // namespace eidolon::controller::job
