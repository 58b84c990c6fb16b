// Sweeps over REST on Kubernetes: custom resources by way of the API server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/controller/kube/client.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube_host/rest_users.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

// Thread safe. Client and users must outlive it.
class KubeSweeps final : public rest::SweepApi {
 public:
  // `name_space`: the only one that is served; empty: all.
  KubeSweeps(std::string name_space, kube::Client* client, const RestUsers* users);

  void Start();
  // Lets those go who wait for changes.
  void Stop();

  rest::ApiResult<nlohmann::json> CreateSweep(const std::string& name_space,
                                              const nlohmann::json& document,
                                              const rest::Writer& writer) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListSweeps(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetSweep(const rest::ObjectName& sweep) override;
  rest::ApiResult<nlohmann::json> DeleteSweep(const rest::ObjectName& sweep,
                                              const rest::Writer& writer) override;
  rest::ApiResult<nlohmann::json> PatchSweep(const rest::ObjectName& sweep,
                                             const nlohmann::json& patch,
                                             const rest::Writer& writer) override;
  rest::ApiResult<rest::JobChange> AwaitSweep(const rest::ObjectName& sweep, std::int64_t after,
                                              std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::ListChange> AwaitSweeps(const std::string& name_space, std::int64_t after,
                                                std::size_t known,
                                                std::chrono::milliseconds timeout) override;

 private:
  const std::string name_space_;
  kube::Client& client_;
  const RestUsers& users_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool stopping_ = false;
  kube::Informer sweeps_;  // Calls back, so it ends first.
};

}  // namespace eidolon::controller::kube_host
