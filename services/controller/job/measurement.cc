// Reports are summed per iteration as integers, so their order has no influence on the result;
// floating point begins in Predict. Lengths and errors of an iteration are maxima over its ranks,
// shares and energy are sums. Errors are added and not averaged in quadrature, because the estimate
// of a kernel is wrong by the same amount each time.
#include "services/controller/job/measurement.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "services/contract/operator_name/operator_name.h"
#include "services/controller/job/band.h"
#include "services/controller/job/inputs.h"

namespace eidolon::controller::job {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;
// Forward and backward pass of a dense model: 6 operations per parameter and token (Kaplan et al.
// 2020).
constexpr double kFlopsPerParameterAndToken = 6.0;
constexpr std::size_t kListedMax = 20;

template <typename Sums>
Sums Sum(Sums a, const Sums& b);

template <>
Breakdown Sum(Breakdown a, const Breakdown& b) {
  a.compute += b.compute;
  a.exposed_communication += b.exposed_communication;
  a.idle += b.idle;
  a.host += b.host;
  return a;
}

template <>
Coverage Sum(Coverage a, const Coverage& b) {
  a.measured += b.measured;
  a.interpolated += b.interpolated;
  a.modelled += b.modelled;
  a.assumed += b.assumed;
  return a;
}

double Share(std::uint64_t part, std::uint64_t total) {
  return static_cast<double>(part) / static_cast<double>(total);
}

// The q-quantile by linear interpolation. Requires: sorted, not empty.
double Quantile(const std::vector<std::uint64_t>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return static_cast<double>(sorted[below]) * (1 - fraction) +
         static_cast<double>(sorted[above]) * fraction;
}

std::vector<NamedAmount> LargestFirst(const std::map<std::string, std::uint64_t>& amounts) {
  std::vector<NamedAmount> list;
  for (const auto& [name, amount] : amounts) list.push_back({name, amount});
  std::sort(list.begin(), list.end(), [](const NamedAmount& a, const NamedAmount& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.name < b.name;
  });
  if (list.size() > kListedMax) list.resize(kListedMax);
  return list;
}

template <typename Kernels>
std::vector<KernelTime> LongestFirst(const Kernels& kernels) {
  std::vector<KernelTime> list;
  for (const auto& [key, kernel] : kernels) list.push_back(kernel);
  std::stable_sort(list.begin(), list.end(), [](const KernelTime& a, const KernelTime& b) {
    return a.picoseconds > b.picoseconds;
  });
  return list;
}

void AddTo(const RankEnergy& one, RankEnergy* sum) {
  sum->microjoules += one.microjoules;
  sum->peak_milliwatts = std::max(sum->peak_milliwatts, one.peak_milliwatts);
}

void FillShares(const Breakdown& time, const Coverage& busy, Prediction* prediction) {
  const std::uint64_t total = time.compute + time.exposed_communication + time.idle + time.host;
  if (total > 0) {
    prediction->breakdown = {Share(time.compute, total), Share(time.exposed_communication, total),
                             Share(time.idle, total), Share(time.host, total)};
  }
  const std::uint64_t busy_total = busy.measured + busy.interpolated + busy.modelled + busy.assumed;
  if (busy_total > 0) {
    prediction->coverage = {Share(busy.measured, busy_total), Share(busy.interpolated, busy_total),
                            Share(busy.modelled, busy_total), Share(busy.assumed, busy_total)};
  }
}

}  // namespace

void Measurement::Add(const RankIteration& iteration) {
  ranks_seen_.insert(iteration.rank);
  if (iteration.index >= wanted()) return;
  Iteration& kept = iterations_[iteration.index];
  if (!kept.ranks.insert(iteration.rank).second) return;
  kept.start_ps = std::max(kept.start_ps, iteration.start_ps);
  kept.end_ps = std::max(kept.end_ps, iteration.end_ps);
  kept.error_ps = std::max(kept.error_ps, iteration.error_ps);
  kept.host_work_ps = std::max(kept.host_work_ps, iteration.host_work_ps);
  AddTo(iteration.energy, &kept.energy);
  kept.slowness_ps = std::max(kept.slowness_ps, iteration.slowness_ps);
  kept.assumed_launches = std::max(kept.assumed_launches, iteration.assumed_launches);
  kept.assumed_ps = std::max(kept.assumed_ps, iteration.coverage.assumed);
  kept.breakdown = Sum(kept.breakdown, iteration.breakdown);
  const Breakdown& parts = iteration.breakdown;
  kept.own_ps.emplace(iteration.rank, parts.compute + parts.idle + parts.host);
  kept.copies_to_host_ps += iteration.copies_to_host_ps;
  kept.copies_to_device_ps += iteration.copies_to_device_ps;
  kept.coverage = Sum(kept.coverage, iteration.coverage);
  kept.counts.emplace(iteration.rank, iteration.counts);
  TokenWork& tokens = kept.tokens.emplace(iteration.rank, iteration.tokens).first->second;
  tokens.matrix_flops = iteration.counts.matrix_flops;
  for (const NamedAmount& kernel : iteration.assumed_kernels) {
    kept.assumed_kernels[kernel.name] += kernel.amount;
  }
  AddKernels(iteration.kernels, &kept.kernels);
  CountFinished();
}

