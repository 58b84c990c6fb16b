// Derives samples and tokens from what the program gives to its model, and what its data loaders
// give to it (services/agent/session/program_inputs.h).
//
// Each rank of data parallelism has samples of its own, so that ranks add up. Where other ranks may
// work on the same samples, nothing is derived. In a pipeline, the ranks count that receive nothing
// before their first call. A loader's samples come before those of the model's inputs, since a
// model may be given several rows for each (pairs of preferences). Tokens are derived where the
// model's inputs have a row for each sample.
#pragma once

#include <vector>

#include "services/base/error.h"
#include "services/controller/job/tokens.h"

namespace eidolon::controller::job {

// Of the whole job in an iteration, means over those that count. 0: not known.
struct DerivedInputs {
  double samples = 0;
  double tokens = 0;
  bool operator==(const DerivedInputs&) const = default;
};

// Returns samples, and tokens where they are known; or why neither is, as the end of a sentence.
base::Result<DerivedInputs> DeriveInputs(const std::vector<RankTokens>& ranks);

}  // namespace eidolon::controller::job
