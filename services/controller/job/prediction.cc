// These names are an interface: CRDs, the API description, the page and the command line read them.
// A value that is not known is left out, so that readers can tell it from zero. A status is stored
// in etcd or SQLite at every change, so lists are cut here: what a program does must not decide how
// large it gets. Times are seconds for readers, except for iterationPicoseconds and
// shortestPicoseconds, which are exact integers.
#include "services/controller/job/prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/controller/job/cluster.h"
#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;

constexpr std::size_t kListedRanksMax = 128;
constexpr std::size_t kListedIterationsMax = 10'000;
constexpr std::size_t kListedOddMax = 100;
constexpr std::size_t kListedKernelsMax = 256;
constexpr std::size_t kListedSourcesMax = 64;
constexpr std::size_t kKernelNameMax = 256;  // Mangled ones reach thousands.

// How full the rank's device was; a refused request counts as if it had been granted.
double Fullness(const RankMemory& rank) {
  if (rank.capacity_bytes == 0) return 0;
  return static_cast<double>(rank.peak_bytes + rank.refused_bytes) /
         static_cast<double>(rank.capacity_bytes);
}

json CategoriesToJson(const RankMemory& rank) {
  return {{"allocations", rank.allocations_bytes},
          {"workspace", rank.workspace_bytes},
          {"nccl", rank.nccl_bytes},
          {"context", rank.context_bytes}};
}

std::uint64_t ProgramBytes(const RankMemory& rank) {
  return rank.allocations_bytes + rank.workspace_bytes;
}

std::uint64_t OptimizerBytes(const RankMemory& rank) {
  return rank.parameter_bytes + rank.gradient_bytes + rank.optimizer_state_bytes;
}

// Returns what is told. Gradients may come to lie where activations were: all of them together may
// be more than there is, and nothing is other then.
json AllocationsToJson(const RankMemory& rank) {
  const std::uint64_t told = OptimizerBytes(rank);
  json parts = json::object();
  if (told > 0) {
    parts = {{"parameters", rank.parameter_bytes},
             {"gradients", rank.gradient_bytes},
             {"optimizerState", rank.optimizer_state_bytes}};
  }
  if (rank.activation_bytes > 0) parts["activations"] = rank.activation_bytes;
  const std::uint64_t all = told + rank.activation_bytes;
  parts["other"] = rank.allocations_bytes - std::min(rank.allocations_bytes, all);
  return parts;
}

json MemoryToJson(const Prediction& prediction) {
  const RankMemory& worst = *WorstRank(prediction);
  json ranks = json::array();
  for (std::size_t i = 0; i < prediction.memory.size() && i < kListedRanksMax; ++i) {
    const RankMemory& rank = prediction.memory[i];
    ranks.push_back({{"rank", rank.rank},
                     {"peakBytes", ProgramBytes(rank)},
                     {"peakReservedBytes", rank.peak_bytes}});
    // By rank and device: the entries of one rank follow each other.
    const bool follows = i > 0 && prediction.memory[i - 1].rank == rank.rank;
    const bool precedes =
        i + 1 < prediction.memory.size() && prediction.memory[i + 1].rank == rank.rank;
    if (follows || precedes) ranks.back()["device"] = rank.device;
  }
  json memory = {{"peakBytes", ProgramBytes(worst)},
                 {"peakReservedBytes", worst.peak_bytes},
                 {"capacityBytes", worst.capacity_bytes},
                 {"fits", worst.refused_bytes == 0 && worst.peak_bytes <= worst.capacity_bytes},
                 {"worstRank", worst.rank},
                 {"byCategory", CategoriesToJson(worst)},
                 {"ranks", ranks}};
  if (worst.refused_bytes > 0) memory["refusedBytes"] = worst.refused_bytes;
  if (OptimizerBytes(worst) + worst.activation_bytes > 0) {
    memory["allocations"] = AllocationsToJson(worst);
  }
  return memory;
}

