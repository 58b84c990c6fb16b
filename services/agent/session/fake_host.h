// The server around a session, for tests and benchmarks of the session alone: every answer that it
// does not need is the simplest one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/session/session.h"
#include "services/agent/session/session_host.h"

namespace eidolon::agent::session {

// This class is not thread-safe. Tests override what they look at.
class FakeHost : public SessionHost {
 public:
  cost::CostCache& costs() override { return costs_; }
  clock::Horizon& horizon() override { return horizon_; }
  void SendToNetwork(network::v1::SessionRequest) override {}
  std::optional<CollectiveEstimate> FindEstimate(std::uint64_t,
                                                 const network::v1::Operation&) override {
    return CollectiveEstimate{.duration = base::Duration::Microseconds(50), .channels = 8};
  }
  base::SimTime ClampReady(base::SimTime ready) override { return ready; }
  base::SimTime safe_through() const override { return {}; }
  ::eidolon::ring::DeviceSensors SensorsOf(std::uint16_t,
                                           std::optional<base::SimTime> time) const override {
    return {.time_ps = static_cast<std::uint64_t>(time.value_or(base::SimTime{}).ps)};
  }
  std::int64_t now_ns() const override { return 0; }
  std::int32_t CommunicatorEntered(std::uint32_t, const CommunicatorEntry& entry) override {
    return entry.rank;
  }
  void WorkBegan(Session&, std::uint32_t) override {}
  void IterationEnded(Session&, const iteration::Report&) override {}
  void RequestRefused(Session&) override {}
  void CallRefused(Session&, const std::string&) override {}
  std::uint64_t NewRequest(std::uint32_t) override { return 1; }

 private:
  cost::CostCache costs_{132};
  clock::Horizon horizon_;
};

}  // namespace eidolon::agent::session
