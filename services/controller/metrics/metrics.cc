// Names and help texts are part of the interface: dashboards and alerts refer to them. Series with
// the name of a job or sweep go through BoundedSeries, which forgets them with the object; others
// have labels with a fixed set of values (an unknown HTTP method counts as "other"). The store
// reports failed writes as a total since its start, so SetStore adds the difference: a Prometheus
// counter cannot be set.
#include "services/controller/metrics/metrics.h"

#include <re2/re2.h>

#include <utility>
#include <vector>

namespace eidolon::controller::metrics {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Registry;

Gauge& MakeGauge(Registry* registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(*registry).Add({});
}

Counter& MakeCounter(Registry* registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(*registry).Add({});
}

prometheus::Family<Gauge>& MakeGauges(Registry* registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(*registry);
}

// Returns "train.py:12" of "exit status 1: ValueError: no (train.py:12)"; empty: the message names
// no line. Nothing else of a message becomes a label: it may hold what the program's data say.
std::string LineThatFailed(const std::string& message) {
  constexpr std::size_t kLongest = 100;
  const std::string first = message.substr(0, message.find("; last lines"));
  static const re2::RE2 kPlace(R"(\(([^()\s]+:\d+)\))");
  std::string place;
  re2::RE2::PartialMatch(first, kPlace, &place);
  return place.size() <= kLongest ? place : "";
}

}  // namespace