json CallsToJson(const std::vector<NamedAmount>& calls) {
  json list = json::array();
  for (const NamedAmount& call : calls)
    list.push_back({{"name", call.name}, {"count", call.amount}});
  return list;
}

// Absent where there are none.
void AddPlaces(const std::vector<NamedAmount>& places, const char* name, json* out) {
  for (const NamedAmount& place : places) {
    (*out)[name].push_back({{"where", place.name}, {"times", place.amount}});
  }
}

json SourcesToJson(const std::vector<UnknownReadSource>& sources) {
  json list = json::array();
  for (const UnknownReadSource& source : sources) {
    if (list.size() == kListedSourcesMax) break;
    json entry = {{"writer", Beginning(source.writer, kKernelNameMax)},
                  {"pointer", source.pointer},
                  {"given", source.given},
                  {"reads", source.reads},
                  {"bytes", source.bytes}};
    if (!source.line.empty()) entry["line"] = source.line;
    if (source.declaration > 0) entry["declaration"] = source.declaration;
    list.push_back(std::move(entry));
  }
  return list;
}

json KernelsToJson(const std::vector<NamedAmount>& kernels) {
  json list = json::array();
  for (const NamedAmount& kernel : kernels) {
    list.push_back(
        {{"name", kernel.name}, {"seconds", static_cast<double>(kernel.amount) * 1e-12}});
  }
  return list;
}

json TimesToJson(const std::vector<KernelTime>& kernels) {
  json list = json::array();
  for (const KernelTime& kernel : kernels) {
    if (list.size() == kListedKernelsMax) break;
    list.push_back({{"name", Beginning(kernel.name, kKernelNameMax)},
                    {"family", kernel.family},
                    {"source", kernel.source},
                    {"seconds", static_cast<double>(kernel.picoseconds) * 1e-12},
                    {"launches", kernel.launches},
                    {"shortestPicoseconds", kernel.shortest_picoseconds}});
    if (kernel.matrix_flops > 0) list.back()["matrixFlops"] = kernel.matrix_flops;
    if (!kernel.operator_name.empty()) list.back()["operator"] = kernel.operator_name;
  }
  return list;
}

void AddTimes(const Prediction& prediction, json* out) {
  const IterationSeconds& seconds = *prediction.iteration_seconds;
  (*out)["iterationSeconds"] = {{"mean", seconds.mean},
                                {"p50", seconds.p50},
                                {"p90", seconds.p90},
                                {"low", seconds.low},
                                {"high", seconds.high}};
  std::vector<std::uint64_t> listed = prediction.iteration_picoseconds;
  if (listed.size() > kListedIterationsMax) listed.resize(kListedIterationsMax);
  (*out)["iterationPicoseconds"] = listed;
}

json UnevennessToJson(const Prediction& prediction) {
  const Unevenness& unevenness = *prediction.unevenness;
  json odd = json::array();
  for (const OddIteration& iteration : unevenness.odd) {
    if (odd.size() == kListedOddMax) break;
    const IterationParts& more = iteration.more;
    odd.push_back({{"iteration", prediction.first_measured + iteration.position},
                   {"seconds", iteration.seconds},
                   {"more",
                    {{"compute", more.compute},
                     {"exposedCommunication", more.exposed_communication},
                     {"idle", more.idle},
                     {"host", more.host},
                     {"copiesToHost", more.copies_to_host},
                     {"copiesToDevice", more.copies_to_device}}}});
  }
  return {{"count", unevenness.odd.size()},
          {"otherIterationsSeconds", unevenness.even_mean},
          {"iterations", odd}};
}

void AddFolding(const Prediction& prediction, json* out) {
  if (const auto& folding = prediction.folding) {
    (*out)["folding"] = {{"ranks", folding->ranks},
                         {"live", folding->live},
                         {"mirrored", folding->mirrored},
                         {"classes", folding->classes},
                         {"guessedCollectives", folding->guessed_collectives}};
    AddPlaces(folding->guessed_call_sites, "guessedCallSites", &(*out)["folding"]);
    AddPlaces(folding->work_differences, "workDifferences", &(*out)["folding"]);
    if (folding->work_differences_total > 0) {
      (*out)["folding"]["workDifferencesTotal"] = folding->work_differences_total;
    }
  }
}

