// Shares what the sessions of a server need: costs, horizon, the way to the network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "services/agent/clock/horizon.h"
#include "services/agent/cost/cost_cache.h"
#include "services/agent/iteration/ledger.h"
#include "services/base/sim_time.h"
#include "services/contract/ring/sensors.h"

namespace eidolon::network::v1 {
class Operation;
class SessionRequest;
}  // namespace eidolon::network::v1

namespace eidolon::agent::session {

class Session;

// Interface of a server for its sessions. Calls stay on the main loop.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  virtual cost::CostCache& costs() = 0;
  virtual clock::Horizon& horizon() = 0;
  virtual void SendToNetwork(network::v1::SessionRequest request) = 0;
  // The isolated duration; nothing while it is being asked for.
  struct CollectiveEstimate {
    base::Duration duration;
    std::uint32_t channels = 0;
    base::Duration at_least;         // Once its members are ready, whatever else is on the fabric.
    std::uint64_t memory_bytes = 0;  // Read and written in the memory of a member's GPU.
  };
  virtual std::optional<CollectiveEstimate> FindEstimate(std::uint64_t communicator,
                                                         const network::v1::Operation& op) = 0;
  // A ready time as it may be posted: not before what the network has settled.
  virtual base::SimTime ClampReady(base::SimTime ready) = 0;
  // The network has told everything up to this time.
  virtual base::SimTime safe_through() const = 0;
  // The readings of a GPU at that time; without one, at the latest clock of the server's ranks.
  virtual ::eidolon::ring::DeviceSensors SensorsOf(std::uint16_t device,
                                                   std::optional<base::SimTime> time) const = 0;
  // Monotonic real time.
  virtual std::int64_t now_ns() const = 0;
  // A process enters a communicator; returns the rank that it is called by.
  struct CommunicatorEntry {
    std::string unique_id;
    std::int32_t size = 0;
    std::int32_t rank = 0;
  };
  virtual std::int32_t CommunicatorEntered(std::uint32_t process,
                                           const CommunicatorEntry& entry) = 0;
  virtual void WorkBegan(Session& session, std::uint32_t device) = 0;  // Its first launch.
  virtual void IterationEnded(Session& session, const iteration::Report& report) = 0;
  virtual void RequestRefused(Session& session) = 0;  // Emulated memory ran out.
  virtual void CallRefused(Session& session, const std::string& name) = 0;
  virtual std::uint64_t NewRequest(std::uint32_t process) = 0;  // A name for a Join or Split.
};

}  // namespace eidolon::agent::session
