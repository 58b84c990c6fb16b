// The side of users in embedded mode, as far as sweeps are concerned.
//
// Threads: those of REST. Takes the lock of the state, and waits for the disk without it.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/controller/embedded/controller_state.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::embedded {

class EmbeddedSweeps final : public rest::SweepApi {
 public:
  // The state must outlive it.
  explicit EmbeddedSweeps(ControllerState* state) : state_(*state) {}

  rest::ApiResult<nlohmann::json> CreateSweep(const std::string& name_space,
                                              const nlohmann::json& document,
                                              const rest::Writer&) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListSweeps(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetSweep(const rest::ObjectName& sweep) override;
  rest::ApiResult<nlohmann::json> DeleteSweep(const rest::ObjectName& sweep,
                                              const rest::Writer&) override;
  rest::ApiResult<nlohmann::json> PatchSweep(const rest::ObjectName& sweep,
                                             const nlohmann::json& patch,
                                             const rest::Writer&) override;
  rest::ApiResult<rest::JobChange> AwaitSweep(const rest::ObjectName& sweep, std::int64_t after,
                                              std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::ListChange> AwaitSweeps(const std::string& name_space, std::int64_t after,
                                                std::size_t known,
                                                std::chrono::milliseconds timeout) override;

 private:
  using Lock = ControllerState::Lock;

  SweepTable& table() { return state_.table().sweeps(); }
  // Requires: the lock.
  rest::ApiResult<SweepEntry*> Get(const rest::ObjectName& sweep);

  ControllerState& state_;
};

}  // namespace eidolon::controller::embedded