void Measurement::AddKernels(const std::vector<KernelTime>& kernels, Kernels* kept) {
  for (const KernelTime& kernel : kernels) {
    const auto [found, is_new] =
        kept->emplace(std::array{kernel.name, kernel.family, kernel.source}, kernel);
    if (is_new) found->second.operator_name = operator_name::OperatorOf(kernel.name);
    if (is_new) continue;
    KernelTime& sum = found->second;
    sum.picoseconds += kernel.picoseconds;
    sum.launches += kernel.launches;
    sum.matrix_flops += kernel.matrix_flops;
    sum.shortest_picoseconds = std::min(sum.shortest_picoseconds, kernel.shortest_picoseconds);
  }
}

void Measurement::SetUsage(std::uint32_t server, ServerUsage usage) {
  usage_[server] = std::move(usage);
}

void Measurement::CountFinished() {
  for (auto next = iterations_.find(finished_);
       next != iterations_.end() && next->first == finished_ &&
       next->second.ranks.size() >= options_.ranks;
       ++next) {
    ++finished_;
  }
}

void Measurement::Close() {
  if (ranks_seen_.empty()) return;
  options_.ranks = std::min(options_.ranks, static_cast<std::uint32_t>(ranks_seen_.size()));
  CountFinished();
}

std::vector<const Measurement::Iteration*> Measurement::Measured() const {
  std::vector<const Iteration*> measured;
  const std::uint32_t end = std::min(finished(), wanted());
  for (std::uint32_t index = options_.warmup; index < end; ++index) {
    measured.push_back(&iterations_.at(index));
  }
  return measured;
}

Prediction Measurement::Predict() const {
  Prediction prediction;
  prediction.target = options_.target;
  prediction.host_time = options_.host_time;
  prediction.folding = options_.folding;
  const std::vector<const Iteration*> measured = Measured();
  prediction.measured_iterations = static_cast<std::uint32_t>(measured.size());
  if (!measured.empty()) {
    AddTimes(measured, &prediction);
    const std::vector<const Iteration*> repeating = AddSteady(measured, &prediction);
    const std::vector<RankTokens> ranks = TokensOf(*measured.front(), repeating);
    AddTokens(ranks, &prediction);
    AddThroughput(*measured.front(), ranks, &prediction);
    AddBalance(repeating, &prediction);
    AddUnevenness(measured, &prediction);
    AddShares(*measured.front(), repeating, &prediction);
  } else {
    AddProgram(&prediction);
  }
  AddUsage(&prediction);
  return prediction;
}

std::uint64_t Measurement::LengthOf(const Iteration& iteration) {
  return iteration.end_ps > iteration.start_ps ? iteration.end_ps - iteration.start_ps : 0;
}

AssumedWork Measurement::AssumedOf(const std::vector<const Iteration*>& iterations) const {
  double launches = 0;
  double ps = 0;
  for (const Iteration* iteration : iterations) {
    launches += static_cast<double>(iteration->assumed_launches);
    if (iteration->assumed_launches > 0) ps += static_cast<double>(iteration->assumed_ps);
  }
  const auto count = static_cast<double>(iterations.size());
  std::vector<AllocatedMemory> memory;
  for (const auto& [server, usage] : usage_) {
    for (const RankMemory& rank : usage.memory) {
      memory.push_back(
          {.bytes = rank.allocations_bytes, .bytes_per_second = rank.bytes_per_second});
    }
  }
  return BoundAssumed(launches / count, ps * kSecondsPerPicosecond / count, memory);
}

