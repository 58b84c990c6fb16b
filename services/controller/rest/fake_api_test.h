// A controller for tests of the HTTP face: jobs are documents in memory that a test changes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "services/controller/rest/api.h"

namespace eidolon::controller::rest {

// Thread safe: knows the sweeps of one namespace, which are never over.
class FakeSweepApi final : public SweepApi {
 public:
  ApiResult<nlohmann::json> CreateSweep(const std::string& name_space,
                                        const nlohmann::json& document, const Writer&) override;
  ApiResult<std::vector<nlohmann::json>> ListSweeps(const std::string& name_space) override;
  ApiResult<nlohmann::json> GetSweep(const ObjectName& sweep) override;
  ApiResult<nlohmann::json> DeleteSweep(const ObjectName& sweep, const Writer&) override;
  ApiResult<nlohmann::json> PatchSweep(const ObjectName& sweep, const nlohmann::json& patch,
                                       const Writer&) override;
  ApiResult<JobChange> AwaitSweep(const ObjectName& sweep, std::int64_t after,
                                  std::chrono::milliseconds timeout) override;
  ApiResult<ListChange> AwaitSweeps(const std::string& name_space, std::int64_t after,
                                    std::size_t known, std::chrono::milliseconds timeout) override;

 private:
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::int64_t version_ = 1;
  std::map<std::string, nlohmann::json> sweeps_;
};

// Thread safe.
class FakeApi final : public Api {
 public:
  // Makes a change that watchers see.
  void SetPhase(const std::string& name, const std::string& phase, bool over);
  void SetPrediction(const std::string& name, const nlohmann::json& prediction);
  void AddLine(const std::string& text);
  void EndLog();
  void SetReady(bool ready) { ready_ = ready; }

  ApiResult<Created> CreateJob(const std::string& name_space, const nlohmann::json& document,
                               const std::optional<IdempotencyKey>& key, const Writer&) override;
  ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) override;
  ApiResult<nlohmann::json> GetJob(const ObjectName& job) override;
  ApiResult<nlohmann::json> DeleteJob(const ObjectName& job, const Writer&) override;
  ApiResult<nlohmann::json> SetSuspend(const ObjectName& job, bool suspend, const Writer&) override;
  ApiResult<JobChange> AwaitChange(const ObjectName& job, std::int64_t after,
                                   std::chrono::milliseconds timeout) override;
  ApiResult<ListChange> AwaitJobs(const std::string& name_space, std::int64_t after,
                                  std::size_t known, std::chrono::milliseconds timeout) override;
  ApiResult<LogPart> ReadLog(const ObjectName& job, std::uint64_t offset,
                             std::chrono::milliseconds timeout) override;
  ApiResult<Output> FindTimeline(const ObjectName& job, const std::string& token) override;
  ApiResult<Output> FindRecording(const ObjectName& job, const std::string& token) override {
    return FindTimeline(job, token);
  }
  // `copy`: given with the first answer.
  void SetTimeline(const std::string& path, std::shared_ptr<const void> copy = nullptr) {
    timeline_ = path;
    copy_ = std::move(copy);
  }
  ApiResult<nlohmann::json> CreateCluster(const std::string& name_space,
                                          const nlohmann::json& document, const Writer&) override;
  ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string&) override {
    return std::vector<nlohmann::json>();
  }
  ApiResult<nlohmann::json> GetCluster(const ObjectName& cluster) override;
  ApiResult<nlohmann::json> DeleteCluster(const ObjectName& cluster, const Writer&) override;
  SweepApi& sweeps() override { return sweeps_; }
  base::Result<void> CheckReady() override;
  std::string MetricsText() override { return "# HELP a b\n"; }
  void CountRequest(const std::string& method, int status) override;
  std::vector<std::string> requests();
  void CountRefusal(const std::string& reason) override;
  void SetConnections(std::size_t count) override;
  // Returns how often something was refused, by reason.
  std::map<std::string, int> refusals();
  // The number of open connections once it is `count`, or what it is when that takes too long.
  std::size_t AwaitConnections(std::size_t count);

 private:
  struct Job {
    nlohmann::json document;
    std::int64_t version = 1;
    bool over = false;
  };
  nlohmann::json Render(const Job& job) const;

  FakeSweepApi sweeps_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::map<std::string, Job> jobs_;
  std::vector<std::string> lines_;
  bool log_ended_ = false;
  std::string timeline_;
  std::shared_ptr<const void> copy_;
  std::vector<std::string> requests_;
  std::map<std::string, int> refusals_;
  std::size_t connections_ = 0;
  std::atomic<bool> ready_ = true;
};

}  // namespace eidolon::controller::rest
