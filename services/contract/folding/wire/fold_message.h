// Folds and groups of ranks as the services tell them to each other.
#pragma once

#include <span>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "services/base/error.h"
#include "services/contract/folding/fold.h"
#include "services/contract/folding/rank_runs.h"

namespace eidolon::folding {

// Requires: is_folded.
common::v1::Folding ToProto(const Fold& fold);
// A message without ranks is a job that is not folded. Fails on what Fold::Make refuses.
base::Result<Fold> FromProto(const common::v1::Folding& folding);

using DimensionMessages = google::protobuf::RepeatedPtrField<common::v1::FoldingDimension>;
void AddDimensions(std::span<const Dimension> dimensions, DimensionMessages* out);
std::vector<Dimension> DimensionsFrom(const DimensionMessages& messages);

using RunMessages = google::protobuf::RepeatedPtrField<common::v1::RankRun>;
void AddRuns(std::span<const RankRun> runs, RunMessages* out);
std::vector<RankRun> RunsFrom(const RunMessages& messages);

}  // namespace eidolon::folding