// Seconds of one iteration, in which the job's ranks were as long in each state as these on
// average.
Measurement::MeanIteration Measurement::MeanOf(
    const std::vector<const Iteration*>& iterations) const {
  // Errors of estimates repeat in every iteration: they do not average out.
  double error = 0;
  HostPart host;
  for (const Iteration* iteration : iterations) {
    host.length += static_cast<double>(LengthOf(*iteration));
    error += static_cast<double>(iteration->error_ps);
    const auto ranks = static_cast<double>(iteration->ranks.size());
    host.gaps += static_cast<double>(iteration->breakdown.host) / ranks;
    host.idle += static_cast<double>(iteration->breakdown.idle) / ranks;
    host.work += static_cast<double>(iteration->host_work_ps);
  }
  const double unit = kSecondsPerPicosecond / static_cast<double>(iterations.size());
  const Band band = BandOf(error, options_.host_time.error, host);
  const AssumedWork assumed = AssumedOf(iterations);
  return {.seconds = host.length * unit,
          .low = std::max(0.0, band.low * unit),
          .high = band.high * unit + (assumed.seconds_max - assumed.seconds),
          .host_work = host.work * unit};
}

void Measurement::AddTimes(const std::vector<const Iteration*>& measured,
                           Prediction* prediction) const {
  for (const Iteration* iteration : measured) {
    prediction->iteration_picoseconds.push_back(LengthOf(*iteration));
  }
  std::vector<std::uint64_t> sorted = prediction->iteration_picoseconds;
  std::sort(sorted.begin(), sorted.end());
  const MeanIteration mean = MeanOf(measured);
  prediction->host_time->work_seconds = mean.host_work;
  prediction->iteration_seconds = {.mean = mean.seconds,
                                   .p50 = Quantile(sorted, 0.5) * kSecondsPerPicosecond,
                                   .p90 = Quantile(sorted, 0.9) * kSecondsPerPicosecond,
                                   .low = mean.low,
                                   .high = mean.high};
}

std::vector<RankTokens> Measurement::TokensOf(
    const Iteration& first, const std::vector<const Iteration*>& repeating) const {
  std::vector<RankTokens> ranks;
  for (const std::int32_t rank : first.ranks) {
    const auto weight = options_.weights.find(rank);
    const auto known = first.tokens.find(rank);
    RankTokens& told = ranks.emplace_back();
    if (weight != options_.weights.end()) told.weight = weight->second;
    if (known != first.tokens.end()) told.first = &known->second;
    for (const Iteration* iteration : repeating) {
      const auto found = iteration->tokens.find(rank);
      if (found != iteration->tokens.end()) told.iterations.push_back(&found->second);
    }
    if (told.iterations.size() < repeating.size() || told.first == nullptr) ranks.pop_back();
  }
  return ranks;
}

// A declared number counts; what the launches tell stands beside it.
void Measurement::AddTokens(const std::vector<RankTokens>& ranks, Prediction* prediction) const {
  base::Result<DerivedTokens> derived = DeriveTokens(ranks);
  const base::Result<DerivedInputs> inputs = DeriveInputs(ranks);
  if (!derived && inputs && inputs->tokens > 0) derived = DerivedTokens{.count = inputs->tokens};
  TokenCount tokens{.is_declared = options_.tokens > 0};
  if (derived) {
    tokens.derived = derived->count;
  } else {
    tokens.not_derived = derived.error().message;
  }
  tokens.per_iteration =
      tokens.is_declared ? static_cast<double>(options_.tokens) : tokens.derived.value_or(0);
  prediction->tokens = tokens;
  const double seconds = prediction->steady->seconds;
  if (tokens.per_iteration <= 0 || seconds <= 0) return;
  prediction->tokens_per_second = tokens.per_iteration / seconds;
  if (options_.peak_flops_per_gpu <= 0) return;
  double flops = derived ? derived->model_flops : 0;
  if (options_.parameters > 0) {
    flops = kFlopsPerParameterAndToken * static_cast<double>(options_.parameters) *
            tokens.per_iteration;
  }
  if (flops == 0) return;
  prediction->model_flops_declared = options_.parameters > 0;
  prediction->model_flops_utilization =
      flops / (seconds * options_.peak_flops_per_gpu * std::max(options_.gpus, options_.ranks));
}

IterationParts Measurement::PartsOf(const Iteration& iteration) {
  const auto seconds = [&](std::uint64_t ps) {
    return static_cast<double>(ps) / static_cast<double>(iteration.ranks.size()) *
           kSecondsPerPicosecond;
  };
  return {.length = static_cast<double>(LengthOf(iteration)) * kSecondsPerPicosecond,
          .compute = seconds(iteration.breakdown.compute),
          .exposed_communication = seconds(iteration.breakdown.exposed_communication),
          .idle = seconds(iteration.breakdown.idle),
          .host = seconds(iteration.breakdown.host),
          .copies_to_host = seconds(iteration.copies_to_host_ps),
          .copies_to_device = seconds(iteration.copies_to_device_ps)};
}

