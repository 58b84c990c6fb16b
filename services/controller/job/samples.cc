#include "services/controller/job/samples.h"

#include <algorithm>
#include <array>
#include <map>
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
  std::uint64_t count = 0;
  for (const std::uint64_t times : last) count += times / passes;
  if (count > kLastLayersMax) return std::nullopt;
  return static_cast<double>(rows * passes);
}

}  // namespace

base::Result<double> DeriveSamples(const std::vector<RankTokens>& ranks, bool has_convolutions) {
  const auto unknown = [](const char* reason) { return Fail(ErrorCode::kNotFound, reason); };
  if (ranks.empty()) return unknown("no iteration was measured");
  if (!has_convolutions) return unknown("no convolution runs, as in a model of images");
  double samples = 0;
  for (const RankTokens& rank : ranks) {
    const std::optional<double> own = SamplesOf(*rank.first);
    if (!own) return unknown("no linear layer at the end has a row for each sample");
    samples += rank.weight * *own;
  }
  return samples;
}

}  // namespace eidolon::controller::job
