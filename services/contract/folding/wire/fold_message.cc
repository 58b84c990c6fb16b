#include "services/contract/folding/wire/fold_message.h"

#include <utility>

namespace eidolon::folding {

common::v1::Folding ToProto(const Fold& fold) {
  common::v1::Folding folding;
  folding.set_ranks(fold.ranks());
  AddDimensions(fold.dimensions(), folding.mutable_dimensions());
  AddRuns(RunsOf(fold.live()), folding.mutable_live());
  return folding;
}

base::Result<Fold> FromProto(const common::v1::Folding& folding) {
  if (folding.ranks() == 0) return Fold();
  FoldOptions options{.ranks = folding.ranks(),
                      .dimensions = DimensionsFrom(folding.dimensions()),
                      .live_per_class = 1};
  auto live = RanksOf(RunsFrom(folding.live()), folding.ranks());
  if (!live) return std::unexpected(live.error());
  options.live = std::move(*live);
  return Fold::Make(std::move(options));
}

void AddDimensions(std::span<const Dimension> dimensions, DimensionMessages* out) {
  for (const Dimension& dimension : dimensions) {
    common::v1::FoldingDimension& added = *out->Add();
    added.set_stride(dimension.stride);
    added.set_size(dimension.size);
  }
}

std::vector<Dimension> DimensionsFrom(const DimensionMessages& messages) {
  std::vector<Dimension> dimensions;
  for (const common::v1::FoldingDimension& message : messages) {
    dimensions.push_back({.stride = message.stride(), .size = message.size()});
  }
  return dimensions;
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