void Measurement::AddUnevenness(const std::vector<const Iteration*>& measured,
                                Prediction* prediction) const {
  std::vector<IterationParts> parts;
  for (const Iteration* iteration : measured) parts.push_back(PartsOf(*iteration));
  prediction->unevenness = FindUnevenness(parts);
  prediction->first_measured = options_.warmup + 1;
}

void Measurement::AddShares(const Iteration& first, const std::vector<const Iteration*>& repeating,
                            Prediction* prediction) const {
  Breakdown time;
  Coverage busy;
  RankEnergy energy;
  double slowness = 0;
  std::map<std::string, std::uint64_t> assumed;
  for (const Iteration* iteration : repeating) {
    AddTo(iteration->energy, &energy);
    slowness += static_cast<double>(iteration->slowness_ps) * kSecondsPerPicosecond;
    time = Sum(time, iteration->breakdown);
    busy = Sum(busy, iteration->coverage);
    for (const auto& [name, amount] : iteration->assumed_kernels) assumed[name] += amount;
  }
  FillShares(time, busy, prediction);
  prediction->slower_ranks =
      SlowerRanksOf(slowness / static_cast<double>(repeating.size()), prediction->steady->seconds);
  if (const AssumedWork work = AssumedOf(repeating); work.launches > 0) {
    prediction->assumed_work = work;
  }
  prediction->assumed_kernels = LargestFirst(assumed);
  prediction->kernels = LongestFirst(first.kernels);
  std::uint64_t flops = 0;
  for (const Iteration* iteration : repeating) {
    for (const auto& [rank, counts] : iteration->counts) flops += counts.matrix_flops;
  }
  const auto ranks = static_cast<double>(first.ranks.size());
  AddEffort({.matrix_flops = flops,
             .energy = energy,
             .runs = static_cast<double>(repeating.size()) * ranks,
             .seconds = prediction->steady->seconds},
            prediction);
}

void Measurement::AddEffort(const GpuEffort& effort, Prediction* prediction) const {
  const double units = prediction->throughput ? prediction->throughput->per_iteration : 0;
  prediction->matrix_rate = MatrixRateOf(effort, options_.peak_flops_per_gpu);
  prediction->energy = EnergyOf(effort, std::max(options_.gpus, options_.ranks), units);
}

void Measurement::AddProgram(Prediction* prediction) const {
  ProgramSeconds program;
  std::uint64_t length_ps = 0;
  std::uint64_t error_ps = 0;
  Breakdown time;
  Coverage busy;
  std::map<std::string, std::uint64_t> assumed;
  Kernels kernels;
  double program_ranks = 0;
  std::uint64_t work_ps = 0;
  std::uint64_t flops = 0;
  RankEnergy energy;
  for (const auto& [server, usage] : usage_) {
    for (const RankProgram& rank : usage.programs) {
      ++program_ranks;
      length_ps = std::max(length_ps, rank.length_ps);
      error_ps = std::max(error_ps, rank.error_ps);
      work_ps = std::max(work_ps, rank.host_work_ps);
      program.launches += rank.launches;
      flops += rank.counts.matrix_flops;
      AddTo(rank.energy, &energy);
      time = Sum(time, rank.breakdown);
      busy = Sum(busy, rank.coverage);
      for (const NamedAmount& kernel : rank.assumed_kernels) assumed[kernel.name] += kernel.amount;
      AddKernels(rank.kernels, &kernels);
    }
  }
  if (program.launches == 0) return;
  const double ranks = std::max(1.0, program_ranks);
  const Band band = BandOf(static_cast<double>(error_ps), options_.host_time.error,
                           {.length = static_cast<double>(length_ps),
                            .gaps = static_cast<double>(time.host) / ranks,
                            .idle = static_cast<double>(time.idle) / ranks,
                            .work = static_cast<double>(work_ps)});
  program.seconds = static_cast<double>(length_ps) * kSecondsPerPicosecond;
  program.low = std::max(0.0, band.low * kSecondsPerPicosecond);
  program.high = band.high * kSecondsPerPicosecond;
  prediction->program = program;
  AddEffort(
      {.matrix_flops = flops, .energy = energy, .runs = program_ranks, .seconds = program.seconds},
      prediction);
  FillShares(time, busy, prediction);
  prediction->assumed_kernels = LargestFirst(assumed);
  prediction->kernels = LongestFirst(kernels);
}

