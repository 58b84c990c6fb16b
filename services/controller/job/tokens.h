// How many tokens a job processes in an iteration, as its launches tell.
//
// A language model looks tokens up in a table (its embedding) and ends with a GEMM by a matrix of
// the same size, which scores every entry of the table for each token. Where as many indices are
// looked up as rows are scored, these are its tokens. Launches of several micro-batches add up,
// and so do ranks: with pipeline parallelism some look up and others score. Ranks that look up
// the same tokens (tensor parallelism) say so, and are counted once. Where one of these numbers is
// missing or contradicts another, nothing is derived: images, recommendations and classes of whole
// sentences are no tokens, and of encoders with decoders, of programs that compute everything
// twice, or of embeddings that a compiler has fused with other work nothing is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::job {

// Rows of a table that are gathered by indices.
struct Lookups {
  std::uint64_t indices = 0;
  std::uint64_t table_rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t sharers = 1;  // Ranks that look up the same indices; 0: not clear.
};

// GEMMs by one matrix of outputs x inputs: over how many rows.
struct GemmRows {
  std::uint64_t rows = 0;
  std::uint64_t outputs = 0;
  std::uint64_t inputs = 0;
};

// What a rank's launches of an iteration tell.
struct TokenWork {
  std::vector<Lookups> lookups;  // By table.
  std::vector<GemmRows> gemms;   // By matrix; only of the first measured iteration.
};

// One rank that ran.
struct RankTokens {
  double weight = 1;  // For so many ranks it stands, in a folded job.
  std::vector<const TokenWork*>
      iterations;  // The measured ones, in order, at least one; of all ranks alike.
};

// Tokens of the whole job in an iteration, a mean over the measured ones; or why they are not
// known, as the end of a sentence.
base::Result<double> DeriveTokens(const std::vector<RankTokens>& ranks);

}  // namespace eidolon::controller::job
