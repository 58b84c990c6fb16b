#include "services/folding/wire/fold_message.h"

#include <utility>

namespace eidolon::folding {

common::v1::Folding ToProto(const Fold& fold) {
  common::v1::Folding folding;
  folding.set_ranks(fold.ranks());
  for (const Dimension& dimension : fold.dimensions()) {
    common::v1::FoldingDimension& added = *folding.add_dimensions();
    added.set_stride(dimension.stride);
    added.set_size(dimension.size);
  }
  AddRuns(RunsOf(fold.live()), folding.mutable_live());
  return folding;
}

base::Result<Fold> FromProto(const common::v1::Folding& folding) {
  if (folding.ranks() == 0) return Fold();
  FoldOptions options{.ranks = folding.ranks(), .live_per_class = 1};
  for (const common::v1::FoldingDimension& dimension : folding.dimensions()) {
    options.dimensions.push_back({.stride = dimension.stride(), .size = dimension.size()});
  }
  auto live = RanksOf(RunsFrom(folding.live()), folding.ranks());
  if (!live) return std::unexpected(live.error());
  options.live = std::move(*live);
  return Fold::Make(std::move(options));
}

void AddRuns(std::span<const RankRun> runs, RunMessages* out) {
  for (const RankRun& run : runs) {
    common::v1::RankRun& added = *out->Add();
    added.set_first(run.first);
    added.set_step(run.step);
    added.set_count(run.count);
  }
}

std::vector<RankRun> RunsFrom(const RunMessages& messages) {
  std::vector<RankRun> runs;
  for (const common::v1::RankRun& message : messages) {
    runs.push_back({.first = message.first(), .step = message.step(), .count = message.count()});
  }
  return runs;
}

}  // namespace eidolon::folding