void Measurement::AddUnknownReads(Prediction* prediction) const {
  using Key = std::tuple<std::string, std::uint32_t, std::string, std::string, std::uint32_t>;
  std::map<Key, UnknownReadSource> sources;
  for (const auto& [server, usage] : usage_) {
    prediction->unknown_reads += usage.unknown_reads;
    for (const UnknownReadSource& source : usage.unknown_read_sources) {
      const Key key{source.writer, source.pointer, source.line, source.given, source.declaration};
      const auto [kept, added] = sources.emplace(key, source);
      if (added) continue;
      kept->second.reads += source.reads;
      kept->second.bytes += source.bytes;
    }
  }
  for (auto& [key, source] : sources) {
    prediction->unknown_read_sources.push_back(std::move(source));
  }
  std::set<std::uint32_t> used;
  for (const auto& [server, usage] : usage_) {
    used.insert(usage.used_declarations.begin(), usage.used_declarations.end());
  }
  for (std::uint32_t i = 0; i < options_.declarations.size() && !usage_.empty(); ++i) {
    if (!used.contains(i + 1)) prediction->unused_declarations.push_back(options_.declarations[i]);
  }
  std::ranges::stable_sort(prediction->unknown_read_sources, std::greater(),
                           &UnknownReadSource::reads);
}

void Measurement::AddUsage(Prediction* prediction) const {
  AddUnknownReads(prediction);
  std::map<std::string, std::uint64_t> refused;
  std::map<std::string, std::uint64_t> guessed;
  std::map<std::string, std::uint64_t> differences;
  for (const auto& [server, usage] : usage_) {
    prediction->memory.insert(prediction->memory.end(), usage.memory.begin(), usage.memory.end());
    for (const NamedAmount& call : usage.refused_calls) refused[call.name] += call.amount;
    prediction->clamped_records += usage.clamped_records;
    if (prediction->folding) {
      prediction->folding->guessed_collectives += usage.guessed_collectives;
      prediction->folding->work_differences_total += usage.work_differences_total;
    }
    for (const NamedAmount& site : usage.guessed_call_sites) guessed[site.name] += site.amount;
    for (const NamedAmount& one : usage.work_differences) differences[one.name] += one.amount;
  }
  if (prediction->folding) {
    prediction->folding->guessed_call_sites = LargestFirst(guessed);
    prediction->folding->work_differences = LargestFirst(differences);
  }
  std::sort(prediction->memory.begin(), prediction->memory.end(),
            [](const RankMemory& a, const RankMemory& b) {
              return std::pair(a.rank, a.device) < std::pair(b.rank, b.device);
            });
  for (const auto& [name, amount] : refused)
    prediction->unsupported_calls.push_back({name, amount});
  SplitAllocations(prediction);
  CountGpus(prediction);
}

// Splits by what the optimizer touched in the first measured iteration. Where that does not fit
// together, kernels were taken for an optimizer's that are none, and nothing is told: parameters
// have gradients of their number, and all of them lie in the rank's allocations.
void Measurement::SplitAllocations(Prediction* prediction) const {
  const std::vector<const Iteration*> measured = Measured();
  if (measured.empty()) return;
  std::map<std::int32_t, int> devices;
  for (const RankMemory& memory : prediction->memory) ++devices[memory.rank];
  for (RankMemory& memory : prediction->memory) {
    const auto found = measured.front()->counts.find(memory.rank);
    if (found == measured.front()->counts.end() || devices[memory.rank] > 1) continue;
    const WorkCounts& counts = found->second;
    const std::uint64_t all =
        counts.parameter_bytes + counts.gradient_bytes + counts.optimizer_state_bytes;
    if (counts.parameter_bytes != counts.gradient_bytes || all > memory.allocations_bytes) continue;
    memory.parameter_bytes = counts.parameter_bytes;
    memory.gradient_bytes = counts.gradient_bytes;
    memory.optimizer_state_bytes = counts.optimizer_state_bytes;
  }
}

void Measurement::CountGpus(Prediction* prediction) const {
  if (!prediction->target || usage_.empty()) return;
  const bool is_folded = prediction->folding && prediction->folding->mirrored > 0;
  const auto used = std::ranges::count_if(prediction->memory, [](const RankMemory& memory) {
    return memory.allocations_bytes > 0 || memory.refused_bytes > 0;
  });
  prediction->target->used_gpus =
      is_folded ? prediction->target->ranks : static_cast<std::uint32_t>(used);
}

}  // namespace eidolon::controller::job
