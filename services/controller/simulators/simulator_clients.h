// The timing and network services over gRPC.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/base/clock.h"
#include "services/controller/simulators/simulators.h"
#include "services/runtime/token.h"

namespace eidolon::controller::simulators {

// Thread safe.
class SimulatorClients final : public Simulators {
 public:
  // `issuer`: of tokens, when the services ask for them; else nothing. The clock outlives this.
  SimulatorClients(const std::string& timing_address, const std::string& network_address,
                   std::optional<runtime::TokenIssuer> issuer, const base::RealClock& clock);
  ~SimulatorClients() override;

  base::Result<std::vector<std::string>> ListGpus() override;
  base::Result<double> FindPeakFlops(const std::string& gpu) override;
  base::Result<void> RegisterJob(const std::string& job, const job::ResolvedJob& resolved) override;
  void RemoveJob(const std::string& job) override;
  std::string MakeServiceToken(const std::string& job) override;
  std::string timing_address() const override { return timing_address_; }
  std::string network_address() const override { return network_address_; }

 private:
  struct Stubs;

  base::Result<timing::v1::Gpu> DescribeGpu(const std::string& gpu);
  // Every call ends, and says who calls.
  void Prepare(grpc::ClientContext* context) const;

  const std::string timing_address_;
  const std::string network_address_;
  const std::optional<runtime::TokenIssuer> issuer_;
  const base::RealClock& clock_;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace eidolon::controller::simulators
