// Interface of the controller to the timing and the network service, in the controller's own words.
#pragma once

#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/job/resolve.h"

namespace eidolon::controller::simulators {

// Thread safe.
class Simulators {
 public:
  virtual ~Simulators() = default;

  // Names of the GPU models.
  virtual base::Result<std::vector<std::string>> ListGpus() = 0;
  // Peak dense bf16 rate in operations per second; 0 when the model does not say.
  virtual base::Result<double> FindPeakFlops(const std::string& gpu) = 0;
  // Tells the network service of a job on the first servers of its cluster, of the NCCL_ variables
  // in its environment, and of which ranks run.
  virtual base::Result<void> RegisterJob(const std::string& job,
                                         const job::ResolvedJob& resolved) = 0;
  virtual void RemoveJob(const std::string& job) = 0;

  // Returns what agents of a registered job show to both services; empty when nobody asks for it.
  virtual std::string MakeServiceToken(const std::string& /*job*/) { return {}; }
  // gRPC addresses, for the agents.
  virtual std::string timing_address() const = 0;
  virtual std::string network_address() const = 0;
};

}  // namespace eidolon::controller::simulators
