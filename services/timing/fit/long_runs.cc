// GEMMs that ran for seconds: what they hold of the best rate of a search, by GPU.
#include <algorithm>
#include <map>

#include "services/base/text.h"
#include "services/timing/fit/accuracy.h"
#include "services/timing/fit/errors.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/model/gemm_model.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;

// Smaller GEMMs are not bound by the tensor cores alone.
constexpr double kLarge = 6144;

struct Run {
  model::GemmModel::Shape shape;
  double flops = 0;  // Operations per second.

  bool large() const { return std::min({shape.m, shape.n, shape.k}) >= kLarge; }
};

struct Machine {
  const gpu_model::GpuModel* gpu = nullptr;
  std::vector<Run> runs;

  bool Like(const Machine& other) const {
    return (gpu->compute_major >= 10) == (other.gpu->compute_major >= 10);
  }
};

using Machines = std::map<std::string, Machine>;

base::Result<Machines> Read(const gpu_model::GpuCatalog& catalog, std::string_view csv) {
  Machines machines;
  bool header = true;
  for (const std::string_view line : base::Split(csv, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = base::Split(line, ',');
    if (std::exchange(header, false)) continue;
    if (cells.size() != 6) {
      return base::Fail(base::ErrorCode::kInvalidArgument,
                        StrCat("6 cells are expected in '", line, "'"));
    }
    const std::string name(cells[0]);
    const auto gpu = catalog.Find(name);
    if (!gpu) return base::Wrap(line, gpu.error());
    const double input = cells[1] == "fp8" ? 1 : 2;
    machines[name].gpu = *gpu;
    machines[name].runs.push_back({.shape = {.m = model::CsvNumber(cells[2]),
                                             .n = model::CsvNumber(cells[3]),
                                             .k = model::CsvNumber(cells[4]),
                                             .type = std::string(cells[1]),
                                             .input_bytes = input},
                                   .flops = model::CsvNumber(cells[5]) * 1e12});
  }
  return machines;
}

bool HasOthers(const Machines& machines, const Machine& machine) {
  return std::ranges::any_of(machines, [&](const auto& entry) {
    return &entry.second != &machine && entry.second.Like(machine);
  });
}

// Mean share of the best rate that large GEMMs hold on the machines like `machine`, without it
// where there is another.
double SteadyShare(const Machines& machines, const Machine& machine) {
  const bool others = HasOthers(machines, machine);
  double sum = 0;
  double rows = 0;
  for (const auto& [name, other] : machines) {
    if (!other.Like(machine) || (others && &other == &machine)) continue;
    for (const Run& run : other.runs) {
      if (!run.large()) continue;
      sum += run.flops / model::Rate(*other.gpu, run.shape.type);
      ++rows;
    }
  }
  return sum / rows;
}

}  // namespace

base::Result<std::vector<Accuracy>> LongRuns(const gpu_model::GpuCatalog& catalog,
                                             std::string_view csv) {
  auto machines = Read(catalog, csv);
  if (!machines) return std::unexpected(machines.error());
  std::vector<Accuracy> rows;
  for (const auto& [name, machine] : *machines) {
    const std::string type = machine.runs.front().shape.type;
    const bool others = HasOthers(*machines, machine);
    Accuracy large = {.what = StrCat("GEMM ", type, ", long runs, ", name),
                      .fitted = others ? "steady share of the other GPUs" : "its own steady share",
                      .tested = others ? "its large GEMMs" : "the same large GEMMs"};
    const double share = SteadyShare(*machines, machine);
    Errors errors;
    Errors whole;
    for (const Run& run : machine.runs) {
      const auto& s = run.shape;
      if (run.large()) errors.Add(model::Rate(*machine.gpu, s.type) * share, run.flops);
      const double burst = model::GemmModel::Get().Predict(*machine.gpu, s).seconds;
      const double seconds = model::GemmModel::SecondsWithoutPause(*machine.gpu, s, burst);
      whole.Add(seconds, 2 * s.m * s.n * s.k / run.flops);
    }
    errors.Fill(large);
    rows.push_back(large);
    Accuracy all = {
        .what = large.what, .fitted = "the model as it is", .tested = "all of its rows"};
    whole.Fill(all);
    rows.push_back(all);
  }
  return rows;
}

}  // namespace eidolon::timing::fit
