// Sends the server's requests for costs: definitions of work, in batches, and collectives, one by
// one. How many answers are missing says whether the server may be thought idle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "services/agent/client/network_client.h"
#include "services/agent/client/timing_client.h"
#include "services/agent/cost/cost_cache.h"
#include "services/agent/server/metrics.h"
#include "services/agent/session/session_host.h"
#include "services/base/error.h"

namespace eidolon::agent::server {

// Each question is asked once; answers come as tasks of the mailbox. Main loop only.
class CostQuestions {
 public:
  using Estimate = session::SessionHost::CollectiveEstimate;
  // All outlive its use. `on_lost`: a service does not answer any more.
  CostQuestions(cost::CostCache* costs, client::TimingClient* timing,
                client::NetworkClient* network, Metrics* metrics,
                std::function<void(const base::Error&)> on_lost);

  // Asks for the costs that the table wants to know, as far as not too many batches are open.
  void AskCosts();
  // The isolated duration; nothing while it is being asked for.
  std::optional<Estimate> FindEstimate(std::uint64_t communicator,
                                       const network::v1::Operation& op);
  bool has_open() const { return open_ > 0; }

 private:
  cost::CostCache* costs_;
  client::TimingClient* timing_;
  client::NetworkClient* network_;
  Metrics* metrics_;
  std::function<void(const base::Error&)> on_lost_;
  int open_ = 0;
  std::map<std::string, std::optional<Estimate>> estimates_;
};

}  // namespace eidolon::agent::server