void AddTarget(const Prediction& prediction, json* out) {
  if (const auto& target = prediction.target) {
    (*out)["target"] = {{"servers", target->servers},
                        {"ranks", target->ranks},
                        {"gpus", target->servers * target->cluster.gpus_per_server},
                        {"cluster", ToJson(target->cluster)}};
    if (target->used_gpus) (*out)["target"]["usedGpus"] = *target->used_gpus;
  }
}

void AddSteady(const Prediction& prediction, json* out) {
  if (!prediction.steady) return;
  const SteadyIteration& steady = *prediction.steady;
  (*out)["steadyIteration"] = {{"seconds", steady.seconds},
                               {"low", steady.low},
                               {"high", steady.high},
                               {"count", steady.count},
                               {"alike", steady.alike}};
  for (const ExtraWork& extra : prediction.extra_work) {
    json& entry = (*out)["extraWork"].emplace_back();
    entry = {{"what", extra.what},
             {"times", extra.times},
             {"seconds", extra.seconds},
             {"secondsPerIteration", extra.per_iteration}};
    if (extra.every > 0) entry["every"] = extra.every;
  }
  if (!prediction.throughput) return;
  const Throughput& throughput = *prediction.throughput;
  (*out)["throughput"] = {{"unit", throughput.unit},
                          {"perSecond", throughput.per_second},
                          {"low", throughput.low},
                          {"perIteration", throughput.per_iteration}};
  if (throughput.unit != "iterations") {
    (*out)["throughput"]["source"] = throughput.is_derived ? "derived" : "declared";
  }
  if (throughput.high > 0) (*out)["throughput"]["high"] = throughput.high;
}

json DiagnosisToJson(const std::vector<Finding>& findings) {
  json list = json::array();
  for (const Finding& finding : findings) {
    json entry = {{"rule", finding.rule},
                  {"sentence", finding.sentence},
                  {"costSeconds", finding.cost_seconds}};
    if (!finding.suggestion.empty()) entry["suggestion"] = finding.suggestion;
    if (finding.least_seconds) {
      entry["leastSeconds"] = *finding.least_seconds;
      entry["change"] = finding.change;
    }
    for (const auto& [name, value] : finding.evidence) entry["evidence"][name] = value;
    list.push_back(std::move(entry));
  }
  return list;
}

// Adds what the GPUs did and drew.
void AddGpuEffort(const Prediction& prediction, json* out) {
  if (const auto& rate = prediction.matrix_rate) {
    (*out)["matrixFlops"] = {{"perGpu", rate->flops_per_gpu},
                             {"perGpuAndSecond", rate->flops_per_second}};
    if (rate->peak > 0) {
      (*out)["matrixFlops"]["peakPerSecond"] = rate->peak;
      (*out)["matrixFlops"]["utilization"] = rate->flops_per_second / rate->peak;
    }
  }
  if (const auto& energy = prediction.energy) {
    (*out)["energy"] = {{"joules", energy->joules},
                        {"meanWatts", energy->mean_watts},
                        {"peakWatts", energy->peak_watts}};
    if (energy->per_unit > 0) (*out)["energy"]["joulesPerUnit"] = energy->per_unit;
  }
}

// Where nothing was declared or derived there is a reason, and no source.
void AddTokens(const Prediction& prediction, json* out) {
  if (!prediction.tokens) return;
  const TokenCount& tokens = *prediction.tokens;
  if (tokens.per_iteration > 0) {
    (*out)["tokensSource"] = tokens.is_declared ? "declared" : "derived";
    (*out)["tokensPerIteration"] = tokens.per_iteration;
  }
  if (tokens.derived) {
    (*out)["tokensDerived"] = *tokens.derived;
  } else {
    (*out)["tokensNotDerived"] = tokens.not_derived;
  }
}