Metrics::Metrics(Registry* registry)
    : finished_(BuildCounter()
                    .Name("eidolon_controller_finished_jobs_total")
                    .Help("Jobs that are over, by result and reason")
                    .Register(*registry)),
      finished_sweeps_(BuildCounter()
                           .Name("eidolon_controller_finished_sweeps_total")
                           .Help("Sweeps that are over, by result")
                           .Register(*registry)),
      requests_(BuildCounter()
                    .Name("eidolon_controller_http_requests_total")
                    .Help("Requests answered, by method and status")
                    .Register(*registry)),
      refusals_(BuildCounter()
                    .Name("eidolon_controller_http_refusals_total")
                    .Help("Connections and requests refused before a route saw them, by reason")
                    .Register(*registry)),
      connections_(MakeGauge(registry, "eidolon_controller_http_connections",
                             "Connections of REST that are open")),
      waiting_(MakeGauge(registry, "eidolon_controller_waiting_jobs", "Jobs in the queue")),
      running_(MakeGauge(registry, "eidolon_controller_running_jobs", "Jobs whose agents run")),
      agents_(MakeGauge(registry, "eidolon_controller_connected_agents", "Agents with a session")),
      log_lines_(MakeCounter(registry, "eidolon_controller_log_lines_total",
                             "Lines of output received from agents")),
      lost_log_lines_(MakeCounter(registry, "eidolon_controller_lost_log_lines_total",
                                  "Lines of output that could not be stored")),
      failed_writes_(MakeCounter(registry, "eidolon_controller_failed_store_writes_total",
                                 "Writes to the store that failed; each is repeated")),
      unsaved_(MakeGauge(registry, "eidolon_controller_unsaved_transitions",
                         "Starts, ends and deletions of jobs that are not stored yet")),
      writable_(MakeGauge(registry, "eidolon_controller_store_writable",
                          "1 if the store can be written, 0 if not")),
      reconciled_(MakeCounter(registry, "eidolon_controller_reconcile_total",
                              "Objects looked at on Kubernetes, without failure")),
      reconcile_errors_(MakeCounter(registry, "eidolon_controller_reconcile_errors_total",
                                    "Objects looked at on Kubernetes that failed")),
      api_requests_(MakeCounter(registry, "eidolon_controller_kubernetes_requests_total",
                                "Requests sent to the Kubernetes API server")),
      wall_seconds_(
          MakeCounter(registry, "eidolon_wall_seconds_total", "Real time spent in finished runs")),
      virtual_seconds_(MakeCounter(registry, "eidolon_virtual_seconds_total",
                                   "Simulated time of finished runs")),
      iteration_(MakeGauges(registry, "eidolon_predicted_iteration_seconds",
                            "Predicted time of an iteration: mean, p50, p90, and the band; steady: "
                            "without the extra work of some")),
      tokens_(MakeGauges(registry, "eidolon_predicted_tokens_per_second",
                         "Predicted throughput of the whole job")),
      throughput_(MakeGauges(registry, "eidolon_predicted_throughput_per_second",
                             "What the whole job does in a second, in tokens, samples or "
                             "iterations: in the steady state with its band, and in the last "
                             "measured iteration")),
      utilization_(MakeGauges(registry, "eidolon_predicted_model_flops_utilization_ratio",
                              "Predicted use of the GPUs' peak rate by the model")),
      energy_(MakeGauges(registry, "eidolon_predicted_energy_joules",
                         "What all GPUs of the job draw in an iteration, or in the program")),
      power_(MakeGauges(registry, "eidolon_predicted_gpu_power_watts",
                        "Power of one GPU: its mean, and the highest mean over some 40 ms")),
      memory_(MakeGauges(registry, "eidolon_predicted_peak_memory_bytes",
                         "Device memory at its high-water mark on the fullest rank")),
      capacity_(MakeGauges(registry, "eidolon_predicted_memory_capacity_bytes",
                           "Device memory of the GPU of the fullest rank")),
      gpus_(MakeGauges(registry, "eidolon_job_gpus",
                       "GPUs of the servers that the job occupies on the simulated cluster")),
      limits_(MakeGauges(registry, "eidolon_predicted_limit_seconds",
                         "Time of an iteration that a limit costs, by limit of the diagnosis and "
                         "what would help")),
      gains_(MakeGauges(registry, "eidolon_predicted_gain_ratio",
                        "Largest share of an iteration that a suggestion of the diagnosis could "
                        "save")),
      breakdown_(MakeGauges(registry, "eidolon_predicted_iteration_share_ratio",
                            "Shares of an iteration")),
      coverage_(MakeGauges(registry, "eidolon_prediction_coverage_ratio",
                           "Shares of GPU-busy time by source of the estimate")),
      progress_(MakeGauges(registry, "eidolon_job_progress_ratio",
                           "Iterations finished by every rank, of those that are wanted")),
      slowdown_(MakeGauges(registry, "eidolon_job_slowdown_ratio",
                           "Real time of the simulation over the simulated time")),
      remaining_(MakeGauges(registry, "eidolon_job_remaining_seconds",
                            "Estimated real time until the wanted iterations are measured; 0 when "
                            "the job is over")),
      state_(MakeGauges(registry, "eidolon_job_state",
                        "1 for the state of a job: Running, or how it ended, with the reason and "
                        "the line of the program that failed")),
      sweep_points_(MakeGauges(registry, "eidolon_sweep_points",
                               "Points of a sweep by where they stand: pending, running, complete, "
                               "or failed, which is over without a prediction")),
      sweep_suspended_(MakeGauges(registry, "eidolon_sweep_suspended",
                                  "1 when no further point of a sweep begins, as its spec says, "
                                  "else 0")) {
  writable_.Set(1);
  // A counter that begins with its first sweep would show no increase by it.
  for (const char* result : {"Complete", "Failed"}) finished_sweeps_.Add({{"result", result}});
}

void Metrics::FinishJob(const std::string& name_space, const std::string& job,
                        const std::string& result, const std::string& reason,
                        const std::string& message) {
  const BoundedSeries::Key key(name_space, job);
  finished_.Add({{"result", result}, {"reason", reason}}).Increment();
  jobs_.SetAll(key, &state_,
               {{{{"state", result}, {"reason", reason}, {"where", LineThatFailed(message)}}, 1}});
  jobs_.Set(key, &remaining_, 0);
  if (result == "Failed") RemoveFigures(key);
  jobs_.End(key);
}

