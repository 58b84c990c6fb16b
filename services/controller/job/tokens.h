// Derives from its launches how many tokens a job processes in an iteration.
//
// A language model looks tokens up in a table (its embedding) and ends with a GEMM by a matrix of
// the same size, which scores every entry of the table for each token. Where as many indices are
// looked up as rows are scored, these are its tokens. Launches of several micro-batches add up,
// and so do ranks: with pipeline parallelism some look up and others score. Ranks that look up
// the same tokens (tensor parallelism) say so, and are counted once. Scores may be computed again
// for the backward pass: then the rows that go back count. Where one of these numbers is missing or
// contradicts another, none are derived. Images, recommendations and classes of whole sentences
// have no tokens of this kind; those of encoders with decoders and of programs that compute
// everything twice are not found. Where a compiler has fused the lookup with other work,
// its kernel tells the elements of all rows together: tokens are then the rows of the one matrix
// that is applied to each of them once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::job {

// Rows of a table that are gathered by indices. Where a compiler has fused the lookup, row_bytes
// and table_rows are 0, and `indices` counts the elements of all rows together.
struct Lookups {
  std::uint64_t indices = 0;
  std::uint64_t table_rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint32_t sharers = 1;        // Ranks that look up the same indices; 0: not clear.
  std::uint64_t forward_flops = 0;  // Of matrix operations until the table's entries are scored.
};

// GEMMs by matrices of outputs x inputs: over how many rows each.
struct GemmRows {
  std::uint64_t rows = 0;
  std::uint64_t outputs = 0;
  std::uint64_t inputs = 0;
  std::uint64_t launches = 1;
};

// An iteration has these inputs: of the model, and of the batches that a data loader gave.
struct ProgramInputs {
  std::uint64_t samples = 0;  // Of all calls of the model; 0: not known, like what follows.
  std::uint64_t tokens = 0;
  std::uint64_t batch = 0;      // Samples that the one loader was asked for.
  bool is_later_stage = false;  // The model's inputs are another rank's outputs.
  bool is_clear = true;         // No other rank may work on the same samples.
};

// Facts about tokens in a rank's launches of an iteration.
struct TokenWork {
  std::vector<Lookups> lookups;  // By table.
  std::vector<GemmRows> gemms;   // By their sizes; only of the first measured iteration.
  std::uint64_t matrix_flops = 0;
  std::optional<ProgramInputs> inputs;  // Nothing: the program called no module that multiplies.
};

// One rank that ran.
struct RankTokens {
  double weight = 1;  // For so many ranks it stands, in a folded job.
  // The first measured one, whose GEMMs are known.
  const TokenWork* first = nullptr;
  // Those that count, in order, at least one; of all ranks alike.
  std::vector<const TokenWork*> iterations;
};

// Of the whole job in an iteration, means over those that count.
struct DerivedTokens {
  double count = 0;
  // Matrix operations that the model takes, whatever is computed again: three times those of the
  // forward pass, with which a backward pass for all weights and rows takes twice as many. 0: not
  // known. Known only where each rank has the whole forward pass, and the table and nearly
  // everything else is trained.
  double model_flops = 0;
  bool operator==(const DerivedTokens&) const = default;
};

// Returns the tokens, or why they are not known, as the end of a sentence.
base::Result<DerivedTokens> DeriveTokens(const std::vector<RankTokens>& ranks);

}  // namespace eidolon::controller::job
