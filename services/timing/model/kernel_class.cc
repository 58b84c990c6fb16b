// The roofs here need not be right, only shaped right: tables are kept as ratios to them, and a
// factor that is the same for all rows cancels. What they must do is grow as the kernels do (with
// experts that are active, keys within a window, tiles that are half empty), so that the ratio
// changes slowly between rows and holds somewhat beyond them. They are used for other GPUs as well,
// whose times differ by the ratio of two roofs. A change here changes every answer between rows.
#include "services/timing/model/kernel_class.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::timing::model {
namespace {

using Phase = KernelClass::Phase;

constexpr std::pair<std::string_view, Phase> kPhases[] = {{"prefill", Phase::kPrefill},
                                                          {"decode", Phase::kDecode},
                                                          {"encoder", Phase::kEncoder},
                                                          {"experts", Phase::kExperts},
                                                          {"gemm", Phase::kGemm}};

constexpr double kAttentionFloor = 5e-6;  // Seconds of the shortest published attention.
constexpr double kExpertsFloor = 15e-6;   // Router, permutation, two GEMMs and the reduction.
constexpr double kGemmFloor = 3e-6;       // Quantisation and the GEMM.
constexpr double kClassAttained = 0.85;   // Of the bandwidth.
constexpr double kRateShare = 0.7;        // Of the rate of long GEMMs that attention reaches.

double BytesOf(std::string_view type) {
  if (type == "bf16") return 2;
  if (type.starts_with("fp8") || type.starts_with("int8") || type == "sq") return 1;
  return 0.5;  // Four bits, and their scales.
}

// Returns how many operations of the type are done in the time of one in BF16. Four bits that are
// multiplied in BF16 ("w4a16_...", "int4_wo") gain nothing.
double RateGain(std::string_view type) {
  if (type.starts_with("fp8") || type == "sq") return 2;
  if (type.starts_with("nvfp4")) return 4;
  return type.starts_with("w4a8") ? 2 : 1;
}

// Both count near the corner.
double Bound(double compute, double memory) {
  const double larger = std::max(compute, memory);
  if (larger <= 0) return 0;
  const double share = std::min(compute, memory) / larger;
  return larger * std::sqrt(std::sqrt(1 + share * share * share * share));
}

// When decoding, queries that share a head of keys are multiplied together, as 16 rows at least.
double AttentionSeconds(const KernelRoof& roof, const KernelClass& kernel,
                        std::span<const double> sizes) {
  constexpr double kTile = 64;  // Half a tile on the diagonal is for nothing.
  const double heads = sizes[0];
  const double kv_heads = sizes[1];
  const double batch = sizes[2];
  const double length = sizes[3];
  const double window = kernel.window > 0 ? kernel.window : length + 1;
  double scores = 0;  // Of a head.
  double rows = 0;    // That are multiplied with each key.
  double bytes = 0;
  const double head_bytes = kernel.head_size * BytesOf(kernel.type);
  const double cache_bytes = kernel.head_size * BytesOf(kernel.cache_type);
  if (kernel.phase == Phase::kDecode) {
    const double keys = std::min(length + 1, window);
    rows = batch * kv_heads * std::max(heads / kv_heads, 16.0);
    scores = keys;
    bytes = 2 * batch * kv_heads * keys * cache_bytes + 4 * batch * heads * kernel.head_size;
  } else {
    const double within = std::min(window, length);
    rows = batch * heads;
    scores =
        kernel.phase == Phase::kEncoder ? length * length : length * within - within * within / 2;
    scores += kTile * length;
    bytes = 2 * batch * length * (heads * head_bytes + kv_heads * cache_bytes);
  }
  const double rate = roof.rate * kRateShare * RateGain(kernel.type);
  return kAttentionFloor + Bound(4 * rows * kernel.head_size * scores / rate,
                                 bytes / (roof.bandwidth * kClassAttained));
}

double ExpertsSeconds(const KernelRoof& roof, const KernelClass& kernel,
                      std::span<const double> sizes) {
  constexpr double kTileRows = 16;
  const auto [hidden, inner_all, chosen, experts_all, inner_ranks, expert_ranks, tokens] =
      std::array{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]};
  const double inner = inner_all / inner_ranks;
  const double experts = std::max(1.0, experts_all / expert_ranks);
  const double rows = tokens * chosen / expert_ranks;
  // Experts that any token chooses.
  const double active = experts * (1 - std::pow(1 - 1 / experts_all, tokens * chosen));
  const double weights = 3 * active * hidden * inner * BytesOf(kernel.type);
  const double bytes = weights + 4 * tokens * hidden + rows * (4 * hidden + 6 * inner);
  const double operations = 6 * std::max(rows, active * kTileRows) * hidden * inner;
  const double rate = roof.rate * kRateShare * RateGain(kernel.type);
  return kExpertsFloor + Bound(operations / rate, bytes / (roof.bandwidth * kClassAttained));
}

