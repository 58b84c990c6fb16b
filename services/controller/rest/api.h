// Interface of the controller for HTTP. The face knows documents, not how jobs run; tests give it a
// controller of their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/controller/job/problem.h"
#include "services/controller/store/job_log.h"

namespace eidolon::controller::rest {

struct ApiError {
  base::ErrorCode code = base::ErrorCode::kInternal;
  std::string message;
  job::Problems problems;  // Of a document that was refused.
  // Cause of kResourceExhausted: the disk, or the quota of the data folder.
  bool disk_full = false;
  bool over_quota = false;
  bool is_forbidden = false;  // The user may not; `problems` are fields that they may not set.
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

// Names one object.
struct ObjectName {
  std::string name_space;
  std::string name;
};

struct IdempotencyKey {
  std::string key;
  std::string body_digest;
};

struct Created {
  nlohmann::json object;
  bool repeated = false;  // An earlier request with the same key created it.
};

struct JobChange {
  nlohmann::json object;
  std::int64_t version = 0;
  bool over = false;
};

// Changes of all jobs, or all sweeps, since a version.
struct ListChange {
  std::vector<nlohmann::json> changed;  // Summaries (controller/job/summary.h), oldest first.
  std::set<std::string> present;        // "namespace/name" of all there are.
  std::int64_t version = 0;             // To go on from.
};

struct LogPart {
  std::vector<store::LogEntry> entries;
  std::uint64_t next_offset = 0;
  bool ended = false;  // Nothing will follow.
};

// Identity of a writer: the token of the request; empty: the process itself, or its user.
struct Writer {
  std::string token;
};

// Sweeps of jobs (controller/sweep). Thread safe.
class SweepApi {
 public:
  virtual ~SweepApi() = default;

  virtual ApiResult<nlohmann::json> CreateSweep(const std::string& name_space,
                                                const nlohmann::json& document,
                                                const Writer& writer = {}) = 0;
  // Lists sweeps in order of creation. Empty namespace: all.
  virtual ApiResult<std::vector<nlohmann::json>> ListSweeps(const std::string& name_space) = 0;
  virtual ApiResult<nlohmann::json> GetSweep(const ObjectName& sweep) = 0;
  // Its jobs are deleted first. Answers the object as it was.
  virtual ApiResult<nlohmann::json> DeleteSweep(const ObjectName& sweep,
                                                const Writer& writer = {}) = 0;
  // Takes a merge patch of spec.suspend, spec.concurrency, labels and annotations; a patch that
  // changes more is refused, each field with its problem.
  virtual ApiResult<nlohmann::json> PatchSweep(const ObjectName& sweep, const nlohmann::json& patch,
                                               const Writer& writer = {}) = 0;
  // Works as Api::AwaitChange.
  virtual ApiResult<JobChange> AwaitSweep(const ObjectName& sweep, std::int64_t after,
                                          std::chrono::milliseconds timeout) = 0;
  // Works as Api::AwaitJobs; summaries are those of controller/sweep/plan.h.
  virtual ApiResult<ListChange> AwaitSweeps(const std::string& name_space, std::int64_t after,
                                            std::size_t known,
                                            std::chrono::milliseconds timeout) = 0;
};

// A file that a job has left.
struct Output {
  std::string path;
  // Of a copy for this answer alone: its file goes with it. Null: the file is not a copy.
  std::shared_ptr<const void> copy = nullptr;
};

// Thread safe. Objects are complete documents with metadata and status.
class Api {
 public:
  virtual ~Api() = default;

  virtual ApiResult<Created> CreateJob(const std::string& name_space,
                                       const nlohmann::json& document,
                                       const std::optional<IdempotencyKey>& key,
                                       const Writer& writer = {}) = 0;
  // Lists jobs in order of creation. Empty namespace: all.
  virtual ApiResult<std::vector<nlohmann::json>> ListJobs(const std::string& name_space) = 0;
  virtual ApiResult<nlohmann::json> GetJob(const ObjectName& job) = 0;
  // Cancels a running job first; it is gone when its agents are. Answers the object as it was.
  virtual ApiResult<nlohmann::json> DeleteJob(const ObjectName& job, const Writer& writer = {}) = 0;
  // Lets a suspended job wait for its turn, or takes a waiting one out of the queue.
  virtual ApiResult<nlohmann::json> SetSuspend(const ObjectName& job, bool suspend,
                                               const Writer& writer = {}) = 0;
  // Waits until the job has a version above `after`, at most `timeout`; answers its present state
  // either way. kUnavailable when the controller is being stopped.
  virtual ApiResult<JobChange> AwaitChange(const ObjectName& job, std::int64_t after,
                                           std::chrono::milliseconds timeout) = 0;
  // Waits, at most `timeout`, until a job has a version above `after` or there are not `known` jobs
  // any more. Empty namespace: of all.
  virtual ApiResult<ListChange> AwaitJobs(const std::string& name_space, std::int64_t after,
                                          std::size_t known, std::chrono::milliseconds timeout) = 0;
  // Lines from a byte offset on; waits for some at most `timeout`.
  virtual ApiResult<LogPart> ReadLog(const ObjectName& job, std::uint64_t offset,
                                     std::chrono::milliseconds timeout) = 0;

  // The file of a job's timeline (docs/timeline.md). kFailedPrecondition while the job is not over.
  // `token`: of the request, for whoever else has to be asked.
  virtual ApiResult<Output> FindTimeline(const ObjectName& job, const std::string& token) = 0;
  // The same of its recording (docs/recording.md).
  virtual ApiResult<Output> FindRecording(const ObjectName& job, const std::string& token) = 0;

  virtual ApiResult<nlohmann::json> CreateCluster(const std::string& name_space,
                                                  const nlohmann::json& document,
                                                  const Writer& writer = {}) = 0;
  virtual ApiResult<std::vector<nlohmann::json>> ListClusters(const std::string& name_space) = 0;
  virtual ApiResult<nlohmann::json> GetCluster(const ObjectName& cluster) = 0;
  virtual ApiResult<nlohmann::json> DeleteCluster(const ObjectName& cluster,
                                                  const Writer& writer = {}) = 0;

  virtual SweepApi& sweeps() = 0;

  // Whether jobs can be run now; the error says what is missing.
  virtual base::Result<void> CheckReady() = 0;
  // The Prometheus page.
  virtual std::string MetricsText() = 0;
  // For metrics: an answer was sent.
  virtual void CountRequest(const std::string& method, int status) = 0;
  // For metrics: something was refused before it reached a route; `reason` is one of a few words.
  virtual void CountRefusal(const std::string& reason) = 0;
  // Sets the number of open connections, for metrics.
  virtual void SetConnections(std::size_t count) = 0;
};

}  // namespace eidolon::controller::rest