// Adds what an iteration holds of waiting for slower ranks, and of guesses.
void AddDoubts(const Prediction& prediction, json* out) {
  if (const auto& assumed = prediction.assumed_work) {
    (*out)["assumedWork"] = {{"launches", assumed->launches},
                             {"bytesMax", assumed->bytes_max},
                             {"secondsMax", assumed->seconds_max}};
  }
  if (const auto& slower = prediction.slower_ranks) {
    (*out)["slowerRanks"] = {{"seconds", slower->seconds}, {"share", slower->share}};
  }
}

}  // namespace

const RankMemory* WorstRank(const Prediction& prediction) {
  const RankMemory* worst = nullptr;
  for (const RankMemory& rank : prediction.memory) {
    if (worst == nullptr || Fullness(rank) > Fullness(*worst)) worst = &rank;
  }
  return worst;
}

json ToJson(const Prediction& prediction) {
  json out = {{"measuredIterations", prediction.measured_iterations},
              {"unsupportedCalls", CallsToJson(prediction.unsupported_calls)},
              {"unknownReads", prediction.unknown_reads}};
  if (!prediction.unknown_read_sources.empty()) {
    out["unknownReadSources"] = SourcesToJson(prediction.unknown_read_sources);
  }
  if (!prediction.unused_declarations.empty()) {
    out["unusedDeclarations"] = prediction.unused_declarations;
  }
  AddFolding(prediction, &out);
  AddTarget(prediction, &out);
  if (const auto& host = prediction.host_time) {
    out["hostTime"] = {{"model", NameOf(host->model)}, {"error", host->error}};
    if (!host->cpu.empty()) out["hostTime"]["cpu"] = host->cpu;
    if (host->cpu_is_unknown) out["hostTime"]["cpuIsUnknown"] = true;
    if (host->work_seconds > 0) out["hostTime"]["workSeconds"] = host->work_seconds;
    if (host->speed_ratio > 0) out["hostTime"]["speedRatio"] = host->speed_ratio;
  }
  if (prediction.iteration_seconds) AddTimes(prediction, &out);
  if (prediction.program) {
    out["program"] = {{"seconds", prediction.program->seconds},
                      {"low", prediction.program->low},
                      {"high", prediction.program->high},
                      {"launches", prediction.program->launches}};
  }
  AddSteady(prediction, &out);
  if (prediction.unevenness) out["unevenIterations"] = UnevennessToJson(prediction);
  AddTokens(prediction, &out);
  if (prediction.tokens_per_second) out["tokensPerSecond"] = *prediction.tokens_per_second;
  if (prediction.model_flops_utilization) {
    out["modelFlopsUtilization"] = *prediction.model_flops_utilization;
    out["modelFlopsSource"] = prediction.model_flops_declared ? "declared" : "derived";
  }
  AddGpuEffort(prediction, &out);
  if (prediction.breakdown) {
    out["breakdown"] = {{"compute", prediction.breakdown->compute},
                        {"exposedCommunication", prediction.breakdown->exposed_communication},
                        {"idle", prediction.breakdown->idle},
                        {"host", prediction.breakdown->host}};
  }
  AddDoubts(prediction, &out);
  if (prediction.coverage) {
    out["coverage"] = {{"measured", prediction.coverage->measured},
                       {"interpolated", prediction.coverage->interpolated},
                       {"modelled", prediction.coverage->modelled},
                       {"assumed", prediction.coverage->assumed}};
  }
  if (!prediction.assumed_kernels.empty()) {
    out["assumedKernels"] = KernelsToJson(prediction.assumed_kernels);
  }
  if (!prediction.kernels.empty()) {
    out["kernels"] = TimesToJson(prediction.kernels);
    out["kernelCount"] = prediction.kernels.size();
  }
  if (!prediction.memory.empty()) out["memory"] = MemoryToJson(prediction);
  if (!prediction.diagnosis.empty()) out["diagnosis"] = DiagnosisToJson(prediction.diagnosis);
  if (prediction.clamped_records > 0) out["clampedRecords"] = prediction.clamped_records;
  return out;
}

}  // namespace eidolon::controller::job