// x is read in BF16, written and read again in the narrow type.
double GemmSeconds(const KernelRoof& roof, const KernelClass& kernel,
                   std::span<const double> sizes) {
  const auto [m, n, k] = std::array{sizes[0], sizes[1], sizes[2]};
  const double narrow = BytesOf(kernel.type);
  const double bytes = m * k * (2 + 2 * narrow) + n * k * narrow + 2 * m * n;
  const double rate = roof.rate * RateGain(kernel.type);
  return kGemmFloor + Bound(2 * m * n * k / rate, bytes / (roof.bandwidth * kClassAttained));
}

}  // namespace

std::string_view KernelClass::family() const {
  if (attention()) return "attention";
  return phase == Phase::kGemm ? "gemm" : "moe";
}

std::size_t KernelClass::columns() const {
  if (attention()) return 4;
  return phase == Phase::kGemm ? 3 : 7;
}

std::string KernelClass::Name() const {
  std::string_view word;
  for (const auto& [name, one] : kPhases) {
    if (one == phase) word = name;
  }
  if (phase == Phase::kGemm) return base::StrCat(word, " ", kernel, " ", type);
  if (!attention()) return base::StrCat(word, " ", kernel, " ", type, " ", distribution);
  return base::StrCat(word, " ", kernel, " ", type, " ", cache_type, " ", std::llround(head_size),
                      " ", std::llround(window));
}

std::optional<KernelClass> ParseKernelClass(std::string_view name) {
  const std::vector<std::string_view> words = base::Split(name, ' ');
  KernelClass kernel;
  bool known = false;
  for (const auto& [word, phase] : kPhases) {
    if (words[0] != word) continue;
    kernel.phase = phase;
    known = true;
  }
  const std::size_t wanted = kernel.attention() ? 6 : (kernel.phase == Phase::kGemm ? 3 : 4);
  if (!known || words.size() != wanted) return std::nullopt;
  kernel.kernel = words[1];
  kernel.type = words[2];
  if (kernel.phase == Phase::kGemm) return kernel;
  if (!kernel.attention()) {
    kernel.distribution = words[3];
    return kernel;
  }
  kernel.cache_type = words[3];
  const auto head_size = base::ParseNumber(words[4]);
  const auto window = base::ParseNumber(words[5]);
  if (!head_size || !(*head_size > 0) || !window || !(*window >= 0)) return std::nullopt;
  kernel.head_size = *head_size;
  kernel.window = *window;
  return kernel;
}

double RoofSeconds(const KernelRoof& roof, const KernelClass& kernel,
                   std::span<const double> sizes) {
  CHECK(sizes.size() == kernel.columns());
  if (kernel.attention()) return AttentionSeconds(roof, kernel, sizes);
  return kernel.phase == Phase::kGemm ? GemmSeconds(roof, kernel, sizes)
                                      : ExpertsSeconds(roof, kernel, sizes);
}

KernelPlace PlaceOf(const KernelClass& kernel, std::span<const double> sizes) {
  CHECK(sizes.size() == kernel.columns());
  if (kernel.attention()) {
    const double length = kernel.phase == Phase::kDecode ? sizes[3] + 1 : sizes[3];
    return {{std::log2(sizes[2]), std::log2(sizes[0]), std::log2(sizes[0] / sizes[1]),
             std::log2(length)},
            4};
  }
  if (kernel.phase == Phase::kGemm) {
    return {{std::log2(sizes[0]), std::log2(sizes[1]), std::log2(sizes[2])}, 3};
  }
  constexpr double kWide = 0.7;  // Sizes of a model change the ratio less than counts do.
  return {{kWide * std::log2(sizes[0]), kWide * std::log2(sizes[1] / sizes[4]), std::log2(sizes[2]),
           std::log2(sizes[3]), std::log2(sizes[5]), std::log2(sizes[6])},
          6};
}

}  // namespace eidolon::timing::model
