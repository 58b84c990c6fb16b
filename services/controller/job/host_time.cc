#include "services/controller/job/host_time.h"

#include <cmath>

#include "services/contract/cluster/cpu_model.h"

namespace eidolon::controller::job {
namespace {

// One deviation of host time by model, on the target's processor. Measured: what separates it from
// published steps that the host decides. Counted and fixed: the timed steps that gave their
// constants lie 11 % around them, and what functions do differs; fixed does not see what a program
// computes between its calls at all (docs/host_time.md).
constexpr double kMeasuredError = 0.12;
constexpr double kFixedError = 0.20;
// Error of a ratio that the job gives itself.
constexpr double kGivenRatioError = 0.10;

}  // namespace

HostTime HostTimeOf(const JobSpec& spec, const ClusterSpec& cluster) {
  HostTime host;
  host.model = spec.host_model;
  host.cpu = cluster.cpu;
  host.cpu_is_unknown = cluster.cpu_is_unknown;
  const bool measured = host.model == HostModel::kMeasured;
  host.speed_ratio = host.model == HostModel::kFixed ? 0 : cluster.cpu_speed_ratio;
  const cluster::CpuModel* cpu = cluster::FindCpuModel(cluster.cpu);
  double speed_error = cpu == nullptr ? kGivenRatioError : cpu->relative_error;
  if (cluster.cpu_is_unknown) speed_error = cluster::kUnknownCpuError;
  if (host.speed_ratio > 0) speed_error = kGivenRatioError;
  host.error = std::hypot(measured ? kMeasuredError : kFixedError, speed_error);
  return host;
}

}  // namespace eidolon::controller::job
