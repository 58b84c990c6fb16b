#include "services/controller/kube_host/simulator_directory.h"

namespace eidolon::controller::kube_host {
namespace {

constexpr std::int64_t kGpusNs = 30'000'000'000;

}  // namespace

std::shared_ptr<simulators::Simulators> SimulatorDirectory::At(const std::string& network_address) {
  const std::lock_guard lock(mutex_);
  auto& simulators = simulators_[network_address];
  if (simulators == nullptr) simulators = find_(network_address);
  return simulators;
}

std::optional<std::vector<std::string>> SimulatorDirectory::KnownGpus() {
  const std::int64_t now_ns = clock_.MonotonicNs();
  {
    const std::lock_guard lock(mutex_);
    if (!gpus_.empty() && now_ns - gpus_asked_ns_ < kGpusNs) return gpus_;
  }
  auto names = At("")->ListGpus();
  const std::lock_guard lock(mutex_);
  if (!names) return std::nullopt;
  gpus_ = std::move(*names);
  gpus_asked_ns_ = now_ns;
  return gpus_;
}

}  // namespace eidolon::controller::kube_host
