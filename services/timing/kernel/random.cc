// Random numbers of PyTorch (ATen/native/cuda/DistributionTemplates.h, Dropout.cu): Philox, whose
// multiplications are most of the work, and what makes a distribution of its bits.
#include <algorithm>
#include <cmath>
#include <utility>

#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

// Instructions of a thread, counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon kernel
// explain`): once, to set its generator up, and for every call of Philox, which gives four numbers
// of 32 bits, also where fewer are wanted.
constexpr double kStartInstructions = 113;
constexpr std::pair<std::string_view, double> kCallInstructions[] = {
    {"log_normal_kernel", 259}, {"normal_kernel", 230}, {"exponential_kernel", 174},
    {"geometric_kernel", 225},  {"cauchy_kernel", 189}, {"random_from_to", 225},
};
constexpr double kPlainCallInstructions = 145;  // uniform_, bernoulli_, random_.
constexpr double kWideMultiplications = 20;     // Of these: two a round.

}  // namespace

// distribution_elementwise_grid_stride_kernel<acc, unroll, ...>(long numel, philox, ...): as many
// blocks as the GPU holds, each thread with `unroll` elements at a time.
std::optional<Demand> Distribution(const Launch& l) {
  const auto elements = l.Size(0);
  if (!elements) return std::nullopt;
  double call = kPlainCallInstructions;
  for (const auto& [word, instructions] : kCallInstructions) {
    if (!l.name.Has(word)) continue;
    call = instructions;
    break;
  }
  const double each = l.Template(1) == "2" ? 2 : 4;
  const double calls = std::ceil(*elements / std::max(1.0, l.threads() * each));
  Demand demand;
  demand.family = Family::kRandom;
  demand.evidence = Evidence::kParameters;
  demand.bytes = *elements * ElementBytes(l.Template(0)).value_or(4);
  demand.instructions =
      l.threads() *
      (kStartInstructions + calls * (call + kWideMultiplications * kSlotsOfWideMultiplication));
  demand.only_writes = true;
  return demand;
}

// fused_dropout_kernel[_vec]<T, acc, index, dims, vec, mask>(in, out, mask, numel, p, philox)
std::optional<Demand> Dropout(const Launch& l) {
  const auto elements = l.Size(3);
  if (!elements) return std::nullopt;
  Demand demand;
  demand.family = Family::kRandom;
  demand.evidence = Evidence::kParameters;
  demand.bytes = *elements * (2 * ElementBytes(l.Template(0)).value_or(4) + 1);
  // An H200 takes 1.65 ps an element of 16 bits; 2.75 of 32 bits, 3.3 TB/s (e2e/measured).
  constexpr double kOperations = 84;
  demand.flops = *elements * kOperations;
  demand.efficiency = 0.77;
  return demand;
}

}  // namespace eidolon::timing::kernel
