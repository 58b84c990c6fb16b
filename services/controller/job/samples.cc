// A wrong number is worse than none, so each rule wants several signs that agree. Layers are known
// by pairs of GEMMs, one forward and one back; a first layer, whose input needs no gradient, has no
// pair. Where linear layers are all that runs, rows have no other witness than that every operation
// is counted: what the GEMMs multiply is compared with the matrix operations of all launches.
#include "services/controller/job/samples.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

namespace eidolon::controller::job {
namespace {

using base::ErrorCode;
using base::Fail;

constexpr std::size_t kLastLayersMax = 3;

// Linear layers of one size.
struct Layers {
  std::uint64_t rows = 0;
  std::uint64_t count = 0;
};

// Those that run forward and back.
std::vector<Layers> TrainedLayers(const TokenWork& work) {
  std::map<std::array<std::uint64_t, 3>, std::uint64_t> launches;
  for (const GemmRows& gemm : work.gemms) {
    launches[{gemm.rows, gemm.outputs, gemm.inputs}] += gemm.launches;
  }
  std::vector<Layers> layers;
  for (const auto& [sizes, count] : launches) {
    const auto& [rows, outputs, inputs] = sizes;
    if (outputs > inputs) continue;  // Seen from the other side.
    const auto back = launches.find({rows, inputs, outputs});
    if (back == launches.end()) continue;
    const std::uint64_t passes = outputs == inputs ? count / 2 : std::min(count, back->second);
    if (passes > 0 && rows > 0) layers.push_back({rows, passes});
  }
  return layers;
}

// Of one rank; micro-batches add up.
std::optional<double> SamplesOf(const TokenWork& work) {
  const std::vector<Layers> layers = TrainedLayers(work);
  if (layers.empty()) return std::nullopt;
  const std::uint64_t rows = std::ranges::min_element(layers, {}, &Layers::rows)->rows;
  std::vector<std::uint64_t> last;  // How often those with the fewest rows run.
  for (const Layers& layer : layers) {
    if (layer.rows % rows != 0) return std::nullopt;
    if (layer.rows == rows) last.push_back(layer.count);
  }
  const std::uint64_t passes = *std::ranges::min_element(last);
  // Another layer runs less often: these run in each step of a sequence.
  if (std::ranges::any_of(layers, [&](const Layers& one) { return one.count % passes != 0; })) {
    return std::nullopt;
  }
  std::uint64_t count = 0;
  for (const std::uint64_t times : last) count += times / passes;
  if (count > kLastLayersMax) return std::nullopt;
  return static_cast<double>(rows * passes);
}

// Whether nothing runs beside GEMMs that might mix rows with one another, as far as is known. Each
// sample may be fetched by its index or sorted by it.
bool KeepRowsApart(const RunKernels& kernels) {
  static const std::set<std::string> kApart = {
      "cast",          "copy",      "elementwise", "embedding",   "fill",    "foreach",
      "gemm",          "index",     "loss",        "memory_copy", "memset",  "misc",
      "normalization", "optimizer", "random",      "reduction",   "softmax", "sort"};
  return !kernels.has_batched_gemms && std::ranges::includes(kApart, kernels.families);
}

// Of a model that has nothing but linear layers; see the header.
std::optional<double> RowsOfLayers(const TokenWork& work) {
  const std::vector<Layers> layers = TrainedLayers(work);
  if (layers.empty()) return std::nullopt;
  const std::uint64_t rows = layers.front().rows;
  std::uint64_t times = 0;
  for (const Layers& layer : layers) times = std::gcd(times, layer.count);
  if (times != 1) return std::nullopt;
  std::uint64_t flops = 0;
  for (const GemmRows& gemm : work.gemms) {
    if (gemm.rows != rows && gemm.inputs != rows) return std::nullopt;
    flops += 2 * gemm.rows * gemm.outputs * gemm.inputs * gemm.launches;
  }
  if (flops != work.matrix_flops) return std::nullopt;
  // Each sample may be fetched from where all are kept, but not neighbours in a graph.
  for (const Lookups& lookups : work.lookups) {
    if (lookups.indices != rows) return std::nullopt;
  }
  return static_cast<double>(rows);
}

}  // namespace

base::Result<double> DeriveSamples(const std::vector<RankTokens>& ranks,
                                   const RunKernels& kernels) {
  const auto unknown = [](const char* reason) { return Fail(ErrorCode::kNotFound, reason); };
  if (ranks.empty()) return unknown("no iteration was measured");
  if (!kernels.families.contains("convolution")) {
    const bool is_alone = ranks.size() == 1 && ranks.front().weight == 1;
    if (!is_alone || !KeepRowsApart(kernels)) {
      return unknown("no convolution runs, as in a model of images");
    }
    const std::optional<double> rows = RowsOfLayers(*ranks.front().first);
    if (!rows) return unknown("linear layers do not all have a row for each sample");
    return *rows;
  }
  double samples = 0;
  for (const RankTokens& rank : ranks) {
    const std::optional<double> own = SamplesOf(*rank.first);
    if (!own) return unknown("no linear layer at the end has a row for each sample");
    samples += rank.weight * *own;
  }
  return samples;
}

}  // namespace eidolon::controller::job
