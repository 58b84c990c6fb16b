#include "services/timing/model/attention_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "services/base/check.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::model {
namespace {

constexpr double kReferenceRate = 794.5e12;  // sustained bf16 of H100-SXM5-80GB.

// Curves of (log2 length, log2 operations per second), by implementation, head size, causal.
using Curve = std::vector<std::pair<double, double>>;
using Curves = std::map<std::tuple<std::string, int, bool>, Curve>;

const Curves& Published() {
  static const Curves curves = [] {
    Curves result;
    for (const CsvRow& row : CsvRows(AttentionTableCsv(), 6)) {
      const auto key =
          std::make_tuple(std::string(row[0]), static_cast<int>(CsvNumber(row[1])), row[2] == "1");
      result[key].emplace_back(std::log2(CsvNumber(row[3])), std::log2(CsvNumber(row[4]) * 1e12));
    }
    return result;
  }();
  return curves;
}

// The measured curve nearest in head size; of the other mask when this one was not measured.
const Curve& Nearest(const std::string& implementation, double head_size, bool causal) {
  const Curve* best = nullptr;
  double best_distance = 0;
  for (const auto& [key, curve] : Published()) {
    if (std::get<0>(key) != implementation) continue;
    double distance = std::abs(std::log2(head_size / std::get<1>(key)));
    if (std::get<2>(key) != causal) distance += 0.5;
    if (best == nullptr || distance < best_distance) {
      best = &curve;
      best_distance = distance;
    }
  }
  CHECK(best != nullptr);
  return *best;
}

// Operations per second at this length. Below the shortest measured length the rate falls with the
// square root, so that time still grows with length.
double PublishedRate(const Curve& curve, double length) {
  const double x = std::log2(std::max(length, 1.0));
  if (x <= curve.front().first)
    return std::exp2(curve.front().second + (x - curve.front().first) / 2);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (x > curve[i].first) continue;
    const double share = (x - curve[i - 1].first) / (curve[i].first - curve[i - 1].first);
    return std::exp2(curve[i - 1].second + share * (curve[i].second - curve[i - 1].second));
  }
  return std::exp2(curve.back().second);
}

// Backward over forward rate: FlashAttention-3 paper, figures of the backward pass on H100.
double BackwardShare(AttentionLibrary library) {
  return library == AttentionLibrary::kCudnn ? 0.83 : 0.85;
}

// FlashAttention-2 was made for Ampere, where it reaches 225 of 312 TFLOP/s (FlashAttention-2
// paper), 0.83 of the sustained product rate; on Hopper 370 of 794.
double ArchitectureGain(const gpu_model::GpuModel& gpu, AttentionLibrary library) {
  if (gpu.compute_major >= 9) return 1;
  return library == AttentionLibrary::kCudnn ? 1.1 : 1.75;
}

}  // namespace

Prediction PredictAttention(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                            AttentionLibrary library) {
  CHECK(demand.query_length > 0 && demand.key_length > 0 && demand.head_size > 0 &&
        demand.batch_heads > 0);
  const bool backward = demand.family == kernel::Family::kAttentionBackward;
  const std::string table = library == AttentionLibrary::kCudnn ? "cuDNN" : "FA2";
  const Curve& curve = Nearest(table, demand.head_size, demand.causal);
  double rate = PublishedRate(curve, demand.key_length) * Rate(gpu, "bf16") / kReferenceRate *
                ArchitectureGain(gpu, library);
  if (backward) rate *= BackwardShare(library);
  if (library == AttentionLibrary::kMemoryEfficient) rate *= 0.6;  // CUTLASS kernels of Ampere.
  double flops = demand.flops;
  if (demand.causal)
    flops *= demand.key_length >= demand.query_length
                 ? 1 - 0.5 * demand.query_length / demand.key_length
                 : 0.5;
  // Blocks of 128 queries; a block that is not full takes as long.
  const double rows = std::ceil(demand.query_length / 128);
  flops *= rows * 128 / demand.query_length;
  const double blocks = demand.batch_heads * rows;
  const double sms = gpu.multiprocessors;
  const double waves = std::ceil(blocks / sms) * sms / blocks;
  const double compute = flops / rate * waves;
  const double memory = MemorySeconds(gpu, demand.bytes, 0.8);
  Prediction prediction;
  // Fill and drain of the software pipeline.
  prediction.seconds = gpu.kernel_floor.Seconds() + 2e-6 + std::max(compute, memory);
  prediction.relative_error = backward ? 0.15 : 0.08;
  if (gpu.compute_major != 9) prediction.relative_error += 0.1;
  if (library == AttentionLibrary::kMemoryEfficient) prediction.relative_error += 0.2;
  return prediction;
}

}  // namespace eidolon::timing::model
