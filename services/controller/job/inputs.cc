#include "services/controller/job/inputs.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace eidolon::controller::job {
namespace {

using base::ErrorCode;
using base::Fail;

// Sums up the ranks of one iteration.
struct Sum {
  bool has_ranks = false;
  double samples = 0;
  double tokens = 0;
  bool samples_known = true;
  bool tokens_known = true;
};

void Add(const ProgramInputs& inputs, double weight, Sum* sum) {
  const std::uint64_t samples = inputs.batch > 0 ? inputs.batch : inputs.samples;
  const bool has_tokens = inputs.tokens > 0 && inputs.samples == samples;
  sum->has_ranks = true;
  sum->samples += weight * static_cast<double>(samples);
  sum->tokens += weight * static_cast<double>(inputs.tokens);
  sum->samples_known = sum->samples_known && samples > 0;
  sum->tokens_known = sum->tokens_known && has_tokens;
}

}  // namespace

base::Result<DerivedInputs> DeriveInputs(const std::vector<RankTokens>& ranks) {
  const auto unknown = [](const char* reason) { return Fail(ErrorCode::kNotFound, reason); };
  if (ranks.empty()) return unknown("no iteration was measured");
  const std::size_t iterations = ranks.front().iterations.size();
  DerivedInputs all;
  bool samples_known = true;
  bool tokens_known = true;
  for (std::size_t i = 0; i < iterations; ++i) {
    Sum sum;
    for (const RankTokens& rank : ranks) {
      const std::optional<ProgramInputs>& inputs = rank.iterations[i]->inputs;
      if (!inputs) return unknown("a rank calls no module of PyTorch that multiplies matrices");
      if (!inputs->is_clear) return unknown("ranks may work on the same samples");
      if (!inputs->is_later_stage) Add(*inputs, rank.weight, &sum);
    }
    if (!sum.has_ranks) return unknown("every rank receives what it gives to its model");
    samples_known = samples_known && sum.samples_known;
    tokens_known = tokens_known && sum.tokens_known;
    all.samples += sum.samples;
    all.tokens += sum.tokens;
  }
  if (!samples_known) return unknown("the inputs of the model have no dimension in common");
  const auto count = static_cast<double>(iterations);
  return DerivedInputs{.samples = all.samples / count,
                       .tokens = tokens_known ? all.tokens / count : 0};
}

}  // namespace eidolon::controller::job
