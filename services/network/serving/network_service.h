// gRPC face of the network: jobs, their agents' sessions, estimates.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "eidolon/network/v1/network.grpc.pb.h"
#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/network/serving/metrics.h"
#include "services/network/serving/session_stream.h"
#include "services/runtime/token.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace eidolon::network::serving {

// Thread safe. Outlives the gRPC server that serves it; registry and clock outlive it. Can run
// inside a test or inside the `eidolon` command.
//
// Jobs share a fabric when they could disturb each other there: same cluster, other servers, and a
// fabric that is oversubscribed. All other jobs have one of their own, so that none waits for
// another.
class NetworkService final
    : public v1::NetworkService::WithCallbackMethod_Session<v1::NetworkService::Service> {
 public:
  // `gate`: whose calls are answered. Jobs come and go by the controller; a job's sessions and
  // estimates are for those whose token names it.
  NetworkService(prometheus::Registry& registry, const base::RealClock& clock,
                 runtime::TokenGate gate);
  ~NetworkService() override;

  grpc::Status RegisterJob(grpc::ServerContext* context, const v1::RegisterJobRequest* request,
                           v1::RegisterJobResponse* response) override;
  grpc::Status RemoveJob(grpc::ServerContext* context, const v1::RemoveJobRequest* request,
                         v1::RemoveJobResponse* response) override;
  grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::Status EstimateCollective(grpc::ServerContext* context,
                                  const v1::EstimateCollectiveRequest* request,
                                  v1::EstimateCollectiveResponse* response) override;
  grpc::Status ReadLinkNames(grpc::ServerContext* context, const v1::ReadLinkNamesRequest* request,
                             v1::ReadLinkNamesResponse* response) override;
  grpc::Status ReadLinkLoads(grpc::ServerContext* context, const v1::ReadLinkLoadsRequest* request,
                             v1::ReadLinkLoadsResponse* response) override;

 private:
  struct Registered {
    std::string content;  // The request, to tell a repetition from a contradiction.
    std::string cluster;
    std::vector<std::uint32_t> placement;
    JobPlace place;
  };

  base::Result<void> Register(const v1::RegisterJobRequest& request);
  base::Result<JobPlace> FindJob(const std::string& name);
  // A running fabric that the job should share. Requires: jobs_mutex_ is held.
  std::shared_ptr<ClusterThread> Shared(const std::string& cluster,
                                        const std::vector<std::uint32_t>& placement) const;

  // Whether the caller may speak for the job, or, without a job, is the controller.
  grpc::Status Admit(const grpc::ServerContextBase* context, const std::string& job) const;

  Metrics metrics_;
  const base::RealClock& clock_;
  const runtime::TokenGate gate_;
  std::mutex jobs_mutex_;
  std::map<std::string, Registered> jobs_;
  std::uint64_t next_job_ = 1;
};

}  // namespace eidolon::network::serving
