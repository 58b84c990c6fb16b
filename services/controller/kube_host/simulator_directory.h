// The simulators that the controller knows, by the address of their network service, and what GPUs
// the timing service can emulate.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::kube_host {

// Connects to the timing service and to the network service at an address, which may be empty.
using SimulatorFinder =
    std::function<std::shared_ptr<simulators::Simulators>(const std::string& network_address)>;

// Thread safe; its lock is never held during a call to a simulator.
class SimulatorDirectory {
 public:
  SimulatorDirectory(const base::RealClock& clock, SimulatorFinder find)
      : clock_(clock), find_(std::move(find)) {}

  // Made once for each address.
  std::shared_ptr<simulators::Simulators> At(const std::string& network_address);
  // Names of GPU models, asked for again after 30 s; none when the timing service does not answer.
  std::optional<std::vector<std::string>> KnownGpus();

 private:
  const base::RealClock& clock_;
  const SimulatorFinder find_;

  std::mutex mutex_;  // Guards what follows.
  std::map<std::string, std::shared_ptr<simulators::Simulators>> simulators_;
  std::vector<std::string> gpus_;
  std::int64_t gpus_asked_ns_ = 0;
};

}  // namespace eidolon::controller::kube_host
