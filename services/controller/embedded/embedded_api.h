// The side of users in embedded mode: what REST asks for, answered from the table of jobs.
//
// Threads: those of REST. Takes the lock of the state, and waits for the disk without it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/controller/embedded/controller_state.h"
#include "services/controller/embedded/embedded_sweeps.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::embedded {

class EmbeddedApi final : public rest::Api {
 public:
  // The state must outlive it.
  explicit EmbeddedApi(ControllerState* state) : state_(*state), sweeps_(state) {}

  rest::ApiResult<rest::Created> CreateJob(const std::string& name_space,
                                           const nlohmann::json& document,
                                           const std::optional<rest::IdempotencyKey>& key,
                                           const rest::Writer&) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetJob(const rest::ObjectName& job) override;
  rest::ApiResult<nlohmann::json> DeleteJob(const rest::ObjectName& job,
                                            const rest::Writer&) override;
  rest::ApiResult<nlohmann::json> SetSuspend(const rest::ObjectName& job, bool suspend,
                                             const rest::Writer&) override;
  rest::ApiResult<rest::JobChange> AwaitChange(const rest::ObjectName& job, std::int64_t after,
                                               std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::ListChange> AwaitJobs(const std::string& name_space, std::int64_t after,
                                              std::size_t known,
                                              std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::LogPart> ReadLog(const rest::ObjectName& job, std::uint64_t offset,
                                         std::chrono::milliseconds timeout) override;
  rest::ApiResult<rest::Output> FindTimeline(const rest::ObjectName& job,
                                             const std::string& token) override;
  rest::ApiResult<rest::Output> FindRecording(const rest::ObjectName& job,
                                              const std::string& token) override;
  rest::ApiResult<nlohmann::json> CreateCluster(const std::string& name_space,
                                                const nlohmann::json& document,
                                                const rest::Writer&) override;
  rest::ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string& name_space) override;
  rest::ApiResult<nlohmann::json> GetCluster(const rest::ObjectName& cluster) override;
  rest::ApiResult<nlohmann::json> DeleteCluster(const rest::ObjectName& cluster,
                                                const rest::Writer&) override;
  rest::SweepApi& sweeps() override { return sweeps_; }
  base::Result<void> CheckReady() override;
  std::string MetricsText() override;
  void CountRefusal(const std::string& reason) override {
    state_.parts().metrics.CountRefusal(reason);
  }
  void SetConnections(std::size_t count) override { state_.parts().metrics.SetConnections(count); }
  void CountRequest(const std::string& method, int status) override {
    state_.parts().metrics.CountRequest(method, status);
  }

 private:
  using Lock = ControllerState::Lock;

  // A request to create a job that is being stored.
  struct Creating {
    std::string body_digest;
    std::shared_ptr<store::Ticket> ticket;
    std::shared_ptr<rest::ApiResult<rest::Created>> answer;
  };

  struct KeptFile {
    std::string_view what;  // For messages.
    bool is_kept = false;
    std::string_view field;  // That asks for it.
    std::string path;
  };
  rest::ApiResult<rest::Output> FindOutput(const JobEntry& entry, const KeptFile& file) const;

  JobTable& table() { return state_.table(); }
  // Requires: the lock.
  rest::ApiResult<JobEntry*> Get(const rest::ObjectName& job);
  void Accept(JobEntry* entry);
  // The answer to an earlier request with this key, which may have to be waited for.
  std::optional<rest::ApiResult<rest::Created>> FindRepeated(Lock* lock,
                                                             const std::string& name_space,
                                                             const rest::IdempotencyKey& key);
  void CheckCluster(const std::string& name_space, const job::ParsedJob& parsed,
                    const job::KnownGpus& gpus, job::Problems* problems);

  ControllerState& state_;
  EmbeddedSweeps sweeps_;
  // Requests by namespace and key; guarded by the state's lock.
  std::map<std::pair<std::string, std::string>, Creating> creating_;
};

}  // namespace eidolon::controller::embedded