void Metrics::RemoveFigures(const BoundedSeries::Key& job) {
  for (prometheus::Family<Gauge>* family : {&iteration_, &tokens_, &throughput_, &utilization_,
                                            &energy_, &power_, &limits_, &gains_, &breakdown_}) {
    jobs_.SetAll(job, family, {});
  }
}

void Metrics::SetRunning(const std::string& name_space, const std::string& job) {
  jobs_.SetAll({name_space, job}, &state_,
               {{{{"state", "Running"}, {"reason", ""}, {"where", ""}}, 1}});
}

void Metrics::CountRequest(const std::string& method, int status) {
  const bool known = method == "GET" || method == "POST" || method == "DELETE" ||
                     method == "PATCH" || method == "PUT" || method == "HEAD";
  requests_.Add({{"method", known ? method : "other"}, {"code", std::to_string(status)}})
      .Increment();
}

void Metrics::SetQueue(std::size_t waiting, std::size_t running) {
  waiting_.Set(static_cast<double>(waiting));
  running_.Set(static_cast<double>(running));
}

void Metrics::SetStore(bool writable, std::size_t unsaved, std::uint64_t failed_writes) {
  writable_.Set(writable ? 1 : 0);
  unsaved_.Set(static_cast<double>(unsaved));
  const double more = static_cast<double>(failed_writes) - failed_writes_.Value();
  if (more > 0) failed_writes_.Increment(more);
}

void Metrics::AddCost(const job::SimulationCost& cost, double virtual_seconds) {
  wall_seconds_.Increment(cost.wall_seconds);
  virtual_seconds_.Increment(virtual_seconds);
}

void Metrics::SetPrediction(const std::string& name_space, const std::string& job,
                            const job::Prediction& prediction) {
  const BoundedSeries::Key key(name_space, job);
  if (prediction.iteration_seconds) {
    jobs_.Set(key, &iteration_, prediction.iteration_seconds->mean, {{"statistic", "mean"}});
    jobs_.Set(key, &iteration_, prediction.iteration_seconds->p50, {{"statistic", "p50"}});
    jobs_.Set(key, &iteration_, prediction.iteration_seconds->p90, {{"statistic", "p90"}});
    jobs_.Set(key, &iteration_, prediction.iteration_seconds->low, {{"statistic", "low"}});
    jobs_.Set(key, &iteration_, prediction.iteration_seconds->high, {{"statistic", "high"}});
  }
  if (prediction.steady) {
    jobs_.Set(key, &iteration_, prediction.steady->seconds, {{"statistic", "steady"}});
  }
  SetThroughput(key, prediction);
  if (prediction.tokens_per_second) jobs_.Set(key, &tokens_, *prediction.tokens_per_second);
  if (prediction.model_flops_utilization) {
    jobs_.Set(key, &utilization_, *prediction.model_flops_utilization);
  }
  if (prediction.energy) {
    jobs_.Set(key, &energy_, prediction.energy->joules);
    jobs_.Set(key, &power_, prediction.energy->mean_watts, {{"statistic", "mean"}});
    jobs_.Set(key, &power_, prediction.energy->peak_watts, {{"statistic", "peak"}});
  }
  SetMemory(key, prediction);
  SetDiagnosis(key, prediction);
  if (prediction.breakdown) {
    jobs_.Set(key, &breakdown_, prediction.breakdown->compute, {{"part", "compute"}});
    jobs_.Set(key, &breakdown_, prediction.breakdown->exposed_communication,
              {{"part", "exposed_communication"}});
    jobs_.Set(key, &breakdown_, prediction.breakdown->idle, {{"part", "idle"}});
    jobs_.Set(key, &breakdown_, prediction.breakdown->host, {{"part", "host"}});
  }
  if (prediction.coverage) {
    jobs_.Set(key, &coverage_, prediction.coverage->measured, {{"source", "measured"}});
    jobs_.Set(key, &coverage_, prediction.coverage->interpolated, {{"source", "interpolated"}});
    jobs_.Set(key, &coverage_, prediction.coverage->modelled, {{"source", "modelled"}});
    jobs_.Set(key, &coverage_, prediction.coverage->assumed, {{"source", "assumed"}});
  }
}

