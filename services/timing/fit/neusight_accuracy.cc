// NeuSight's FP32 kernels. GEMMs: a formula of tiles and waves with two constants, fitted on
// A100 by a seeded random descent. Everything else: the memory model as launches meet it.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "services/base/check.h"
#include "services/base/random.h"
#include "services/base/text.h"
#include "services/timing/fit/accuracy.h"
#include "services/timing/fit/errors.h"
#include "services/timing/kernel/pointwise_operations.h"
#include "services/timing/kernel/row_efficiency.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;

struct Row {
  std::string device;
  double seconds = 0;
  double b = 1;
  double m = 1;
  double n = 1;
  double k = 1;
  double width = 1;
};
using Rows = std::map<std::string, std::vector<Row>>;  // By operation.

constexpr const char* kFitDevice = "A100-PCIe-40GB";

double NumberOr(std::string_view cell, double otherwise) {
  return cell.empty() ? otherwise : model::CsvNumber(cell);
}

base::Result<Rows> Read(std::string_view csv) {
  Rows rows;
  bool header = true;
  for (const std::string_view line : base::Split(csv, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = base::Split(line, ',');
    if (std::exchange(header, false)) continue;
    if (cells.size() != 8) {
      return base::Fail(base::ErrorCode::kInvalidArgument,
                        StrCat("8 cells are expected in '", line, "'"));
    }
    rows[std::string(cells[0])].push_back({.device = std::string(cells[1]),
                                           .seconds = model::CsvNumber(cells[2]) * 1e-6,
                                           .b = NumberOr(cells[3], 1),
                                           .m = NumberOr(cells[4], 1),
                                           .n = NumberOr(cells[5], 1),
                                           .k = NumberOr(cells[6], 1),
                                           .width = NumberOr(cells[7], 1)});
  }
  return rows;
}

// Seconds fixed, share of the sustained rate, of cuBLAS' FP32 kernels. Memory moves as elsewhere:
// arithmetic bounds these GEMMs on A100, so they do not show how it behaves (a free share of the
// bandwidth fits as well at 0.33 as at 0.9).
using Constants = std::array<double, 2>;

double GemmSeconds(const Constants& c, const gpu_model::GpuModel& gpu, const Row& r) {
  const double sms = gpu.multiprocessors;
  const double rate = model::Rate(gpu, "fp32") / sms * c[1];
  double best = 0;
  for (const double tile_m : {32.0, 64.0, 128.0}) {
    for (const double tile_n : {32.0, 64.0, 128.0}) {
      if (tile_m * tile_n < 2048) continue;
      // cuBLAS 12.1 took ampere_sgemm_128x128 for every batched GEMM of the A100 rows.
      if (gpu.compute_major == 8 && r.b > 1 && tile_m * tile_n < 16384) continue;
      const double waves = std::ceil(r.b * std::ceil(r.m / tile_m) * std::ceil(r.n / tile_n) / sms);
      const double seconds = waves * 2 * tile_m * tile_n * (r.k + 32) / rate;
      if (best == 0 || seconds < best) best = seconds;
    }
  }
  const double bytes = 4 * r.b * ((r.m + r.n) * r.k + r.m * r.n);
  const double memory =
      bytes / (static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share);
  return c[0] + std::sqrt(std::sqrt(std::pow(best, 4) + std::pow(memory, 4)));
}

double Cost(const Constants& c, const gpu_model::GpuModel& gpu, const std::vector<Row>& rows) {
  double sum = 0;
  for (const Row& r : rows) {
    if (r.device == kFitDevice) sum += std::abs(std::log(GemmSeconds(c, gpu, r) / r.seconds));
  }
  return sum;
}

Constants FitGemms(const gpu_model::GpuModel& gpu, const std::vector<Row>& rows) {
  // With 300 steps the descent on batched GEMMs still depends on its seed.
  constexpr int kSteps = 3000;
  base::Random random(20261121);
  Constants best = {5e-6, 0.95};
  double best_cost = Cost(best, gpu, rows);
  for (int step = 0; step < kSteps; ++step) {
    Constants next = best;
    for (double& c : next) {
      const double unit = static_cast<double>(random.Below(1u << 20)) / (1u << 20);
      if (random.Below(2) == 0) c *= std::exp((2 * unit - 1) * (step < kSteps / 2 ? 0.4 : 0.1));
    }
    const double cost = Cost(next, gpu, rows);
    if (cost < best_cost) {
      best = next;
      best_cost = cost;
    }
  }
  return best;
}

Accuracy Gemms(const std::string& name, const std::vector<Row>& rows,
               const gpu_model::GpuModel& a100, const gpu_model::GpuModel& h100) {
  const Constants constants = FitGemms(a100, rows);
  Errors fit;
  Errors test;
  for (const Row& r : rows) {
    const bool known = r.device == kFitDevice;
    (known ? fit : test).Add(GemmSeconds(constants, known ? a100 : h100, r), r.seconds);
  }
  Accuracy row = {.what = StrCat("FP32 ", name),
                  .fitted = "A100 40 GB PCIe",
                  .tested = "H100 SXM",
                  .fit_rows = fit.size(),
                  .fit_mean = fit.Mean(),
                  .target = 0.15};
  test.Fill(row);
  return row;
}

// The bytes of the rules in kernel/rows.cc and kernel/pointwise.cc for these kernels. Operations
// decide powers only.
kernel::Demand DemandOf(const std::string& op, const Row& r) {
  kernel::Demand demand;
  const bool binary = op == "add" || op == "mul" || op == "div" || op == "pow";
  const double elements = r.b * r.width;
  demand.bytes = elements * 4 * (binary ? 3 : 2);
  demand.flops = elements * (op.starts_with("pow") ? kernel::kPowerOperations : 10);
  const double row_bytes = r.width * 4;
  if (op == "ln") demand.efficiency = kernel::LayerNormEfficiency(row_bytes);
  if (op == "softmax") {
    demand.efficiency = r.width <= 1024 ? 0.85 : kernel::SoftmaxEfficiency(row_bytes, false);
  }
  return demand;
}

Accuracy Streams(const std::string& name, const std::vector<Row>& rows,
                 const gpu_model::GpuModel& a100) {
  gpu_model::GpuModel larger = a100;
  larger.memory_bytes_per_second = 1'935'000'000'000;  // A100 80 GB PCIe, NVIDIA's datasheet.
  Errors fit;
  Errors test;
  for (const Row& r : rows) {
    const bool known = r.device == kFitDevice;
    const auto& gpu = known ? a100 : larger;
    (known ? fit : test).Add(model::DemandSeconds(gpu, DemandOf(name, r), {}), r.seconds);
  }
  Accuracy row = {.what = StrCat("FP32 ", name),
                  .fitted = "A100 40 GB PCIe",
                  .tested = test.size() > 0 ? "A100 80 GB PCIe" : "nothing else was published",
                  .fit_rows = fit.size(),
                  .fit_mean = fit.Mean(),
                  .target = 0.15};
  test.Fill(row);
  return row;
}

}  // namespace

base::Result<std::vector<Accuracy>> NeusightFamilies(const gpu_model::GpuCatalog& catalog,
                                                     std::string_view csv) {
  const auto rows = Read(csv);
  if (!rows) return std::unexpected(rows.error());
  const auto a100 = catalog.Find("A100-SXM4-40GB");
  const auto h100 = catalog.Find("H100-SXM5-80GB");
  CHECK(a100.has_value() && h100.has_value());
  std::vector<Accuracy> result;
  for (const auto& [name, list] : *rows) {
    const bool gemm = name == "linear" || name == "bmm";
    result.push_back(gemm ? Gemms(name, list, **a100, **h100) : Streams(name, list, **a100));
  }
  return result;
}

}  // namespace eidolon::timing::fit
