// The REST API on Kubernetes: custom resources by way of the API server, so that kubectl and REST
// always agree. It keeps no state of its own, so that every replica serves it; who may do what was
// decided before (KubeAuthorizer). It writes in the name of the user, so that what the API server
// refuses them, or logs of them, is the same by kubectl and REST.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/kube/client.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube_host/kube_sweeps.h"
#include "services/controller/kube_host/peers.h"
#include "services/controller/kube_host/rest_users.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/outputs/output_store.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::kube_host {

// Must outlive the API.
struct KubeApiParts {
  const base::RealClock& clock;
  kube::Client& client;
  kube::Reviews& reviews;
  metrics::Metrics& metrics;
  std::function<std::string()> metrics_text;
  outputs::OutputStore& outputs;  // Of this controller.
  std::string rest_address;       // The same.
  const Peers& peers;             // It and the others.
};

// Thread safe.
class KubeApi final : public rest::Api {
 public:
  // `name_space`: the only one that is served; empty: all.
  KubeApi(std::string name_space, KubeApiParts parts);
  ~KubeApi() override;

  void Start();
  // Lets those go who wait for changes.
  void Stop();

  rest::ApiResult<rest::Created> CreateJob(const std::string& name_space,
                                           const nlohmann::json& document,
                                           const std::optional<rest::IdempotencyKey>& key,
                                           const rest::Writer& writer) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetJob(const rest::ObjectName& job) override;
  rest::ApiResult<nlohmann::json> DeleteJob(const rest::ObjectName& job,
                                            const rest::Writer& writer) override;
  rest::ApiResult<nlohmann::json> SetSuspend(const rest::ObjectName& job, bool suspend,
                                             const rest::Writer& writer) override;
  rest::ApiResult<rest::JobChange> AwaitChange(const rest::ObjectName& job, std::int64_t after,
                                               std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::ListChange> AwaitJobs(const std::string& name_space, std::int64_t after,
                                              std::size_t known,
                                              std::chrono::milliseconds timeout) override;
  // Lines of all pods in the order of their time; the offset counts bytes of them.
  rest::ApiResult<rest::LogPart> ReadLog(const rest::ObjectName& job, std::uint64_t offset,
                                         std::chrono::milliseconds timeout) override;
  // What another controller has is fetched from there.
  rest::ApiResult<rest::Output> FindTimeline(const rest::ObjectName& job,
                                             const std::string& token) override;
  rest::ApiResult<rest::Output> FindRecording(const rest::ObjectName& job,
                                              const std::string& token) override;
  rest::ApiResult<nlohmann::json> CreateCluster(const std::string& name_space,
                                                const nlohmann::json& document,
                                                const rest::Writer& writer) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetCluster(const rest::ObjectName& cluster) override;
  rest::ApiResult<nlohmann::json> DeleteCluster(const rest::ObjectName& cluster,
                                                const rest::Writer& writer) override;
  rest::SweepApi& sweeps() override { return sweeps_; }
  base::Result<void> CheckReady() override;
  std::string MetricsText() override { return parts_.metrics_text(); }
  void CountRefusal(const std::string& reason) override { parts_.metrics.CountRefusal(reason); }
  void SetConnections(std::size_t count) override { parts_.metrics.SetConnections(count); }
  void CountRequest(const std::string& method, int status) override {
    parts_.metrics.CountRequest(method, status);
  }

 private:
  rest::ApiResult<std::optional<rest::Created>> FindRepeated(const std::string& name_space,
                                                             const rest::IdempotencyKey& key);
  struct WantedFile {
    outputs::Kind kind = outputs::Kind::kTimeline;
    const char* what = "";   // "timeline": part of the status and of the path.
    bool is_kept = false;    // By the job's spec.
    const char* field = "";  // Of spec.outputs, which makes it be kept.
  };
  // `object`: the job as the API server has it.
  rest::ApiResult<rest::Output> FindOutput(const nlohmann::json& object, const WantedFile& file,
                                           const std::string& token);
  // The job's own pods, by server.
  kube::Answer<std::vector<nlohmann::json>> PodsOf(const nlohmann::json& job);

  const std::string name_space_;
  const KubeApiParts parts_;
  const RestUsers users_;
  kube::Informer jobs_;
  KubeSweeps sweeps_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool stopping_ = false;
};

}  // namespace eidolon::controller::kube_host
