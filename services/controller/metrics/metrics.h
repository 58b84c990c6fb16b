// The controller's metrics. Series are bounded: those of a deleted job or sweep go with it, and of
// those that are over the last kFinishedJobs jobs and kFinishedSweeps sweeps have some.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "services/controller/job/status.h"
#include "services/controller/metrics/bounded_series.h"

namespace eidolon::controller::metrics {

// Thread safe.
class Metrics {
 public:
  // Requires: the registry outlives this object.
  explicit Metrics(prometheus::Registry* registry);

  static constexpr std::size_t kFinishedJobs = 200;
  static constexpr std::size_t kFinishedSweeps = 200;

  // A job is over. `result`: "Complete", "Failed", "Interrupted"; `reason`, `message`: of the
  // condition.
  void FinishJob(const std::string& name_space, const std::string& job, const std::string& result,
                 const std::string& reason, const std::string& message);
  // Its agents run.
  void SetRunning(const std::string& name_space, const std::string& job);
  void SetQueue(std::size_t waiting, std::size_t running);
  // `failed_writes`: since the start.
  void SetStore(bool writable, std::size_t unsaved, std::uint64_t failed_writes);
  void CountLostLogLines(std::uint64_t count) {
    lost_log_lines_.Increment(static_cast<double>(count));
  }
  void AddConnectedAgents(int delta) { agents_.Increment(delta); }
  void CountLogLine() { log_lines_.Increment(); }
  // `method`: of HTTP.
  void CountRequest(const std::string& method, int status);
  // `reason`: one of the words of controller/http/refusal.h.
  void CountRefusal(const std::string& reason) { refusals_.Add({{"reason", reason}}).Increment(); }
  void SetConnections(std::size_t count) { connections_.Set(static_cast<double>(count)); }
  // On Kubernetes: objects looked at, and requests sent to the API server for that.
  void CountReconcile(bool well) { (well ? reconciled_ : reconcile_errors_).Increment(); }
  void CountApiRequests(std::uint64_t count) {
    api_requests_.Increment(static_cast<double>(count));
  }
  void AddCost(const job::SimulationCost& cost, double virtual_seconds);
  void SetPrediction(const std::string& name_space, const std::string& job,
                     const job::Prediction& prediction);
  // Sets how far a job is, and how much longer its simulation takes than what it predicts.
  void SetProgress(const std::string& name_space, const std::string& job,
                   const job::Progress& progress, const job::SimulationCost& cost);
  void ForgetJob(const std::string& name_space, const std::string& job) {
    jobs_.Forget({name_space, job});
  }
  // Sets the number of points of a sweep in each state: "pending", "running", "complete", "failed".
  void SetSweep(const std::string& name_space, const std::string& sweep,
                const std::map<std::string, double>& points);
  void SetSweepSuspended(const std::string& name_space, const std::string& sweep, bool suspended);
  // A sweep is over. `result`: "Complete", "Failed".
  void FinishSweep(const std::string& name_space, const std::string& sweep,
                   const std::string& result);
  void ForgetSweep(const std::string& name_space, const std::string& sweep) {
    sweeps_.Forget({name_space, sweep});
  }

 private:
  using Gauges = prometheus::Family<prometheus::Gauge>;

  void SetThroughput(const BoundedSeries::Key& job, const job::Prediction& prediction);
  void SetMemory(const BoundedSeries::Key& job, const job::Prediction& prediction);
  void SetDiagnosis(const BoundedSeries::Key& job, const job::Prediction& prediction);
  // Removes what was predicted of an iteration: a job that failed did not do it.
  void RemoveFigures(const BoundedSeries::Key& job);

  prometheus::Family<prometheus::Counter>& finished_;
  prometheus::Family<prometheus::Counter>& finished_sweeps_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& refusals_;
  prometheus::Gauge& connections_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& running_;
  prometheus::Gauge& agents_;
  prometheus::Counter& log_lines_;
  prometheus::Counter& lost_log_lines_;
  prometheus::Counter& failed_writes_;
  prometheus::Gauge& unsaved_;
  prometheus::Gauge& writable_;
  prometheus::Counter& reconciled_;
  prometheus::Counter& reconcile_errors_;
  prometheus::Counter& api_requests_;
  prometheus::Counter& wall_seconds_;
  prometheus::Counter& virtual_seconds_;
  Gauges& iteration_;
  Gauges& tokens_;
  Gauges& throughput_;
  Gauges& utilization_;
  Gauges& energy_;
  Gauges& power_;
  Gauges& memory_;
  Gauges& capacity_;
  Gauges& gpus_;
  Gauges& limits_;
  Gauges& gains_;
  Gauges& breakdown_;
  Gauges& coverage_;
  Gauges& progress_;
  Gauges& slowdown_;
  Gauges& remaining_;
  Gauges& state_;
  Gauges& sweep_points_;
  Gauges& sweep_suspended_;
  BoundedSeries jobs_{"simulation_job", kFinishedJobs};
  BoundedSeries sweeps_{"simulation_sweep", kFinishedSweeps};
};

}  // namespace eidolon::controller::metrics