void Metrics::SetMemory(const BoundedSeries::Key& job, const job::Prediction& prediction) {
  if (const job::RankMemory* worst = job::WorstRank(prediction)) {
    jobs_.Set(job, &memory_, static_cast<double>(worst->peak_bytes));
    if (worst->capacity_bytes > 0) {
      jobs_.Set(job, &capacity_, static_cast<double>(worst->capacity_bytes));
    }
  }
  if (prediction.target) {
    jobs_.Set(job, &gpus_, prediction.target->servers * prediction.target->cluster.gpus_per_server);
  }
}

void Metrics::SetDiagnosis(const BoundedSeries::Key& job, const job::Prediction& prediction) {
  std::vector<std::pair<prometheus::Labels, double>> limits, gains;
  for (const job::Finding& finding : prediction.diagnosis) {
    const prometheus::Labels labels = {{"limit", finding.rule}, {"suggestion", finding.suggestion}};
    limits.emplace_back(labels, finding.cost_seconds);
    if (finding.least_seconds && !finding.suggestion.empty()) {
      gains.emplace_back(labels, -finding.change);
    }
  }
  // Later iterations may have other limits.
  jobs_.SetAll(job, &limits_, limits);
  jobs_.SetAll(job, &gains_, gains);
}

void Metrics::SetThroughput(const BoundedSeries::Key& job, const job::Prediction& prediction) {
  if (!prediction.throughput) return;
  const job::Throughput& throughput = *prediction.throughput;
  std::vector<std::pair<prometheus::Labels, double>> values;
  const auto add = [&](prometheus::Labels labels, double value) {
    labels.emplace("unit", throughput.unit);
    values.emplace_back(std::move(labels), value);
  };
  add({{"statistic", "steady"}}, throughput.per_second);
  add({{"statistic", "low"}}, throughput.low);
  if (throughput.high > 0) add({{"statistic", "high"}}, throughput.high);
  const std::vector<std::uint64_t>& iterations = prediction.iteration_picoseconds;
  if (!iterations.empty() && iterations.back() > 0) {
    const double seconds = static_cast<double>(iterations.back()) * 1e-12;
    add({{"statistic", "iteration"}}, throughput.per_iteration / seconds);
  }
  // Later iterations may change the unit.
  jobs_.SetAll(job, &throughput_, values);
}

void Metrics::SetProgress(const std::string& name_space, const std::string& job,
                          const job::Progress& progress, const job::SimulationCost& cost) {
  const BoundedSeries::Key key(name_space, job);
  jobs_.Set(key, &progress_, progress.percent / 100);
  if (cost.slowdown) jobs_.Set(key, &slowdown_, *cost.slowdown);
  if (progress.remaining_seconds) jobs_.Set(key, &remaining_, *progress.remaining_seconds);
}

void Metrics::SetSweep(const std::string& name_space, const std::string& sweep,
                       const std::map<std::string, double>& points) {
  for (const auto& [phase, count] : points) {
    sweeps_.Set({name_space, sweep}, &sweep_points_, count, {{"phase", phase}});
  }
}

void Metrics::SetSweepSuspended(const std::string& name_space, const std::string& sweep,
                                bool suspended) {
  sweeps_.Set({name_space, sweep}, &sweep_suspended_, suspended ? 1 : 0);
}

void Metrics::FinishSweep(const std::string& name_space, const std::string& sweep,
                          const std::string& result) {
  finished_sweeps_.Add({{"result", result}}).Increment();
  sweeps_.End({name_space, sweep});
}

}  // namespace eidolon::controller::metrics
